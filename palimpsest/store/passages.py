"""Passages as rows: which entities' are stale, what their beliefs state, and the difference to what is there."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from palimpsest.core.belief import State
from palimpsest.core.ids import BeliefId, EntityId, Ids
from palimpsest.core.moment import Moment
from palimpsest.core.passage import About, Passage, Stated, passages_of
from palimpsest.store import labels
from palimpsest.store.bulk import Row, execute_many
from palimpsest.store.readings import ranges
from palimpsest.store.schema import FIRST_PAST, cell, entity, episode, evidence, passage, passage_of, version

_ENTITIES_AT_ONCE = 100
_VERSIONS_AT_ONCE = 3_000
_COUNTED_FIRST = 32  # entities of which the versions are counted first: mostly enough
_STATES = {state.value: state for state in State}
_PASSAGE = ("id", "entity_id", "source", "aspect", "current", "text", "terms")
_PASSAGE_OF = ("passage_id", "belief_id", "number")
_KEY = tuple[str, str, bool, str]  # source, aspect, current, text


@dataclass(frozen=True, slots=True, kw_only=True)
class Renewed:
    """What one transaction of the pass did: the entities it came to, and how many passages came, went and stayed."""

    entities: tuple[EntityId, ...]
    written: int
    dropped: int
    kept: int


def count_stale(connection: sa.Connection) -> int:
    """How many entities have passages that are not what their beliefs give."""
    return int(connection.scalar(sa.select(sa.func.count()).where(entity.c.indexed_at.is_(None))) or 0)


def renew_some(connection: sa.Connection, ids: Ids, *, after: EntityId, now: Moment) -> Renewed | None:
    """Bring the passages of the next stale entities, and what they are listed by, up to date; None: none is left.

    The entities are claimed by the same statement that ends their being stale: whoever else is at work on them, or
    consolidates them, waits or conflicts, and what fails leaves them stale.
    """
    numbers = _next_stale(connection, after)
    if not numbers:
        return None
    about = _claim(connection, list(numbers), now)
    stated = stated_of(connection, list(about))
    wanted = {one: passages_of(about[one], versions) for one, versions in stated.items()}
    written, dropped, kept = _replace(connection, ids, sorted(about), wanted)
    labels.renew(connection, labels.listed_as(connection, stated, numbers))
    return Renewed(entities=tuple(numbers), written=written, dropped=dropped, kept=kept)


def _next_stale(connection: sa.Connection, after: EntityId) -> dict[EntityId, labels.Held]:
    """The next stale entities by id, about _VERSIONS_AT_ONCE versions' worth, and what is held of them."""
    rows = connection.execute(
        sa.select(entity.c.id)
        .where(entity.c.indexed_at.is_(None), entity.c.id > after)
        .order_by(entity.c.id)
        .limit(_ENTITIES_AT_ONCE)
    )
    found = [EntityId(row[0]) for row in rows]
    taken: dict[EntityId, labels.Held] = {}
    versions = 0
    for start, end in ((0, _COUNTED_FIRST), (_COUNTED_FIRST, _ENTITIES_AT_ONCE)):
        some = found[start:end]
        numbers = labels.held_of(connection, some)
        for one in some:
            held = numbers.get(one, labels.NOTHING)
            versions += held.versions
            if taken and versions > _VERSIONS_AT_ONCE:
                return taken
            taken[one] = held
    return taken


def _claim(connection: sa.Connection, entities: Sequence[EntityId], now: Moment) -> dict[EntityId, About]:
    """Those of the entities that are still stale; they are so no longer."""
    claimed = connection.execute(
        sa.update(entity)
        .where(entity.c.id.in_(entities), entity.c.indexed_at.is_(None))
        .values(indexed_at=now)
        .returning(entity.c.id, entity.c.urn, entity.c.kind, entity.c.platform, entity.c.name)
    )
    return {EntityId(row[0]): About(*row[1:]) for row in claimed}


def stated_of(
    connection: sa.Connection, entities: Sequence[EntityId], aspects: Collection[str] = ()
) -> dict[EntityId, list[Stated]]:
    """What the beliefs of entities state, as they are; of some aspects only, if any are given."""
    if not entities:
        return {}
    given = ranges(entities)
    statement = (
        sa.select(
            cell.c.entity_id, version.c.belief_id, version.c.number, version.c.state, cell.c.source, cell.c.aspect,
            cell.c.key, episode.c.value,
        )
        .select_from(given)
        .join(version, version.c.belief_id.between(given.c.first, given.c.last))
        .join(episode, sa.and_(episode.c.cell_id == version.c.cell_id, episode.c.number == version.c.episode))
        .join(cell, cell.c.id == version.c.cell_id)
        .where(episode.c.forgotten_at.is_(None))
    )  # fmt: skip
    if aspects:
        statement = statement.where(cell.c.aspect.in_(sorted(aspects)))
    worded = _wordings(connection, given)
    stated: dict[EntityId, list[Stated]] = {one: [] for one in entities}
    for row in connection.execute(statement):
        belief, number = BeliefId(row[1]), int(row[2])
        value = worded.get((belief, number), row[7])
        stated[EntityId(row[0])].append(Stated(belief, number, _STATES[row[3]], row[4], row[5], row[6], value))
    return stated


def _wordings(connection: sa.Connection, given: sa.CTE) -> dict[tuple[BeliefId, int], str]:
    """(belief, number) → the newest wording of a version that was restated."""
    rows = connection.execute(
        sa.select(evidence.c.belief_id, evidence.c.number, episode.c.value)
        .select_from(given)
        .join(evidence, evidence.c.belief_id.between(given.c.first, given.c.last))
        .join(episode, sa.and_(episode.c.cell_id == evidence.c.cell_id, episode.c.number == evidence.c.episode))
        .where(evidence.c.role == "bears_out", episode.c.forgotten_at.is_(None))
        .order_by(episode.c.observed_at, evidence.c.cell_id, evidence.c.episode)
    )
    return {(BeliefId(row[0]), int(row[1])): row[2] for row in rows}


def held_passages(
    connection: sa.Connection, entities: Sequence[EntityId]
) -> dict[EntityId, dict[_KEY, tuple[int, tuple[tuple[BeliefId, int], ...]]]]:
    """The passages that are there: by entity and text, the number and the versions that are stated."""
    if not entities:
        return {}
    found: dict[EntityId, dict[_KEY, tuple[int, tuple[tuple[BeliefId, int], ...]]]] = {}
    states: dict[int, list[tuple[BeliefId, int]]] = {}
    stated = connection.execute(
        sa.select(passage_of.c.passage_id, passage_of.c.belief_id, passage_of.c.number)
        .join(passage, passage.c.id == passage_of.c.passage_id)
        .where(passage.c.entity_id.in_(entities))
    )
    for row in stated:
        states.setdefault(row[0], []).append((BeliefId(row[1]), row[2]))
    rows = connection.execute(
        sa.select(
            passage.c.id, passage.c.entity_id, passage.c.source, passage.c.aspect, passage.c.current, passage.c.text
        ).where(passage.c.entity_id.in_(entities))
    )
    for row in rows:
        key = (row[2], row[3], bool(row[4]), row[5])
        found.setdefault(EntityId(row[1]), {})[key] = (row[0], tuple(sorted(states.get(row[0], ()))))
    return found


def _replace(
    connection: sa.Connection, ids: Ids, entities: Sequence[EntityId], wanted: dict[EntityId, list[Passage]]
) -> tuple[int, int, int]:
    """Write what differs: passages whose text stays, stay, and so do their vectors."""
    held = held_passages(connection, entities)
    new: list[tuple[EntityId, Passage]] = []
    unstated: list[int] = []
    states: list[Row] = []
    kept = 0
    for one in entities:
        there = held.get(one, {})
        for given in wanted.get(one, ()):
            same = there.pop((given.source, given.aspect, given.current, given.text), None)
            if same is None:
                new.append((one, given))
                continue
            kept += 1
            if same[1] != tuple(sorted(given.states)):
                unstated.append(same[0])
                states += [(same[0], *state) for state in given.states]
    dropped = [number for there in held.values() for number, _ in there.values()]
    for start in range(0, len(dropped), 1_000):
        connection.execute(sa.delete(passage).where(passage.c.id.in_(dropped[start : start + 1_000])))
    for start in range(0, len(unstated), 1_000):
        some = unstated[start : start + 1_000]
        connection.execute(sa.delete(passage_of).where(passage_of.c.passage_id.in_(some)))
    numbered = _numbered(connection, ids, new)
    execute_many(
        connection,
        sa.insert(passage),
        _PASSAGE,
        [(at, one, p.source, p.aspect, p.current, p.text, p.terms) for at, (one, p) in numbered.items()],
    )
    states += [(at, *state) for at, (_, given) in numbered.items() for state in given.states]
    execute_many(connection, sa.insert(passage_of), _PASSAGE_OF, states)
    return len(new), len(dropped), kept


def _numbered(
    connection: sa.Connection, ids: Ids, new: Sequence[tuple[EntityId, Passage]]
) -> dict[int, tuple[EntityId, Passage]]:
    """Each new passage under its number; one whose number is taken gets the next free one."""
    numbered: dict[int, tuple[EntityId, Passage]] = {}
    waiting = [(number_of(ids, one, given), one, given) for one, given in new]
    while waiting:
        asked = sorted({at for at, _, _ in waiting} - numbered.keys())
        taken: set[int] = set()
        for start in range(0, len(asked), 1_000):
            some = sa.select(passage.c.id).where(passage.c.id.in_(asked[start : start + 1_000]))
            taken.update(connection.scalars(some))
        again = []
        for at, one, given in waiting:
            if at in taken or at in numbered:
                again.append((_next(at), one, given))
            else:
                numbered[at] = (one, given)
        waiting = again
    return numbered


def number_of(ids: Ids, about: EntityId, given: Passage) -> int:
    """The number of a passage: 1 bit for what is past, 30 of its entity, 32 of its text."""
    seed = "\x1f".join((given.source, given.aspect, given.text)).encode("utf-8", "surrogatepass")
    number = int.from_bytes(about[:4]) >> 2 << 32 | int.from_bytes(ids.digest(about + seed)[:4])
    return number if given.current else number | FIRST_PAST


def _next(number: int) -> int:
    """The next number of the same entity."""
    return number & ~0xFFFFFFFF | (number + 1) & 0xFFFFFFFF
