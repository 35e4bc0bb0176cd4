"""What stale knowledge is found in: every entity, and the runs whose changes count. Statements only."""

from __future__ import annotations

import sqlalchemy as sa

from palimpsest.core.ids import RunId
from palimpsest.store.answers import Named
from palimpsest.store.schema import entity, run


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
