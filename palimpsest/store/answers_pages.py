"""What pages about the whole store are made from: counts, changes by reading, platforms. Statements only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import sqlalchemy as sa

from palimpsest.core.ids import BeliefId, EntityId, RunId
from palimpsest.store.answers import SAID, is_counted
from palimpsest.store.schema import cell, entity, episode, run, version

_AT_ONCE = 2_000


class Totals(NamedTuple):
    """How much is held.

    beliefs    current versions         beside     contested and proposed ones
    versions   of any state             episodes   of any kind
    changes    revisions: consolidated episodes that are neither baseline nor quiet nor an entity's appearance
    """

    entities: int
    beliefs: int
    beside: int
    versions: int
    episodes: int
    changes: int


def totals(connection: sa.Connection) -> Totals:
    """How much is held, from what the runs and the index pass counted (R1, R13); while some entity waits to be indexed
    from the rows themselves, which takes a walk through the current versions.
    """
    entities, fresh, beliefs, revisions = connection.execute(
        sa.select(
            sa.func.count(), sa.func.count(entity.c.indexed_at), sa.func.sum(entity.c.beliefs),
            sa.func.sum(entity.c.revisions),
        )
    ).one()  # fmt: skip
    if fresh < entities:
        beliefs = connection.scalar(_CURRENT)
        revisions = connection.scalar(_REVISIONS)
    written, founded = connection.execute(sa.select(sa.func.sum(run.c.written), sa.func.sum(run.c.founded))).one()
    beside = connection.scalar(_BESIDE)
    return Totals._make(int(one or 0) for one in (entities, beliefs, beside, founded, written, revisions))


_CURRENT = sa.select(sa.func.count()).select_from(version).where(version.c.state == "current")
_REVISIONS = (
    sa.select(sa.func.count()).select_from(episode).join(cell, cell.c.id == episode.c.cell_id).where(is_counted())
)
_BESIDE = (  # what people and agents said alone is ever beside
    sa.select(sa.func.count())
    .select_from(version)
    .where(version.c.cell_id.in_(SAID), version.c.state.in_(["contested", "proposed"]))
)


def impacts_of(connection: sa.Connection, runs: Sequence[RunId]) -> dict[RunId, dict[int, int]]:
    """Run → impact → how many of its episodes were judged and are changes of that weight."""
    found: dict[RunId, dict[int, int]] = {}
    for start in range(0, len(runs), _AT_ONCE):
        rows = connection.execute(
            sa.select(episode.c.run_id, episode.c.impact, sa.func.count())
            .where(
                episode.c.run_id.in_(runs[start : start + _AT_ONCE]),
                sa.not_(episode.c.baseline),
                episode.c.impact > 0,
                episode.c.verdict.is_not(None),
            )
            .group_by(episode.c.run_id, episode.c.impact)
        )
        for run_id, impact, count in rows:
            found.setdefault(RunId(run_id), {})[int(impact)] = int(count)
    return found


def platforms(connection: sa.Connection) -> list[str]:
    """The platforms that entities have."""
    named = sa.select(entity.c.platform).where(entity.c.platform != "").distinct().order_by(entity.c.platform)
    return [row[0] for row in connection.execute(named)]


def entities_after(connection: sa.Connection, after: EntityId | None, most: int) -> list[EntityId]:
    """At most so many entities, by id."""
    statement = sa.select(entity.c.id).order_by(entity.c.id).limit(most)
    if after is not None:
        statement = statement.where(entity.c.id > after)
    return [EntityId(row[0]) for row in connection.execute(statement)]


def changed_beliefs(connection: sa.Connection, first: EntityId, last: EntityId) -> list[BeliefId]:
    """The beliefs about entities between two, both included, that have a second version or an episode of a change."""
    highest = last[:8] + b"\xff" * 8
    several = sa.select(version.c.belief_id).where(version.c.belief_id.between(first, highest), version.c.number > 1)
    changed = (
        sa.select(cell.c.belief_id)
        .join(episode, episode.c.cell_id == cell.c.id)
        .where(episode.c.cell_id.between(first, highest), sa.not_(episode.c.baseline))
    )
    held = sa.select(version.c.belief_id).where(version.c.belief_id.in_(changed))
    return [BeliefId(row[0]) for row in connection.execute(sa.union(several, held))]
