"""What stale knowledge is found in: every entity, and the runs whose changes count. Statements only."""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa

from palimpsest.core.ids import EntityId, RunId
from palimpsest.store.answers import Named
from palimpsest.store.schema import cell, entity, episode, run

_AT_ONCE = 2_000


def every_entity(connection: sa.Connection) -> list[Named]:
    """All entities, by URN."""
    rows = connection.execute(
        sa.select(entity.c.id, entity.c.urn, entity.c.kind, entity.c.platform, entity.c.name).order_by(entity.c.urn)
    )
    return [Named(*row) for row in rows]


def writing_runs(connection: sa.Connection) -> list[RunId]:
    """The runs that read or filled in a catalog and wrote something, the oldest first."""
    rows = connection.execute(
        sa.select(run.c.id)
        .where(run.c.job.in_(("scan", "backfill")), run.c.written > 0)
        .order_by(run.c.started_at, run.c.id)
    )
    return [RunId(row[0]) for row in rows]


def changed_entities(connection: sa.Connection, runs: Sequence[RunId]) -> list[EntityId]:
    """The entities of which runs wrote something that is no baseline."""
    found: set[EntityId] = set()
    for start in range(0, len(runs), _AT_ONCE):
        rows = connection.scalars(
            sa.select(cell.c.entity_id)
            .join(episode, episode.c.cell_id == cell.c.id)
            .where(episode.c.run_id.in_(runs[start : start + _AT_ONCE]), sa.not_(episode.c.baseline))
            .distinct()
        )
        found.update(EntityId(row) for row in rows)
    return sorted(found)
