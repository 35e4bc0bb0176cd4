"""Counting what is searched and listed against what is held: passages, counts, labels of entities that are not stale.

Reads only.
"""

from __future__ import annotations

from collections.abc import Iterator

import sqlalchemy as sa

from palimpsest.core.ids import EntityId
from palimpsest.core.labels import labels_of
from palimpsest.core.passage import About, passages_of
from palimpsest.store import labels
from palimpsest.store.passages import held_passages, stated_of
from palimpsest.store.schema import entity, passage, passage_of, version

MOST_CHECKED = 2_000  # entities whose passages are made again; of more, as many spread over all
_AT_ONCE = 100


def not_current(connection: sa.Connection) -> tuple[int, list[str]]:
    """Passages that count as current, and those of them that state what is not (R12)."""
    fresh = sa.and_(passage.c.current, entity.c.indexed_at.is_not(None))
    stated = (
        sa.select(passage.c.id)
        .join(entity, entity.c.id == passage.c.entity_id)
        .join(passage_of, passage_of.c.passage_id == passage.c.id)
        .outerjoin(
            version,
            sa.and_(version.c.belief_id == passage_of.c.belief_id, version.c.number == passage_of.c.number),
        )
        .where(fresh, sa.or_(version.c.state.is_(None), version.c.state != "current"))
        .distinct()
    )
    total = sa.select(sa.func.count()).select_from(passage).where(passage.c.current)
    broken = [f"passage {row[0]} is searched as current and states what is not" for row in connection.execute(stated)]
    return int(connection.scalar(total) or 0), broken


def not_labelled_so(connection: sa.Connection) -> tuple[int, list[str]]:
    """Labels of entities that are not stale, some of many, and those that no current belief gives (R12)."""
    checked, broken = 0, []
    for about in _fresh(connection):
        stated, listed = stated_of(connection, list(about), labels.NEEDED), labels.held(connection, list(about))
        for one, of in listed.items():
            surplus = of.labels - labels_of(stated[one])
            broken += [
                f"entity {about[one].urn}: {aspect} {member} is not current" for aspect, member in sorted(surplus)
            ]
            checked += len(of.labels)
    return checked, broken


def not_as_held(connection: sa.Connection) -> tuple[int, list[str]]:
    """Entities that are not stale, some of many, and those that are not searched or listed as what is held (R13)."""
    checked, broken = 0, []
    for about in _fresh(connection):
        stated, held = stated_of(connection, list(about)), held_passages(connection, list(about))
        wanted = labels.listed_as(connection, stated, labels.held_of(connection, list(about)))
        listed = labels.held(connection, list(about))
        for one, of in about.items():
            should = {
                (given.source, given.aspect, given.current, given.text): tuple(sorted(given.states))
                for given in passages_of(of, stated[one])
            }
            if should != {key: states for key, (_, states) in held.get(one, {}).items()}:
                broken.append(f"entity {of.urn}: its passages are not what its beliefs give")
            if listed.get(one) != wanted[one]:
                broken.append(f"entity {of.urn}: it is listed by {_differing(listed.get(one), wanted[one])}")
        checked += len(about)
    return checked, broken


def _differing(held: labels.Listed | None, wanted: labels.Listed) -> str:
    """Where what is held for listing an entity is not what is wanted, in words."""
    if held is None:
        return "nothing"
    pairs = zip(wanted.counts._fields, held.counts, wanted.counts, strict=True)
    wrong = [f"{name} {there}, counted {counted}" for name, there, counted in pairs if there != counted]
    amiss = sorted(held.labels ^ wanted.labels)
    return "; ".join([*wrong, *(f"{aspect} {member}, not as it is current" for aspect, member in amiss)])


def _fresh(connection: sa.Connection) -> Iterator[dict[EntityId, About]]:
    """Entities that are not stale, in batches: all of few, and of many those next to places spread over all ids."""
    named = sa.select(entity.c.id, entity.c.urn, entity.c.kind, entity.c.platform, entity.c.name)
    fresh = named.where(entity.c.indexed_at.is_not(None)).order_by(entity.c.id)
    count = connection.scalar(sa.select(sa.func.count()).where(entity.c.indexed_at.is_not(None))) or 0
    batch: dict[EntityId, About] = {}
    for row in connection.execute(fresh) if count <= MOST_CHECKED else _spread(connection, fresh):
        batch[EntityId(row[0])] = About(*row[1:])
        if len(batch) >= _AT_ONCE:
            yield batch
            batch = {}
    if batch:
        yield batch


def _spread(
    connection: sa.Connection, fresh: sa.Select[tuple[bytes, str, str, str, str]]
) -> Iterator[sa.Row[tuple[bytes, str, str, str, str]]]:
    for place in range(MOST_CHECKED):
        start = ((place << 64) // MOST_CHECKED).to_bytes(8) + bytes(8)
        row = connection.execute(fresh.where(entity.c.id >= EntityId(start)).limit(1)).first()
        if row is not None:
            yield row
