"""Finding passages by their terms: bounded walks of the index of terms, whatever the size of the store.

Statements only. What is near enough, and which stands first, is said by core.ranking.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles

from palimpsest.core.episode import Kind
from palimpsest.core.ids import BeliefId, CellId, EntityId
from palimpsest.core.moment import Moment
from palimpsest.core.strength import Strength
from palimpsest.store.dialects.dialect import Dialect
from palimpsest.store.schema import FIRST_PAST, cell, entity, episode, passage, strength
from palimpsest.store.search_types import Wanted

Group = tuple[str, ...]  # terms of which one is enough
_COUNTED = 5_000
_LAST = (1 << 63) - 1
_AT_ONCE = 1_000
_MOST_PENDING = 20_000


class Candidate(NamedTuple):
    """A passage that may answer: its terms, and the name of the entity that it is about."""

    id: int
    entity: EntityId
    source: str
    aspect: str
    text: str
    terms: frozenset[str]
    name: str
    platform: str


class _Find(sa.Executable, sa.ClauseElement):
    """The numbers of the passages that have a term of each group, in their order where the index gives one."""

    inherit_cache = True
    _traverse_internals: Any = ()  # nothing in it varies; without this it would be compiled every time


_PARAMETERS: tuple[sa.BindParameter[Any], ...] = (
    sa.bindparam("wanted", type_=Wanted()),
    sa.bindparam("first"),
    sa.bindparam("last"),
)
_BY_INDEX = sa.text(
    "SELECT id FROM passage WHERE terms @@ CAST(:wanted AS TSQUERY) AND id BETWEEN :first AND :last "
    "ORDER BY id LIMIT :most"
).bindparams(*_PARAMETERS)
_BY_TABLE = sa.text(
    "SELECT rowid FROM passage_text WHERE passage_text MATCH :wanted AND rowid BETWEEN :first AND :last "
    "ORDER BY rowid LIMIT :most"
).bindparams(*_PARAMETERS)
_FIND = _Find()


@compiles(_Find)
def _find_by_index(element: _Find, compiler: Any, **options: Any) -> str:
    return str(compiler.process(_BY_INDEX, **options))


@compiles(_Find, "sqlite")
def _find_by_table(element: _Find, compiler: Any, **options: Any) -> str:
    return str(compiler.process(_BY_TABLE, **options))


def begin(connection: sa.Connection) -> None:
    """Make a transaction ready to be searched in: how common a word is says how to look for it."""
    dialect = connection.info.get("dialect")
    if isinstance(dialect, Dialect):
        dialect.plan_for_values(connection)


def find(connection: sa.Connection, groups: Sequence[Group], most: int, *, past: bool) -> list[int]:
    """At most so many passages that have a term of each group; of what is not current too if `past`."""
    last = _LAST if past else FIRST_PAST - 1
    given = {"wanted": tuple(groups), "first": 0, "last": last, "most": most}
    return [row[0] for row in connection.execute(_FIND, given).all()]


def count(connection: sa.Connection) -> int:
    """How many passages there are. Of many it is a guess: ids are spread evenly, and so tell by how far some reach."""
    some = sa.select(passage.c.entity_id).order_by(passage.c.entity_id)
    last = connection.scalar(some.offset(_COUNTED).limit(1))
    if last is None:
        return int(connection.scalar(sa.select(sa.func.count()).select_from(passage)) or 0)
    return int((_COUNTED + 1) * (1 << 64) / (int.from_bytes(last[:8]) + 1))


def guessed(found: Sequence[int], most: int) -> int:
    """How many passages a term has of which at most `most` and one were found, in the order of their numbers."""
    if len(found) <= most:
        return len(found)
    return max(len(found), int(len(found) * FIRST_PAST / (found[-1] % FIRST_PAST + 1)))


def passages_about(
    connection: sa.Connection, entities: Sequence[EntityId], most: int, *, past: bool, aspects: Sequence[str] = ()
) -> list[int]:
    """At most so many passages about the given entities, of the given aspects if any are."""
    found: list[int] = []
    last = _LAST if past else FIRST_PAST - 1
    for start in range(0, len(entities), _AT_ONCE):
        statement = sa.select(passage.c.id).where(
            passage.c.entity_id.in_(entities[start : start + _AT_ONCE]), passage.c.id <= last
        )
        if aspects:
            statement = statement.where(passage.c.aspect.in_(aspects))
        found.extend(connection.scalars(statement.order_by(passage.c.id).limit(most - len(found))))
        if len(found) >= most:
            break
    return found


_CANDIDATES = (
    sa.select(
        passage.c.id, passage.c.entity_id, passage.c.source, passage.c.aspect, passage.c.text, passage.c.terms,
        entity.c.name, entity.c.platform,
    )
    .join(entity, entity.c.id == passage.c.entity_id)
    .where(passage.c.id.in_(sa.bindparam("ids", expanding=True)))
)  # fmt: skip


def candidates(connection: sa.Connection, ids: Sequence[int]) -> list[Candidate]:
    """The passages of the given numbers, with their terms."""
    found = []
    for start in range(0, len(ids), _AT_ONCE):
        for row in connection.execute(_CANDIDATES, {"ids": ids[start : start + _AT_ONCE]}):
            number, about, source, aspect, text, terms, name, platform = row
            of = frozenset(terms.split(" "))
            found.append(Candidate(number, about, source, aspect, text, of, name, platform))
    return found


def strengths(connection: sa.Connection, beliefs: Sequence[BeliefId]) -> dict[BeliefId, Strength]:
    """How strongly beliefs were recalled; those that never were are left out."""
    rows = connection.execute(
        sa.select(strength.c.belief_id, strength.c.base, strength.c.at).where(strength.c.belief_id.in_(beliefs))
    )
    return {BeliefId(row[0]): Strength(base=row[1], at=row[2]) for row in rows}


class Waiting(NamedTuple):
    """A pending episode, with what it is about."""

    cell: CellId
    number: int
    entity: EntityId
    urn: str
    kind: Kind
    source: str
    aspect: str
    key: str
    value: str | None
    observed_at: Moment


def waiting(connection: sa.Connection, words: Sequence[str], entities: Sequence[EntityId], most: int) -> list[Waiting]:
    """Pending episodes that have one of the words in their value or the URN of their entity, of the first some.

    Looks through _MOST_PENDING of them at most, and leaves those of other entities out where some are given.
    """
    pending = (
        sa.select(episode.c.cell_id, episode.c.number)
        .where(episode.c.verdict.is_(None), sa.or_(episode.c.ground.is_(None), episode.c.ground != "decision"))
        .order_by(episode.c.cell_id)
        .limit(_MOST_PENDING)
        .subquery("waiting")
    )
    named = [
        sa.or_(sa.func.lower(text).contains(word, autoescape=True), text.contains(word, autoescape=True))
        for word in words
        for text in (entity.c.urn, sa.func.coalesce(episode.c.value, ""))
    ]
    statement = (
        sa.select(
            episode.c.cell_id, episode.c.number, cell.c.entity_id, entity.c.urn, episode.c.kind, cell.c.source,
            cell.c.aspect, cell.c.key, episode.c.value, episode.c.observed_at,
        )
        .select_from(pending)
        .join(episode, sa.and_(episode.c.cell_id == pending.c.cell_id, episode.c.number == pending.c.number))
        .join(cell, cell.c.id == episode.c.cell_id)
        .join(entity, entity.c.id == cell.c.entity_id)
        .limit(most)
    )  # fmt: skip
    if named:
        statement = statement.where(sa.or_(*named))
    if entities:
        statement = statement.where(cell.c.entity_id.in_(entities))
    return [Waiting._make((*row[:4], Kind(row[4]), *row[5:])) for row in connection.execute(statement)]


def is_waiting(connection: sa.Connection) -> bool:
    """Whether any episode waits to be consolidated."""
    one = sa.select(episode.c.number).where(episode.c.verdict.is_(None)).limit(1)
    return connection.execute(one).first() is not None
