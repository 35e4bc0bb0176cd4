"""Entities in an order, narrowed, some after a place: what a listing is made from. Statements only.

All numbers are those that the index pass counted (store.labels); of entities that wait for it the caller counts anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Any, NamedTuple

import sqlalchemy as sa

from palimpsest.core.ids import EntityId
from palimpsest.core.labels import is_named
from palimpsest.core.moment import Moment
from palimpsest.core.volatility import PERIOD
from palimpsest.store.answers import Named
from palimpsest.store.labels import Counts
from palimpsest.store.schema import entity, label

_MOST_MEANT = 1_000  # labels that a text is compared with
Key = str | int | float | None


class Sort(StrEnum):
    """What a listing is sorted by. Of two that are alike, the one of the higher id is the higher."""

    NAME = "name"
    CHANGED = "changed"
    REVISIONS = "revisions"
    VOLATILITY = "volatility"


class Narrowed(NamedTuple):
    """Which entities; empty means all. `labels`: of each aspect, one of the members."""

    words: tuple[str, ...] = ()
    platform: str = ""
    kind: str = ""
    gone: bool | None = None
    labels: tuple[tuple[str, tuple[str, ...]], ...] = ()


class Place(NamedTuple):
    """After which entity a page begins, and by what that one was sorted; None is after everything else."""

    key: Key
    id: EntityId


class Row(NamedTuple):
    """One entity of a listing. `counts` is None where nothing was counted yet; `fresh`: they are of what is held."""

    named: Named
    counts: Counts | None
    fresh: bool
    key: Key


def _sorted_by(sort: Sort, now: Moment) -> sa.ColumnElement[Any]:
    match sort:
        case Sort.NAME:
            return entity.c.name
        case Sort.CHANGED:
            return entity.c.changed_at
        case Sort.REVISIONS:
            return entity.c.revisions
        case Sort.VOLATILITY:  # as core.volatility, so that the database can sort by it
            held_for = sa.case((now - entity.c.first_at > PERIOD, now - entity.c.first_at), else_=PERIOD)
            often = sa.cast(entity.c.revisions, sa.Float) * float(PERIOD) / held_for
            return sa.case((entity.c.revisions == 0, 0.0), else_=often)


def page_of(
    connection: sa.Connection,
    narrowed: Narrowed,
    sort: Sort,
    place: Place | None,
    most: int,
    *,
    down: bool,
    now: Moment,
) -> list[Row]:
    """At most so many entities after a place. Those without what is sorted by stand last, whichever way it goes."""
    by = _sorted_by(sort, now)
    columns = (
        entity.c.id, entity.c.urn, entity.c.kind, entity.c.platform, entity.c.name, entity.c.changed_at,
        entity.c.revisions, entity.c.first_at, entity.c.beliefs, entity.c.gone, entity.c.indexed_at, by.label("by"),
    )  # fmt: skip
    found: list[Row] = []
    for is_set in (True, False):
        if len(found) == most or (is_set and place is not None and place.key is None):
            continue
        if not is_set and sort is Sort.NAME:
            continue
        statement = sa.select(*columns).where(*_conditions(narrowed))
        if sort is not Sort.NAME:
            known = entity.c.revisions if sort is Sort.VOLATILITY else by
            statement = statement.where(known.is_not(None) if is_set else known.is_(None))
        if place is not None and (place.key is not None) == is_set:
            statement = statement.where(_beyond(by if is_set else None, place, down))
        order = [by, entity.c.id] if is_set else [entity.c.id]
        statement = statement.order_by(*(one.desc() if down else one for one in order)).limit(most - len(found))
        found += [_row(row) for row in connection.execute(statement)]
    return found


def _beyond(by: sa.ColumnElement[Any] | None, place: Place, down: bool) -> sa.ColumnElement[bool]:
    further = entity.c.id < place.id if down else entity.c.id > place.id
    if by is None:
        return further
    beyond, from_here = (by < place.key, by <= place.key) if down else (by > place.key, by >= place.key)
    return sa.and_(from_here, sa.or_(beyond, further))


def _conditions(narrowed: Narrowed) -> list[sa.ColumnElement[bool]]:
    found: list[sa.ColumnElement[bool]] = []
    for word in narrowed.words:
        folded = sa.func.lower(entity.c.urn).contains(word.lower(), autoescape=True)
        found.append(folded if word.isascii() else sa.or_(folded, entity.c.urn.contains(word, autoescape=True)))
    if narrowed.platform:
        found.append(entity.c.platform == narrowed.platform)
    if narrowed.kind:
        found.append(entity.c.kind == narrowed.kind)
    if narrowed.gone is not None:
        found.append(entity.c.gone if narrowed.gone else sa.or_(entity.c.gone.is_(None), sa.not_(entity.c.gone)))
    for aspect, members in narrowed.labels:
        labelled = sa.select(label.c.entity_id).where(label.c.aspect == aspect, label.c.member.in_(members))
        found.append(entity.c.id.in_(labelled))
    return found


def _row(row: sa.Row[Any]) -> Row:
    counts = Counts(row[5], row[6], row[7], row[8], bool(row[9])) if row[8] is not None else None
    return Row(Named(*row[:5]), counts, row[10] is not None, row[11])


def name_of(connection: sa.Connection, id_: EntityId) -> str | None:
    """The name of an entity; None where there is none of the id."""
    return connection.scalar(sa.select(entity.c.name).where(entity.c.id == id_))


def meant(connection: sa.Connection, aspect: str, text: str) -> tuple[str, ...]:
    """The members of an aspect's labels that somebody may mean who writes a URN, or the name in one."""
    if text.startswith("urn:"):
        return (text,)
    folded = sa.func.lower(label.c.member).contains(text.lower(), autoescape=True)
    rows = connection.scalars(
        sa.select(label.c.member)
        .where(label.c.aspect == aspect, sa.or_(folded, label.c.member.contains(text, autoescape=True)))
        .distinct()
        .order_by(label.c.member)
        .limit(_MOST_MEANT)
    )
    return tuple(member for member in rows if is_named(member, text))


def _waiting() -> sa.Select[tuple[bytes]]:
    return sa.select(entity.c.id).where(entity.c.indexed_at.is_(None))


class Used(NamedTuple):
    """A value that entities share, and how many have it."""

    value: str
    entities: int


def platforms(connection: sa.Connection, most: int) -> list[Used]:
    """The platforms of most entities."""
    return _used(connection, entity.c.platform, most)


def kinds(connection: sa.Connection, most: int) -> list[Used]:
    """The kinds of most entities."""
    return _used(connection, entity.c.kind, most)


def _used(connection: sa.Connection, column: sa.Column[str], most: int) -> list[Used]:
    count = sa.func.count()
    rows = connection.execute(
        sa.select(column, count).where(column != "").group_by(column).order_by(count.desc(), column).limit(most)
    )
    return [Used(row[0], int(row[1])) for row in rows]


def members(connection: sa.Connection, aspects: Sequence[str], most: int) -> dict[str, list[Used]]:
    """Aspect → the labels that most entities have, those that wait to be indexed left out."""
    count = sa.func.count()
    place = sa.func.row_number().over(partition_by=label.c.aspect, order_by=(count.desc(), label.c.member))
    ranked = (
        sa.select(label.c.aspect, label.c.member, count.label("entities"), place.label("place"))
        .where(label.c.aspect.in_(aspects), label.c.entity_id.not_in(_waiting()))
        .group_by(label.c.aspect, label.c.member)
        .subquery("ranked")
    )
    rows = connection.execute(
        sa.select(ranked.c.aspect, ranked.c.member, ranked.c.entities)
        .where(ranked.c.place <= most)
        .order_by(ranked.c.aspect, ranked.c.place)
    )
    found: dict[str, list[Used]] = {aspect: [] for aspect in aspects}
    for aspect, member, entities in rows:
        found[aspect].append(Used(member, int(entities)))
    return found
