"""What a scan asks of the store and writes to it: raw aspects, cells, episodes. No belief is touched."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import sqlalchemy as sa

from palimpsest.core.baseline import Held
from palimpsest.core.entity import kind_of, name_of, platform_of
from palimpsest.core.errors import StoreError
from palimpsest.core.ids import CellId, Digest, EntityId, RunId
from palimpsest.core.moment import Moment
from palimpsest.store.bulk import Row, execute_many
from palimpsest.store.engine import Store
from palimpsest.store.runs import Lease, Origin, beat
from palimpsest.store.schema import cell, entity, episode, part, source

LAST_REST = b"\xff" * 8
_AT_ONCE = 2_000


def ranges(entities: Sequence[EntityId]) -> sa.CTE:
    """The id ranges (first, last) of entities, to be joined with `table.id BETWEEN first AND last`.

    An entity's rows share the first half of its id, so that each range is one short walk in the primary key.
    """
    rows = [(bytes(one), bytes(one[:8] + LAST_REST)) for one in entities]
    id_type = cell.c.id.type
    return sa.values(sa.column("first", id_type), sa.column("last", id_type), name="given").data(rows).cte("ranges")


_PARTS = (
    sa.select(part.c.entity_id, part.c.part, part.c.digest, part.c.ordinal, part.c.cells)
    .where(part.c.source == sa.bindparam("of_source"), part.c.ordinal > sa.bindparam("after"))
    .order_by(part.c.ordinal)
    .limit(_AT_ONCE)
)


def held_parts(store: Store, source_name: str) -> Iterator[tuple[bytes, str, bytes, int, int]]:
    """(entity, raw aspect, digest, ordinal, live cells) of everything that a source holds, by ordinal.

    Each page is a transaction of its own, which can be run again; who holds the source's lease sees one state.
    """
    after = -1
    while True:
        given = {"of_source": source_name, "after": after}
        rows = store.read(lambda connection, given=given: connection.execute(_PARTS, given).all())  # type: ignore[misc]
        for row in rows:
            yield row[0], row[1], row[2], row[3], row[4]
        if len(rows) < _AT_ONCE:
            return
        after = rows[-1][3]


def held_cells(
    connection: sa.Connection, source_name: str, entities: Sequence[EntityId], parts: Sequence[str]
) -> dict[tuple[EntityId, str], list[Held]]:
    """The cells that the given raw aspects feed of entities, by (entity, raw aspect), each with the value last seen."""
    wanted = ranges(entities)
    statement = (
        sa.select(
            cell.c.entity_id,
            cell.c.part,
            cell.c.id,
            cell.c.aspect,
            cell.c.key,
            cell.c.digest,
            cell.c.last,
            episode.c.value,
        )
        .select_from(wanted)
        .join(cell, cell.c.id.between(wanted.c.first, wanted.c.last))
        .join(episode, sa.and_(episode.c.cell_id == cell.c.id, episode.c.number == cell.c.last))
        .where(cell.c.source == source_name, cell.c.part.in_(parts))
    )
    found: dict[tuple[EntityId, str], list[Held]] = {}
    for row in connection.execute(statement):
        held = Held(CellId(row.id), row.aspect, row.key, Digest(bytes(row.digest)), row.last, row.value)
        found.setdefault((EntityId(row.entity_id), row.part), []).append(held)
    return found


def urns_of(connection: sa.Connection, entities: Sequence[EntityId]) -> dict[EntityId, str]:
    """The URNs of entities that exist in the store."""
    rows = connection.execute(sa.select(entity.c.id, entity.c.urn).where(entity.c.id.in_(entities)))
    return {EntityId(row.id): row.urn for row in rows}


def known_platforms(
    connection: sa.Connection, source_name: str, unfinished: Sequence[RunId] = ()
) -> frozenset[tuple[str, str]]:
    """(kind, platform) of what a source holds: the part of its scope that its data tells.

    What only `unfinished` runs wrote makes no platform known: they are about to be repeated.
    """
    statement = (
        sa.select(entity.c.kind, entity.c.platform)
        .join(part, part.c.entity_id == entity.c.id)
        .where(part.c.source == source_name, part.c.part == "status")
        .distinct()
    )
    if unfinished:
        statement = (
            statement.join(cell, cell.c.entity_id == entity.c.id)
            .join(episode, sa.and_(episode.c.cell_id == cell.c.id, episode.c.number == 1))
            .where(cell.c.source == source_name, cell.c.aspect == "existence", episode.c.run_id.not_in(unfinished))
        )
    return frozenset((row[0], row[1]) for row in connection.execute(statement))


def next_ordinal(connection: sa.Connection, source_name: str) -> int:
    """The first free ordinal of a source's raw aspects."""
    newest = connection.scalar(sa.select(sa.func.max(part.c.ordinal)).where(part.c.source == source_name))
    return 0 if newest is None else int(newest) + 1


def cells_by_platform(connection: sa.Connection, source_name: str) -> dict[str, int]:
    """How many cells a source holds on each platform; those that have ended left out."""
    rows = connection.execute(
        sa.select(entity.c.platform, sa.func.count())
        .join(entity, entity.c.id == cell.c.entity_id)
        .where(cell.c.source == source_name, sa.func.length(cell.c.digest) > 0)
        .group_by(entity.c.platform)
    )
    return {row[0]: row[1] for row in rows}


def held_domains(connection: sa.Connection, source_name: str, entities: Sequence[EntityId]) -> dict[EntityId, str]:
    """The JSON text of the domains that a source holds for entities."""
    wanted = ranges(entities)
    rows = connection.execute(
        sa.select(cell.c.entity_id, episode.c.value)
        .select_from(wanted)
        .join(cell, cell.c.id.between(wanted.c.first, wanted.c.last))
        .join(episode, sa.and_(episode.c.cell_id == cell.c.id, episode.c.number == cell.c.last))
        .where(cell.c.source == source_name, cell.c.aspect == "domain")
    )
    return {EntityId(row.entity_id): row.value or "[]" for row in rows}


NEW_PART = ("entity_id", "source", "part", "digest", "ordinal", "cells")
CHANGED_PART = ("new_digest", "more_cells", "of_entity", "of_source", "of_part")
NEW_CELL = ("id", "entity_id", "source", "observer", "aspect", "key", "part", "belief_id", "digest", "last")
CHANGED_CELL = ("new_digest", "new_last", "of_cell")
NEW_EPISODE = (
    "cell_id",
    "number",
    "run_id",
    "observed_at",
    "after_at",
    "kind",
    "impact",
    "baseline",
    "value",
    "ground",
    "stamped_at",
    "actor",
    "catalog_run",
)


@dataclass(slots=True)
class Batch:
    """The rows of one transaction of a scan, each a tuple of what the names above say."""

    entities: dict[EntityId, str] = field(default_factory=dict)
    new_parts: list[Row] = field(default_factory=list)
    changed_parts: list[Row] = field(default_factory=list)
    new_cells: list[Row] = field(default_factory=list)
    changed_cells: list[Row] = field(default_factory=list)
    episodes: list[Row] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.episodes) + len(self.new_parts) + len(self.changed_parts) + len(self.changed_cells)


_CHANGE_PART = (
    sa.update(part)
    .where(
        part.c.entity_id == sa.bindparam("of_entity"),
        part.c.source == sa.bindparam("of_source"),
        part.c.part == sa.bindparam("of_part"),
    )
    .values(digest=sa.bindparam("new_digest"), cells=part.c.cells + sa.bindparam("more_cells"))
)
_CHANGE_CELL = (
    sa.update(cell)
    .where(cell.c.id == sa.bindparam("of_cell"))
    .values(digest=sa.bindparam("new_digest"), last=sa.bindparam("new_last"))
)


def write_batch(connection: sa.Connection, batch: Batch) -> None:
    """Write the rows of a batch. Raises StoreError when two URNs would share one id."""
    if batch.entities:
        _write_entities(connection, batch.entities)
    execute_many(connection, sa.insert(part), NEW_PART, batch.new_parts)
    execute_many(connection, _CHANGE_PART, CHANGED_PART, batch.changed_parts)
    execute_many(connection, sa.insert(cell), NEW_CELL, batch.new_cells)
    execute_many(connection, _CHANGE_CELL, CHANGED_CELL, batch.changed_cells)
    execute_many(connection, sa.insert(episode), NEW_EPISODE, batch.episodes)


def _write_entities(connection: sa.Connection, entities: dict[EntityId, str]) -> None:
    known = urns_of(connection, list(entities))
    rows = []
    for entity_id, urn in entities.items():
        held = known.get(entity_id)
        if held is None:
            kind = kind_of(urn) or ""
            rows.append({"id": entity_id, "urn": urn, "kind": kind, "platform": platform_of(urn), "name": name_of(urn)})
        elif held != urn:
            raise StoreError(f"two URNs share one id: {held} and {urn}", "report it: this store needs another secret")
    if rows:
        connection.execute(sa.insert(entity), rows)


def commit_batch(
    connection: sa.Connection, lease: Lease, now: Moment, values: dict[str, object], origin: Origin, batch: Batch
) -> None:
    """One transaction of a scan: the lease renewed, the run's counters exact, the rows written."""
    beat(connection, lease, now, **values)
    if connection.scalar(sa.select(source.c.name).where(source.c.name == origin.name)) is None:
        connection.execute(sa.insert(source), {"name": origin.name, "kind": origin.kind, "origin": origin.origin})
    write_batch(connection, batch)
