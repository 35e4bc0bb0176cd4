"""digest: what happened in a time, for everybody or for one owner: changed, contested, waiting, stale, flapping.

What was so before is no news: nothing is told of a time in which nothing happened.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from palimpsest.core import say
from palimpsest.core.aspects.aspect import Impact
from palimpsest.core.belief import State
from palimpsest.core.digest import Digest, Section, Sentence, Topic, pack
from palimpsest.core.entity import short_name
from palimpsest.core.errors import UsageError
from palimpsest.core.ids import EntityId, Ids, short_ref
from palimpsest.core.moment import Moment, from_datetime, spoken, to_datetime
from palimpsest.core.moment import text as written
from palimpsest.core.observer import NOTES
from palimpsest.queries.change_row import ChangeView
from palimpsest.queries.changes import Changes, ChangesRequest, ChangesView
from palimpsest.queries.held import When
from palimpsest.queries.inbox import InboxView, inbox
from palimpsest.queries.noise import NoiseView, noise
from palimpsest.queries.stale import Facts
from palimpsest.store.engine import Connection, Store

_FLAPS_FROM = 4  # changes of one cell
_MOST_FLAPPING = 5
_NOISIEST = 200
_TOPICS = {State.CONTESTED.value: Topic.CONTESTED, State.PROPOSED.value: Topic.WAITING}


@dataclass(frozen=True, slots=True, kw_only=True)
class DigestRequest:
    """What is asked: a time, both ends included, in so many words; for one owner, or for everybody."""

    since: Moment
    until: Moment
    limit: int
    owner: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DigestView:
    """The digest, and the time that it is of. `empty`: nothing happened, and there is nothing to send."""

    since: datetime
    until: datetime
    owner: str
    empty: bool
    title: str
    sections: tuple[Section, ...]
    left_out: str
    words: int
    limit: int

    @property
    def packed(self) -> Digest:
        """What its forms are made of."""
        return Digest(
            title=self.title, sections=self.sections, left_out=self.left_out, words=self.words, limit=self.limit
        )


def digest(store: Store, request: DigestRequest) -> DigestView:
    """The digest of a time. Raises UsageError for an owner of whom nothing is held."""
    when = When(now=request.until)
    items, noisy = inbox(store, when), noise(store, _NOISIEST)
    ids = store.ids
    sentences = store.read(lambda connection: _sentences(connection, ids, request, items, noisy))
    title = f"Memory, {spoken(request.since)} to {spoken(request.until)}"
    packed = pack(f"{title}, for {request.owner}" if request.owner else title, sentences, request.limit)
    return DigestView(
        since=to_datetime(request.since),
        until=to_datetime(request.until),
        owner=request.owner or "",
        empty=packed is None,
        title=packed.title if packed else "",
        sections=packed.sections if packed else (),
        left_out=packed.left_out if packed else "",
        words=packed.words if packed else 0,
        limit=request.limit,
    )


def _sentences(
    connection: Connection, ids: Ids, request: DigestRequest, items: InboxView, noisy: NoiseView
) -> list[Sentence]:
    when = When(now=request.until)
    facts: Facts | None = None
    owned: frozenset[EntityId] | None = None
    if request.owner is not None:
        facts = Facts(connection, ids, when)
        owned = facts.owned_by(request.owner, request.since, request.until)
        if owned is None:
            raise UsageError(f"{request.owner!r} owns nothing and never did", "give the name or the URN of an owner")
    asked = ChangesRequest(since=written(request.since), until=written(request.until), grouped=True)
    found = [*_waiting(ids, request, items, owned), *_flapping(ids, request, noisy, owned)]
    if owned != frozenset():
        changes = _Narrowed(connection, ids, asked, when, owned).view()
        found += _changed(changes)
        if changes.readings:
            found += _stale(facts or Facts(connection, ids, when), request, owned)
    return found


class _Narrowed(Changes):
    """Changes of some entities only; None is all."""

    def __init__(
        self,
        connection: Connection,
        ids: Ids,
        request: ChangesRequest,
        when: When,
        of: frozenset[EntityId] | None,
    ) -> None:
        super().__init__(connection, ids, request, when)
        self._of = of

    def entities(self) -> tuple[EntityId, ...]:
        """The entities asked for; none means all."""
        return tuple(sorted(self._of)) if self._of is not None else ()


def _changed(view: ChangesView) -> Iterable[Sentence]:
    """A sentence for each line of changes, the weightiest first; when it was seen is told by the title."""
    groups = {group.line: group for group in view.groups}
    singles: dict[str, list[ChangeView]] = {}
    for change in view.changes:
        singles.setdefault(change.line, []).append(change)
    refs = {(change.urn, change.aspect, change.key): change.ref for change in reversed(view.changes)}
    for line in view.lines:
        if line in groups:
            group = groups[line]
            ref = refs[group.urns[0], group.aspect, group.key]
            yield Sentence(topic=Topic.CHANGED, text=line, refs=(ref,), breaking=group.impact == Impact.BREAKING.word)
            continue
        change = singles[line].pop(0)
        is_breaking = change.impact == Impact.BREAKING.word
        text = say.line(
            what=line.partition(f": {change.said}")[0],
            said=change.said,
            is_breaking=is_breaking,
            downstream=change.downstream,
            by=change.by,
            hint=change.hint,
        )
        yield Sentence(topic=Topic.CHANGED, text=text, refs=(change.ref,), breaking=is_breaking)


def _waiting(
    ids: Ids, request: DigestRequest, items: InboxView, owned: frozenset[EntityId] | None
) -> Iterable[Sentence]:
    """What was contested or proposed in that time, and nobody has decided."""
    for item in items.items:
        inside = request.since <= from_datetime(item.since) <= request.until
        if item.decided or not inside or (owned is not None and ids.entity(item.urn) not in owned):
            continue
        text = f"{short_name(item.urn)}: {item.statement}, by {item.by}"
        if item.current is not None:
            text += f"; {item.current.by} said otherwise"
        yield Sentence(topic=_TOPICS[item.state], text=text, refs=(item.item.partition("@")[0],))


def _stale(facts: Facts, request: DigestRequest, owned: frozenset[EntityId] | None) -> Iterable[Sentence]:
    """What became stale in that time, and is not weak."""
    fresh = [
        one
        for one in facts.ranked()
        if one[0].at is not None
        and not one[0].is_weak
        and request.since <= one[0].at <= request.until
        and (owned is None or facts.ids.entity(one[1]) in owned)
    ]
    for view in facts.views(fresh):
        yield Sentence(topic=Topic.STALE, text=view.line, refs=view.refs[:1])


def _flapping(
    ids: Ids, request: DigestRequest, noisy: NoiseView, owned: frozenset[EntityId] | None
) -> Iterable[Sentence]:
    """The cells that changed again in that time and changed often before."""
    told = 0
    for cell in noisy.cells:
        entity = ids.entity(cell.urn)
        inside = request.since <= from_datetime(cell.last) <= request.until
        if cell.changes < _FLAPS_FROM or not inside or cell.source == NOTES or told == _MOST_FLAPPING:
            continue
        if owned is not None and entity not in owned:
            continue
        told += 1
        belief = ids.belief(entity, cell.source, cell.aspect, cell.key)
        text = f"{short_name(cell.urn)}: {say.what(cell.aspect, cell.key)} changed {cell.changes} times so far"
        yield Sentence(topic=Topic.FLAPPING, text=text, refs=(short_ref(belief),))
