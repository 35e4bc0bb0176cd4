"""Lineage as it was held at a time, read off the versions that stated it: the table of edges knows only now.

Statements only; reading the past walks every belief about lineage once.
"""

from __future__ import annotations

from collections.abc import Iterator

import sqlalchemy as sa

from palimpsest.core.ids import EntityId
from palimpsest.core.lineage import LINEAGE_ASPECTS
from palimpsest.core.moment import Moment
from palimpsest.store.answers import Listing, Remembered, list_versions
from palimpsest.store.schema import cell, edge

_PAGE = 5_000


def lineage_until(connection: sa.Connection, as_of: Moment | None, known_at: Moment | None) -> Iterator[Remembered]:
    """Every version about lineage that may have held at a time; the caller decides what did."""
    for aspect in sorted(LINEAGE_ASPECTS):
        for page in list_versions(connection, Listing(aspect=aspect, as_of=as_of, known_at=known_at), _PAGE):
            yield from page


def pairs(connection: sa.Connection) -> set[tuple[EntityId, EntityId]]:
    """(upstream, downstream) of all lineage that is current, columns apart."""
    rows = connection.execute(sa.select(edge.c.upstream_id, edge.c.belief_id))
    return {(EntityId(row[0]), EntityId(row[1][:8] + bytes(8))) for row in rows}


def columns_of(connection: sa.Connection, entity_id: EntityId) -> list[str]:
    """The keys of all columns that were ever held of an entity."""
    last = entity_id[:8] + b"\xff" * 8
    return list(
        connection.scalars(
            sa.select(cell.c.key)
            .where(cell.c.id.between(entity_id, last), cell.c.aspect == "column")
            .distinct()
            .order_by(cell.c.key)
        )
    )
