"""What a backfill asks of the store: what is held of entities, and when each cell was first read. Statements only."""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa

from palimpsest.core.backfill import FirstHeld
from palimpsest.core.baseline import Held
from palimpsest.core.episode import credible
from palimpsest.core.ids import CellId, Digest, EntityId
from palimpsest.core.moment import Moment
from palimpsest.store.readings import ranges
from palimpsest.store.schema import cell, episode, part

Place = tuple[EntityId, str]


def ordinals(connection: sa.Connection, source_name: str, entities: Sequence[EntityId]) -> dict[Place, int]:
    """(entity, raw aspect) → ordinal of everything that a source holds of entities."""
    rows = connection.execute(
        sa.select(part.c.entity_id, part.c.part, part.c.ordinal).where(
            part.c.source == source_name, part.c.entity_id.in_(entities)
        )
    )
    return {(EntityId(row[0]), row[1]): row[2] for row in rows}


def first_held(
    connection: sa.Connection, source_name: str, entities: Sequence[EntityId]
) -> dict[Place, list[FirstHeld]]:
    """(entity, raw aspect) → the cells that it feeds, each with its first episode."""
    given = ranges(entities)
    lowest = (
        sa.select(episode.c.cell_id, sa.func.min(episode.c.number).label("number"))
        .select_from(given)
        .join(episode, episode.c.cell_id.between(given.c.first, given.c.last))
        .group_by(episode.c.cell_id)
        .subquery("lowest")
    )
    first, last = episode.alias("first_episode"), episode.alias("last_episode")
    rows = connection.execute(
        sa.select(
            cell.c.entity_id, cell.c.part, cell.c.id, cell.c.aspect, cell.c.key, cell.c.digest, cell.c.last,
            last.c.value, first.c.number, first.c.observed_at, first.c.after_at, first.c.stamped_at,
        )
        .select_from(lowest)
        .join(cell, cell.c.id == lowest.c.cell_id)
        .join(first, sa.and_(first.c.cell_id == cell.c.id, first.c.number == lowest.c.number))
        .join(last, sa.and_(last.c.cell_id == cell.c.id, last.c.number == cell.c.last))
        .where(cell.c.source == source_name)
    )  # fmt: skip
    found: dict[Place, list[FirstHeld]] = {}
    for row in rows:
        owner, name, cell_id, aspect, key, digest, number, value, lowest_number, observed, after, stamped = row
        held = Held(CellId(cell_id), aspect, key, Digest(bytes(digest)), number, value)
        since = Moment(credible(stamped, after, observed) or observed)
        found.setdefault((EntityId(owner), name), []).append(FirstHeld(held, lowest_number, Moment(observed), since))
    return found
