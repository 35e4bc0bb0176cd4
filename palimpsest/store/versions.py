"""Writing versions of beliefs. Only the consolidator may import this module (R10, held by an import contract)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import sqlalchemy as sa

from palimpsest.core.errors import LeaseHeldError
from palimpsest.core.ids import EntityId
from palimpsest.core.moment import Moment
from palimpsest.store.schema import edge, entity, episode, evidence, version


@dataclass(slots=True)
class Verdicts:
    """The rows of one transaction of the consolidator."""

    opened: list[dict[str, object]] = field(default_factory=list)
    closed: list[dict[str, object]] = field(default_factory=list)
    evidence: list[dict[str, object]] = field(default_factory=list)
    decided: list[dict[str, object]] = field(default_factory=list)
    edges_of: list[bytes] = field(default_factory=list)
    edges: list[dict[str, object]] = field(default_factory=list)


def commit(
    connection: sa.Connection, verdicts: Verdicts, *, entities: Sequence[EntityId], holder: str, now: Moment
) -> None:
    """Write the verdicts on all pending episodes of leased entities, and give the leases back.

    Raises LeaseHeldError when a lease was lost meanwhile: nothing of the transaction may stay.
    """
    released = connection.execute(
        sa.update(entity)
        .where(entity.c.id.in_(entities), entity.c.holder == holder, entity.c.held_until >= now)
        .values(holder=None, held_until=None)
    )
    if released.rowcount != len(entities):
        raise LeaseHeldError("an entity's lease ran out while it was consolidated", "run again")
    if verdicts.closed:
        connection.execute(
            sa.update(version)
            .where(version.c.belief_id == sa.bindparam("of_belief"), version.c.number == sa.bindparam("of_number"))
            .values(
                state=sa.bindparam("new_state"),
                valid_to=sa.bindparam("new_valid_to"),
                closed_at=sa.bindparam("new_closed_at"),
                successor=sa.bindparam("new_successor"),
                ended_reason=sa.bindparam("new_reason"),
            ),
            verdicts.closed,
        )
    if verdicts.opened:
        connection.execute(sa.insert(version), verdicts.opened)
    if verdicts.evidence:
        connection.execute(sa.insert(evidence), verdicts.evidence)
    if verdicts.decided:
        connection.execute(
            sa.update(episode)
            .where(
                episode.c.cell_id == sa.bindparam("of_cell"),
                episode.c.number == sa.bindparam("of_number"),
                episode.c.verdict.is_(None),
            )
            .values(verdict=sa.bindparam("new_verdict")),
            verdicts.decided,
        )
    for start in range(0, len(verdicts.edges_of), 1_000):
        connection.execute(sa.delete(edge).where(edge.c.belief_id.in_(verdicts.edges_of[start : start + 1_000])))
    if verdicts.edges:
        connection.execute(sa.insert(edge), verdicts.edges)
