"""What a listing is made from, counted by the index pass: revisions, beliefs and labels of entities.

Statements for a whole set of entities. A number is what the rows give, a label what is current.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import sqlalchemy as sa

from palimpsest.core.belief import State
from palimpsest.core.ids import EntityId
from palimpsest.core.labels import LABELLED, Label, is_gone, labels_of
from palimpsest.core.moment import Moment
from palimpsest.core.passage import EXISTENCE, Stated
from palimpsest.store.answers import is_counted
from palimpsest.store.bulk import Row, execute_many
from palimpsest.store.readings import ranges
from palimpsest.store.schema import cell, entity, episode, label, version

NEEDED = frozenset({EXISTENCE, *LABELLED})  # the aspects that tell labels
_AT_ONCE = 1_000
_COUNTS = ("changed_at", "revisions", "first_at", "beliefs", "gone")
_LABEL = ("aspect", "member", "entity_id")
_IS_COUNTED, _IS_CURRENT = is_counted(), sa.case((version.c.state == State.CURRENT.value, 1), else_=0)
_UPDATE = (
    sa.update(entity)
    .where(entity.c.id == sa.bindparam("of_entity"))
    .values({name: sa.bindparam(f"new_{name}") for name in _COUNTS})
)


class Counts(NamedTuple):
    """What is counted of one entity: when it was last revised, how often, since when something is held of it, how many
    beliefs are current, and whether no source holds that it exists.
    """

    changed_at: Moment | None
    revisions: int
    first_at: Moment | None
    beliefs: int
    gone: bool


class Listed(NamedTuple):
    """What a listing holds of one entity."""

    counts: Counts
    labels: frozenset[Label]


class Held(NamedTuple):
    """How many versions there are of an entity's beliefs, since when they hold, and how many are current."""

    versions: int
    first_at: Moment | None
    beliefs: int


NOTHING = Held(0, None, 0)


def held_of(connection: sa.Connection, entities: Sequence[EntityId]) -> dict[EntityId, Held]:
    """What is held of entities, in numbers; of those without a version nothing is told."""
    if not entities:
        return {}
    given = ranges(entities)
    rows = connection.execute(
        sa.select(given.c.first, sa.func.count(), sa.func.min(version.c.valid_from), sa.func.sum(_IS_CURRENT))
        .select_from(given)
        .join(version, version.c.belief_id.between(given.c.first, given.c.last))
        .group_by(given.c.first)
    )
    return {EntityId(bytes(row[0])): Held(int(row[1]), row[2], int(row[3])) for row in rows}


def listed_as(
    connection: sa.Connection, stated: Mapping[EntityId, Sequence[Stated]], numbers: Mapping[EntityId, Held]
) -> dict[EntityId, Listed]:
    """What a listing is to hold of entities, given the versions of the NEEDED aspects at least, and held_of them."""
    if not stated:
        return {}
    given = ranges(list(stated))
    rows = connection.execute(
        sa.select(given.c.first, sa.func.count(), sa.func.max(episode.c.observed_at))
        .select_from(given)
        .join(episode, episode.c.cell_id.between(given.c.first, given.c.last))
        .join(cell, cell.c.id == episode.c.cell_id)
        .where(_IS_COUNTED)
        .group_by(given.c.first)
    )
    revised = {bytes(row[0]): (int(row[1]), row[2]) for row in rows}
    found = {}
    for one, versions in stated.items():
        count, latest = revised.get(one, (0, None))
        has = numbers.get(one, NOTHING)
        telling = [version for version in versions if version.aspect in NEEDED]
        counts = Counts(latest, count, has.first_at, has.beliefs, is_gone(telling))
        found[one] = Listed(counts, labels_of(telling))
    return found


def held(connection: sa.Connection, entities: Sequence[EntityId]) -> dict[EntityId, Listed]:
    """What is held for listing entities; those that were never counted are left out."""
    found: dict[EntityId, Listed] = {}
    for start in range(0, len(entities), _AT_ONCE):
        some = entities[start : start + _AT_ONCE]
        labels = _labels(connection, some)
        counted = sa.select(entity.c.id, *(entity.c[name] for name in _COUNTS))
        rows = connection.execute(counted.where(entity.c.id.in_(some), entity.c.beliefs.is_not(None)))
        for row in rows:
            counts = Counts(row[1], row[2], row[3], row[4], bool(row[5]))
            found[EntityId(row[0])] = Listed(counts, frozenset(labels.get(row[0], ())))
    return found


def _labels(connection: sa.Connection, entities: Sequence[EntityId]) -> dict[bytes, set[Label]]:
    rows = connection.execute(
        sa.select(label.c.entity_id, label.c.aspect, label.c.member).where(label.c.entity_id.in_(entities))
    )
    found: dict[bytes, set[Label]] = {}
    for row in rows:
        found.setdefault(bytes(row[0]), set()).add(Label(row[1], row[2]))
    return found


def renew(connection: sa.Connection, wanted: Mapping[EntityId, Listed]) -> None:
    """Bring what is held for listing entities up to date; labels that stay are not written."""
    entities = sorted(wanted)
    there = _labels(connection, entities)
    stale = [one for one in entities if there.get(one, set()) - wanted[one].labels]
    if stale:
        connection.execute(sa.delete(label).where(label.c.entity_id.in_(stale)))
        for one in stale:
            del there[one]
    new: list[Row] = [(*of, one) for one in entities for of in sorted(wanted[one].labels - there.get(one, set()))]
    execute_many(connection, sa.insert(label), _LABEL, new)
    names = [*(f"new_{name}" for name in _COUNTS), "of_entity"]
    execute_many(connection, _UPDATE, names, [(*wanted[one].counts, one) for one in entities])
