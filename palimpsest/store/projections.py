"""Making projections anew from the beliefs that they show: after a load, or when one is in doubt."""

from __future__ import annotations

from collections.abc import Callable

import sqlalchemy as sa

from palimpsest.core.ids import EntityId, Ids
from palimpsest.core.jsontext import loads
from palimpsest.core.lineage import LINEAGE_ASPECTS, upstreams_named
from palimpsest.store.bulk import Row, execute_many
from palimpsest.store.engine import Store
from palimpsest.store.schema import cell, edge, episode, version

_BELIEFS_AT_ONCE = 2_000
_EDGE = ("upstream_id", "column", "belief_id", "downstream_column")


def rebuild_edges(store: Store, advance: Callable[[int], None] = lambda count: None) -> int:
    """Make every edge anew from the current versions that state lineage, in transactions of bounded size.

    Returns how many there are. Nothing else may consolidate meanwhile.
    """
    ids = store.ids
    store.write(lambda connection: connection.execute(sa.delete(edge)))
    made, after = 0, bytes(16)
    while True:
        count, last = store.write(lambda connection, after=after: _rebuild_some(connection, ids, after))  # type: ignore[misc]
        if last is None:
            return made
        made, after = made + count, last
        advance(count)


def _rebuild_some(connection: sa.Connection, ids: Ids, after: bytes) -> tuple[int, bytes | None]:
    """The edges of the next beliefs by cell: how many, and the last cell; None when there is none left."""
    rows = connection.execute(
        sa.select(cell.c.id, cell.c.aspect, cell.c.key, version.c.belief_id, episode.c.value)
        .join(version, version.c.cell_id == cell.c.id)
        .join(episode, sa.and_(episode.c.cell_id == version.c.cell_id, episode.c.number == version.c.episode))
        .where(cell.c.aspect.in_(sorted(LINEAGE_ASPECTS)), version.c.state == "current", cell.c.id > EntityId(after))
        .order_by(cell.c.id)
        .limit(_BELIEFS_AT_ONCE)
    ).all()
    edges: list[Row] = []
    for row in rows:
        if row.value is not None:
            named = upstreams_named(row.aspect, loads(row.value))
            edges += [(ids.entity(urn), column, row.belief_id, row.key) for urn, column in named]
    execute_many(connection, sa.insert(edge), _EDGE, edges)
    return len(edges), bytes(rows[-1].id) if rows else None
