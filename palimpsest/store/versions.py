"""Writing versions of beliefs. Only the consolidator may import this module (R10, held by an import contract)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import sqlalchemy as sa

from palimpsest.core.errors import LeaseHeldError
from palimpsest.core.ids import EntityId
from palimpsest.core.moment import Moment
from palimpsest.store.bulk import Row, execute_many
from palimpsest.store.schema import edge, entity, episode, evidence, version

OPENED = (
    "belief_id",
    "number",
    "state",
    "cell_id",
    "episode",
    "valid_from",
    "valid_after",
    "valid_to",
    "recorded_at",
    "closed_at",
    "run_id",
    "judge",
    "reason",
    "reverts_to",
    "successor",
    "ended_reason",
)
CLOSED = ("new_state", "new_valid_to", "new_closed_at", "new_successor", "new_reason", "of_belief", "of_number")
EVIDENCE = ("belief_id", "number", "cell_id", "episode", "role", "judge", "recorded_at")
DECIDED = ("new_verdict", "of_cell", "of_number")
EDGE = ("upstream_id", "column", "belief_id", "downstream_column")


@dataclass(slots=True)
class Verdicts:
    """The rows of one transaction of the consolidator, each a tuple of what the names above say."""

    opened: list[Row] = field(default_factory=list)
    closed: list[Row] = field(default_factory=list)
    evidence: list[Row] = field(default_factory=list)
    decided: list[Row] = field(default_factory=list)
    edges_of: list[bytes] = field(default_factory=list)
    edges: list[Row] = field(default_factory=list)


_CLOSE = (
    sa.update(version)
    .where(version.c.belief_id == sa.bindparam("of_belief"), version.c.number == sa.bindparam("of_number"))
    .values(
        state=sa.bindparam("new_state"),
        valid_to=sa.bindparam("new_valid_to"),
        closed_at=sa.bindparam("new_closed_at"),
        successor=sa.bindparam("new_successor"),
        ended_reason=sa.bindparam("new_reason"),
    )
)
_DECIDE = (
    sa.update(episode)
    .where(
        episode.c.cell_id == sa.bindparam("of_cell"),
        episode.c.number == sa.bindparam("of_number"),
        episode.c.verdict.is_(None),
    )
    .values(verdict=sa.bindparam("new_verdict"))
)


def commit(
    connection: sa.Connection, verdicts: Verdicts, *, entities: Sequence[EntityId], holder: str, now: Moment
) -> None:
    """Write the verdicts on all pending episodes of leased entities, and give the leases back; what is searched of
    the entities is stale from then on.

    Raises LeaseHeldError when a lease was lost meanwhile: nothing of the transaction may stay.
    """
    released = connection.execute(
        sa.update(entity)
        .where(entity.c.id.in_(entities), entity.c.holder == holder, entity.c.held_until >= now)
        .values(holder=None, held_until=None, indexed_at=None)
    )
    if released.rowcount != len(entities):
        raise LeaseHeldError("an entity's lease ran out while it was consolidated", "run again")
    execute_many(connection, _CLOSE, CLOSED, verdicts.closed)
    execute_many(connection, sa.insert(version), OPENED, verdicts.opened)
    execute_many(connection, sa.insert(evidence), EVIDENCE, verdicts.evidence)
    execute_many(connection, _DECIDE, DECIDED, verdicts.decided)
    for start in range(0, len(verdicts.edges_of), 1_000):
        connection.execute(sa.delete(edge).where(edge.c.belief_id.in_(verdicts.edges_of[start : start + 1_000])))
    execute_many(connection, sa.insert(edge), EDGE, verdicts.edges)
