"""waiting: episodes that nothing was consolidated of yet and that bear on a question. They are no beliefs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from palimpsest.core import say
from palimpsest.core.ids import EntityId
from palimpsest.core.jsontext import loads
from palimpsest.core.moment import to_datetime
from palimpsest.core.question import Role
from palimpsest.core.ranking import WEIGHTS, Read, Sought, score
from palimpsest.core.terms import terms_of
from palimpsest.queries.held import When
from palimpsest.store import search
from palimpsest.store.engine import Connection
from palimpsest.store.search import Waiting

_MOST_READ = 200
_MOST_SHOWN = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingView:
    """An episode that waits: what a source says that nobody has judged yet."""

    urn: str
    source: str
    aspect: str
    key: str
    statement: str
    observed: datetime
    episode: int


def waiting(
    connection: Connection,
    wanted: Sequence[Sought],
    entities: Sequence[EntityId],
    aspect: str | None,
    when: When,
) -> tuple[WaitingView, ...]:
    """The waiting episodes that have most of what is sought; none when the question is about the past."""
    named = [one for one in wanted if one.word.role is Role.NAMED]
    if not when.is_now or not (named or entities) or not search.is_waiting(connection):
        return ()
    words = list(dict.fromkeys(term for one in named for term, _ in one.terms))[:8]
    found = search.waiting(connection, words, entities, _MOST_READ)
    found = [one for one in found if aspect in {None, one.aspect}]
    terms = [frozenset(terms_of(f"{one.urn} {_said(one)}")) for one in found]
    reads = [Read(at, one, frozenset(), (), 0.0) for at, one in enumerate(terms)]
    ranked = [found[one.id] for one in score(reads, wanted) if one.coverage >= WEIGHTS.sure or not named]
    return tuple(_view(one) for one in (ranked or ([] if named else found))[:_MOST_SHOWN])


def _said(one: Waiting) -> str:
    if one.value is None:
        return f"{say.what(one.aspect, one.key)} gone"
    return say.statement(one.aspect, one.key, loads(one.value))


def _view(one: Waiting) -> WaitingView:
    return WaitingView(
        urn=one.urn,
        source=one.source,
        aspect=one.aspect,
        key=one.key,
        statement=_said(one),
        observed=to_datetime(one.observed_at),
        episode=one.number,
    )
