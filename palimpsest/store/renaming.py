"""Cells under other ids: when the entity, the observer or the key of a cell gets another name, and with it the belief.

Ids are made of names (R3). All that rests on the cells is taken out and put back under the new ids, in one transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import sqlalchemy as sa

from palimpsest.core.ids import EntityId, Ids
from palimpsest.store.schema import (
    cell,
    choice,
    edge,
    entity,
    episode,
    evidence,
    label,
    part,
    passage,
    publication,
    recall_log,
    strength,
    version,
)

_AT_ONCE = 500
_Row = dict[str, Any]


class Renamed(NamedTuple):
    """A cell as it stands, and the observer and the key that it is to have."""

    row: Mapping[str, Any]
    observer: str
    key: str


class RenamedEntity(NamedTuple):
    """An entity as it stands, and the URN and the name that it is to have."""

    row: Mapping[str, Any]
    urn: str
    name: str


class _Names(NamedTuple):
    """Old id → new id."""

    entities: dict[bytes, bytes]
    cells: dict[bytes, bytes]
    beliefs: dict[bytes, bytes]


def rename(connection: sa.Connection, ids: Ids, renamed: Sequence[Renamed], entities: Sequence[RenamedEntity]) -> None:
    """Give entities and cells their new names. With an entity come all of its cells."""
    if not renamed and not entities:
        return
    new = _Names({bytes(one.row["id"]): ids.entity(one.urn) for one in entities}, {}, {})
    cells = _named(connection, ids, renamed, new)
    beliefs = sorted({bytes(one.row["belief_id"]) for one in renamed})
    old = sorted(new.cells)
    episodes = _taken(connection, episode, episode.c.cell_id, old)
    versions = _taken(connection, version, version.c.belief_id, beliefs)
    rests = _taken(connection, evidence, evidence.c.belief_id, beliefs)
    choices = _taken(connection, choice, choice.c.cell_id, old)
    for table, column, keys in (
        (evidence, evidence.c.belief_id, beliefs),
        (choice, choice.c.cell_id, old),
        (version, version.c.belief_id, beliefs),
        (episode, episode.c.cell_id, old),
        (cell, cell.c.id, old),
    ):
        for some in _parts(keys):
            connection.execute(sa.delete(table).where(column.in_(some)))
    _rename_entities(connection, new, entities)
    _put(connection, cell, cells)
    for table, rows in ((episode, episodes), (version, versions), (evidence, rests), (choice, choices)):
        _put(connection, table, [_under(new, row) for row in rows])
    _rename_beside(connection, new)
    _drop_entities(connection, entities)


def _named(connection: sa.Connection, ids: Ids, renamed: Sequence[Renamed], new: _Names) -> list[_Row]:
    """The rows of the cells under their new ids, which come to stand in `new`. A name that is taken is counted up."""
    keys: dict[bytes, str] = {}
    cells: list[_Row] = []
    for one in sorted(renamed, key=lambda one: bytes(one.row["id"])):
        row = {column.name: one.row[column.name] for column in cell.columns}
        was, belief = bytes(row["entity_id"]), bytes(row["belief_id"])
        owner = EntityId(new.entities.get(was, was))
        if belief not in keys:
            keys[belief] = one.key
            if one.key != row["key"] or owner != was:
                id_of = partial(ids.belief, owner, row["source"], row["aspect"])
                keys[belief] = _free(connection, cell.c.belief_id, one.key, new.beliefs.values(), id_of)
                new.beliefs[belief] = id_of(keys[belief])
        slot = partial(_cell, ids, owner, row["source"], row["aspect"], keys[belief])
        observer = one.observer
        if slot(observer) != bytes(row["id"]):
            observer = _free(connection, cell.c.id, observer, new.cells.values(), slot)
        new.cells[bytes(row["id"])] = slot(observer)
        row |= {"id": slot(observer), "entity_id": owner, "observer": observer, "key": keys[belief]}
        cells.append(row | {"belief_id": new.beliefs.get(belief, belief)})
    return cells


def _cell(ids: Ids, owner: EntityId, source: str, aspect: str, key: str, observer: str) -> bytes:
    return ids.cell(owner, source, observer, aspect, key)


def _free(
    connection: sa.Connection,
    column: sa.Column[bytes],
    name: str,
    used: Collection[bytes],
    id_of: Callable[[str], bytes],
) -> str:
    """A name that makes an id which nothing has: the one wished for, or it with a number."""
    tried, count = name, 1
    while id_of(tried) in used or connection.scalar(sa.select(column).where(column == id_of(tried)).limit(1)):
        count += 1
        tried = f"{name}~{count}"
    return tried


def _taken(connection: sa.Connection, table: sa.Table, column: sa.Column[bytes], keys: Sequence[bytes]) -> list[_Row]:
    found: list[_Row] = []
    for some in _parts(keys):
        rows = connection.execute(sa.select(table).where(column.in_(some)).order_by(*table.primary_key.columns))
        found += [dict(row) for row in rows.mappings()]
    return found


def _under(new: _Names, row: _Row) -> _Row:
    if "cell_id" in row:
        row = row | {"cell_id": new.cells.get(bytes(row["cell_id"]), row["cell_id"])}
    if "belief_id" in row:
        row = row | {"belief_id": new.beliefs.get(bytes(row["belief_id"]), row["belief_id"])}
    return row


def _put(connection: sa.Connection, table: sa.Table, rows: Sequence[_Row]) -> None:
    for some in _parts(rows):
        connection.execute(sa.insert(table), list(some))


def _rename_entities(connection: sa.Connection, new: _Names, entities: Sequence[RenamedEntity]) -> None:
    """Entities that are the person: a row of their own under the new name, and what names them by the old id."""
    for one in entities:
        was, now = EntityId(bytes(one.row["id"])), EntityId(new.entities[bytes(one.row["id"])])
        if connection.scalar(sa.select(entity.c.id).where(entity.c.id == now)) is None:
            kept = {name: one.row[name] for name in ("kind", "platform")}
            connection.execute(sa.insert(entity), kept | {"id": now, "urn": one.urn, "name": one.name})
        for table in (passage, label):
            connection.execute(sa.delete(table).where(table.c.entity_id == was))
        for table in (part, publication):
            connection.execute(sa.update(table).where(table.c.entity_id == was).values(entity_id=now))
        connection.execute(sa.update(edge).where(edge.c.upstream_id == was).values(upstream_id=now))


def _drop_entities(connection: sa.Connection, entities: Sequence[RenamedEntity]) -> None:
    for one in entities:
        connection.execute(sa.delete(entity).where(entity.c.id == EntityId(bytes(one.row["id"]))))


def _rename_beside(connection: sa.Connection, new: _Names) -> None:
    """What names beliefs beside their versions: how strongly they were recalled, lineage, answers that were given."""
    for was, now in new.beliefs.items():
        for table in (strength, edge):
            connection.execute(sa.update(table).where(table.c.belief_id == was).values(belief_id=now))
        told = sa.func.replace(recall_log.c.versions, was.hex(), now.hex())
        named = recall_log.c.versions.contains(was.hex())
        connection.execute(sa.update(recall_log).where(named).values(versions=told))


def _parts(rows: Sequence[Any]) -> Iterable[Sequence[Any]]:
    for start in range(0, len(rows), _AT_ONCE):
        yield rows[start : start + _AT_ONCE]
