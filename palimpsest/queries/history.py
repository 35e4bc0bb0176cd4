"""history and why: every version of a belief, the older layers under the current one, each with its evidence."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from palimpsest.core import say
from palimpsest.core.aspects import ASPECTS
from palimpsest.core.aspects.aspect import Impact, Json
from palimpsest.core.aspects.sets import members_of
from palimpsest.core.aspects.words import label_of
from palimpsest.core.belief import State
from palimpsest.core.errors import UsageError
from palimpsest.core.ids import BeliefId, belief_ref, short_ref
from palimpsest.core.jsontext import loads
from palimpsest.core.moment import to_datetime
from palimpsest.core.observer import said_by
from palimpsest.queries import entities, held
from palimpsest.queries.held import EntityView, EvidenceView, Presence, When
from palimpsest.queries.held_entity import HeldEntity, held_entity
from palimpsest.store import answers
from palimpsest.store.answers import Named, Remembered, Seen
from palimpsest.store.engine import Connection, Store

_HEX = re.compile(r"[0-9a-fA-F]{6,32}")
_ENTITY_DIGITS = 6
_MOST_NAMED = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class IntervalView:
    """A time in which a version held and its entity existed; None is an open end."""

    start: datetime | None
    end: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberView:
    """A member of a set, and since when it has been in it without a break."""

    member: tuple[str, ...]
    label: str
    since: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class RewordingView:
    """How a version was worded before, or how somebody said it again: what, since when, by whom, who judged it so."""

    statement: str
    at: datetime
    by: str
    judge: str


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionView:
    """One layer: what it states, when that held, when it was recorded, why it was opened and ended, and its evidence.

    `current` is told by the one function that decides it; `ended_by` is the episode that ended it: the successor's
    founding one, or the one that retracted it. `rewordings` are the wordings of a version that was said in several, the
    oldest first; `statement` is the newest. `beside` is `contested` or `proposed` for a version that was opened so: it
    never was current.
    """

    number: int
    state: str
    current: bool
    quiet: bool
    statement: str
    value: Json
    since: datetime
    since_text: str
    until: datetime | None
    held: tuple[IntervalView, ...]
    recorded: datetime
    closed: datetime | None
    reason: str
    ended_reason: str
    reverts_to: int | None
    successor: int | None
    judge: str
    judged_in: str
    evidence: EvidenceView
    ended_by: EvidenceView | None
    rewordings: tuple[RewordingView, ...] = ()
    beside: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BeliefHistory:
    """Every version of one belief, the newest first; for a set, its members and since when.

    `confidence` and `confirmed` are of the current version, None where there is none.
    """

    id: str
    ref: str
    urn: str
    source: str
    aspect: str
    key: str
    what: str
    versions: tuple[VersionView, ...]
    members: tuple[MemberView, ...]
    confidence: float | None = None
    confirmed: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryView:
    """The history of an entity, by rank of aspect."""

    entity: EntityView
    beliefs: tuple[BeliefHistory, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WhyView:
    """Why a belief is held: the entity, whether it exists, and the belief's versions with their evidence."""

    entity: EntityView
    exists: bool
    belief: BeliefHistory


def history(store: Store, text: str, aspect: str | None, key: str | None, when: When) -> HistoryView:
    """The history of the entity that `text` names, or of one aspect and key of it. Raises UsageError."""
    if aspect is not None and aspect not in ASPECTS:
        raise UsageError(f"{aspect!r} is no aspect", f"one of: {', '.join(sorted(ASPECTS))}")
    return store.read(lambda connection: _history(connection, text, aspect, key, when))


def why(store: Store, text: str, when: When) -> WhyView:
    """What a belief rests on. `text` is its id, or an unambiguous beginning of it. Raises UsageError."""
    return store.read(lambda connection: _why(connection, text, when))


def _history(connection: Connection, text: str, aspect: str | None, key: str | None, when: When) -> HistoryView:
    found = held_entity(connection, entities.resolve(connection, text), when)
    wanted = [one for one in found.versions if aspect in (None, one.aspect) and key in (None, one.key)]
    known = [one for one in wanted if when.knows(one)]
    if found.versions and not known and aspect is not None:
        _complain(found.named, found.versions, aspect, key)
    views = _histories(connection, found, held.by_belief(known), when)
    return HistoryView(entity=entities.entity_view(found.named), beliefs=views)


def histories_of(connection: Connection, found: HeldEntity, when: When) -> tuple[BeliefHistory, ...]:
    """The history of every belief about an entity that was loaded."""
    known = [one for one in found.versions if when.knows(one)]
    return _histories(connection, found, held.by_belief(known), when)


def _complain(entity: Named, versions: Sequence[Remembered], aspect: str, key: str | None) -> None:
    keys = sorted({one.key for one in versions if one.aspect == aspect})
    name = f"{aspect} {key!r}" if key is not None else aspect
    if key is not None and keys:
        hint = f"its keys: {say.list_of(keys, 10)}"
    else:
        hint = f"it has: {', '.join(sorted({one.aspect for one in versions}))}"
    raise UsageError(f"nothing is remembered of {name} of {entity.name}", hint)


def _why(connection: Connection, text: str, when: When) -> WhyView:
    belief = _belief(connection, text)
    own = answers.versions_of_beliefs(connection, [belief])
    named = answers.entities_by_id(connection, [own[0].entity])
    entity = named[own[0].entity]
    found = held_entity(connection, entity, when)
    known = {belief: [one for one in own if when.knows(one)]}
    if not known[belief]:
        raise UsageError(f"the belief {text} was not held by then", "ask with a later --known-at")
    view = _histories(connection, found, known, when)[0]
    exists = found.presence.exists(entity.id, own[0].source)
    return WhyView(entity=entities.entity_view(entity), exists=exists, belief=view)


def _belief(connection: Connection, text: str) -> BeliefId:
    """The one belief whose id begins so, or whose short name it is. Raises UsageError."""
    digits = text.strip().lower()
    if not _HEX.fullmatch(digits):
        raise UsageError(f"{text!r} is no belief", "give 6 to 32 hexadecimal digits, as palimpsest beliefs shows them")
    found = answers.beliefs_beginning(connection, *_bounds(digits))
    if len(found) != 1 and len(digits) > _ENTITY_DIGITS:
        rest = digits[_ENTITY_DIGITS:]
        around = answers.beliefs_beginning(connection, *_bounds(digits[:_ENTITY_DIGITS]))
        found = found or [one for one in around if one[8:].hex().startswith(rest)]
    if len(found) == 1:
        return found[0]
    if not found:
        raise UsageError(f"no belief {text!r}", "palimpsest beliefs lists them")
    versions = {one.belief: one for one in answers.versions_of_beliefs(connection, found[:_MOST_NAMED])}
    named = [f"{short_ref(one.belief)} ({held.statement(one)})" for one in versions.values()]
    more = " and more" if len(found) > _MOST_NAMED else ""
    raise UsageError(f"{text!r} can mean any of {len(named)}{more}: {'; '.join(named)}", "give more digits")


def _bounds(digits: str) -> tuple[bytes, bytes]:
    return bytes.fromhex(digits.ljust(32, "0")), bytes.fromhex(digits.ljust(32, "f"))


# --- views ------------------------------------------------------------------------------------------------------


def _histories(
    connection: Connection,
    found: HeldEntity,
    chains: Mapping[BeliefId, Sequence[Remembered]],
    when: When,
) -> tuple[BeliefHistory, ...]:
    """Chains of an entity as they are shown."""
    endings = answers.endings_of(
        connection, [belief for belief, chain in chains.items() if any(one.successor is None for one in chain)]
    )
    ordered = sorted(chains.values(), key=lambda chain: _rank(chain[0]))
    views = (_chain(chain, found.named.urn, found.presence, endings, when) for chain in ordered)
    return tuple(
        replace(view, confidence=one.confidence, confirmed=one.confirmed) if one is not None else view
        for view, one in zip(views, (found.sure.get(chain[0].belief) for chain in ordered), strict=True)
    )


def _rank(version: Remembered) -> tuple[int, str, str, str]:
    return ASPECTS[version.aspect].rank, version.aspect, version.key, version.source


def _chain(
    chain: Sequence[Remembered],
    urn: str,
    presence: Presence,
    endings: Mapping[tuple[BeliefId, int], Seen],
    when: When,
) -> BeliefHistory:
    first = chain[0]
    current = {one.number for one in held.current(chain, when, presence)}
    by_number = {one.number: one for one in chain}
    views = []
    for one in reversed(chain):
        ended = when.ended(one)
        by: Seen | None = None
        if ended is not None:
            by = (
                by_number[one.successor].founded
                if one.successor in by_number
                else endings.get((one.belief, one.number))
            )
        views.append(_version(one, by, presence, when, current=one.number in current))
    return BeliefHistory(
        id=belief_ref(first.belief),
        ref=short_ref(first.belief),
        urn=urn,
        source=first.source,
        aspect=first.aspect,
        key=first.key,
        what=say.what(first.aspect, first.key),
        versions=tuple(views),
        members=_members([one for one in chain if when.as_of is None or one.valid_from <= when.as_of], when),
    )


def _version(one: Remembered, by: Seen | None, presence: Presence, when: When, *, current: bool) -> VersionView:
    one = when.worded(one)
    value = loads(one.value)
    ended = when.ended(one)
    state = one.state if ended is not None or one.valid_to is None else one.opened_as
    return VersionView(
        number=one.number,
        state=state.value,
        current=current,
        quiet=one.founded.impact is Impact.QUIET,
        statement=held.statement(one),
        value=value,
        since=to_datetime(one.valid_from),
        since_text=held.since_text(one),
        until=held.moment_view(ended),
        held=tuple(
            IntervalView(start=held.moment_view(start), end=held.moment_view(end))
            for start, end in presence.clipped(one)
        ),
        recorded=to_datetime(one.recorded_at),
        closed=held.moment_view(one.closed_at) if ended is not None else None,
        reason=one.reason,
        ended_reason=one.ended_reason if ended is not None else "",
        reverts_to=one.reverts_to,
        successor=one.successor if ended is not None else None,
        judge=one.judge,
        judged_in=one.run.hex(),
        evidence=held.evidence_view(one.founded, one.source),
        ended_by=held.evidence_view(by, one.source) if by is not None else None,
        rewordings=_rewordings(one),
        beside=one.opened_as.value if one.opened_as is not State.CURRENT else "",
    )


def _rewordings(one: Remembered) -> tuple[RewordingView, ...]:
    """The wordings of a version in order, its founding one first; none where there is only one."""
    if one.first_worded is None:
        return ()
    first = one._replace(value=one.first_worded)
    began, by = to_datetime(one.valid_from), held.author(one.founded)
    told = [RewordingView(statement=held.statement(first), at=began, by=by, judge="")]
    told += [
        RewordingView(
            statement=held.statement(one._replace(value=said.value)),
            at=to_datetime(said.said_at),
            by=said_by(said.observer) if said.observer else "",
            judge=said.judge,
        )
        for said in one.wordings
    ]
    return tuple(told)


def _members(chain: Sequence[Remembered], when: When) -> tuple[MemberView, ...]:
    """Since when each member of the last version's set is in it; a belief that ended in between begins anew."""
    unbroken: list[Remembered] = []
    for one in chain:
        if unbroken and unbroken[-1].successor != one.number:
            unbroken = []
        unbroken.append(one)
    if not unbroken or not when.holds(unbroken[-1]) or unbroken[-1].aspect == "attribute":
        return ()
    since = say.members_since([(one.valid_from, loads(one.value)) for one in unbroken])
    if not members_of(loads(unbroken[-1].value)):
        return ()
    return tuple(
        MemberView(member=member, label=label_of(member[0]), since=to_datetime(moment))
        for member, moment in sorted(since.items())
    )
