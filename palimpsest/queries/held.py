"""What held at a time, as known at a time: the one place where versions and existence become "current" (R12).

A question has two times: `as_of`, about when; `known_at`, by whose knowledge. None means now.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from palimpsest.core import forgetting, say
from palimpsest.core.aspects import ASPECTS, existence
from palimpsest.core.aspects.aspect import Impact, Json
from palimpsest.core.belief import State, held_at, is_current
from palimpsest.core.episode import Kind, credible
from palimpsest.core.ids import BeliefId, EntityId, belief_ref, short_ref
from palimpsest.core.jsontext import loads
from palimpsest.core.moment import Moment, to_datetime
from palimpsest.core.observer import NOTES, said_by
from palimpsest.core.verdict import VerdictKind
from palimpsest.store.answers import Remembered, Seen, Wording

EXISTENCE = "existence"
Interval = tuple[Moment | None, Moment | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class When:
    """The two times of a question, and the time at which it is asked."""

    now: Moment
    as_of: Moment | None = None
    known_at: Moment | None = None

    @property
    def moment(self) -> Moment:
        """The time that the answer is about."""
        if self.as_of is not None:
            return self.as_of
        return self.known_at if self.known_at is not None else self.now

    @property
    def is_now(self) -> bool:
        """Whether the question is about now, as known now."""
        return self.as_of is None and self.known_at is None

    def knows(self, version: Remembered) -> bool:
        """Whether a version was recorded by then."""
        return self.known_at is None or version.recorded_at <= self.known_at

    def holds(self, version: Remembered) -> bool:
        """Whether a version held at the time of the question, its entity's existence apart."""
        return held_at(
            valid_from=version.valid_from,
            valid_to=version.valid_to,
            recorded_at=version.recorded_at,
            closed_at=version.closed_at,
            as_of=self.as_of,
            known_at=self.known_at,
        )

    def worded(self, version: Remembered) -> Remembered:
        """A version in the words in which it was stated at the time of the question, with the wordings up to then."""
        if version.first_worded is None:
            return version
        heard = tuple(one for one in version.wordings if self._heard(one))
        if heard:
            return version._replace(value=heard[-1].value, wordings=heard)
        return version._replace(value=version.first_worded, wordings=(), first_worded=None)

    def _heard(self, wording: Wording) -> bool:
        if self.known_at is not None and wording.recorded_at is not None and wording.recorded_at > self.known_at:
            return False
        return self.as_of is None or wording.said_at <= self.as_of

    def ended(self, version: Remembered) -> Moment | None:
        """When a version ceased to hold, as far as it was known by then."""
        if self.known_at is not None and version.closed_at is not None and version.closed_at > self.known_at:
            return None
        return version.valid_to


class Presence:
    """When entities existed, by what each source says. Silence is not absence: unsaid counts as existing."""

    def __init__(self, versions: Iterable[Remembered], when: When) -> None:
        self._when = when
        self._said: dict[tuple[EntityId, str], list[Remembered]] = {}
        self._sources: dict[EntityId, dict[str, list[Remembered]]] = {}
        for version in versions:
            if version.aspect == EXISTENCE and when.knows(version):
                said = self._said.setdefault((version.entity, version.source), [])
                said.append(version)
                self._sources.setdefault(version.entity, {})[version.source] = said

    def said(self, entity: EntityId, source: str) -> Remembered | None:
        """The version of existence that a source holds at the time of the question; the first one before its time."""
        found = self._said.get((entity, source), [])
        held = next((version for version in reversed(found) if self._when.holds(version)), None)
        return held or (found[0] if found else None)

    def exists(self, entity: EntityId, source: str) -> bool:
        """Whether the entity exists at the time of the question, by what a source says; for notes, by what any says."""
        if source == NOTES:
            return self.exists_for_any(entity, self._sources.get(entity, ()))
        said = self.said(entity, source)
        return said is None or existence.exists(loads(said.value))

    def exists_for_any(self, entity: EntityId, sources: Iterable[str]) -> bool:
        """Whether any of the sources that say something of the entity holds that it exists."""
        speaking = [source for source in sources if (entity, source) in self._said]
        return not speaking or any(self.exists(entity, source) for source in speaking)

    def clipped(self, version: Remembered) -> list[Interval]:
        """The intervals in which a version held and its entity existed; None stands for an open end."""
        end = self._when.ended(version)
        if version.aspect == EXISTENCE:
            return [(version.valid_from, end)]
        if version.source == NOTES:
            others = [self._clip(version, said) for said in self._sources.get(version.entity, {}).values()]
            return _joined([one for some in others for one in some]) if others else [(version.valid_from, end)]
        return self._clip(version, self._said.get((version.entity, version.source), []))

    def _clip(self, version: Remembered, said: Sequence[Remembered]) -> list[Interval]:
        """The intervals in which a version held and its entity existed, by what one source says of that."""
        end = self._when.ended(version)
        if not said:
            return [(version.valid_from, end)]
        intervals: list[Interval] = []
        for position, one in enumerate(said):
            if not existence.exists(loads(one.value)):
                continue
            start = version.valid_from if position == 0 else max(version.valid_from, one.valid_from)
            gone = self._when.ended(one)
            stop = end if gone is None else gone if end is None else min(gone, end)
            if stop is None or start < stop:
                intervals.append((start, stop))
        return intervals


def _joined(intervals: Sequence[Interval]) -> list[Interval]:
    """Intervals that touch or overlap as one; None is an open end."""
    joined: list[Interval] = []
    for start, end in sorted(intervals, key=lambda one: one[0] or Moment(0)):
        last = joined[-1][1] if joined else None
        if joined and (last is None or (start is not None and start <= last)):
            joined[-1] = (joined[-1][0], None if last is None or end is None else max(last, end))
        else:
            joined.append((start, end))
    return joined


def current(versions: Sequence[Remembered], when: When, presence: Presence | None = None) -> list[Remembered]:
    """The versions that are current at the time of the question, as they were worded then.

    `versions` must hold their entities' existence.
    """
    here = presence or Presence(versions, when)
    return [
        when.worded(version)
        for version, state, exists in _open_at(versions, when, here)
        if is_current(state, exists=exists)
    ]


def beside(versions: Sequence[Remembered], when: When, presence: Presence | None = None) -> list[Remembered]:
    """What is contested or proposed at the time of the question: shown beside what is current, and never as current."""
    here = presence or Presence(versions, when)
    return [
        when.worded(version)
        for version, state, exists in _open_at(versions, when, here)
        if exists and state in {State.CONTESTED, State.PROPOSED}
    ]


def _open_at(versions: Sequence[Remembered], when: When, here: Presence) -> Iterator[tuple[Remembered, State, bool]]:
    """The versions that held at the time of the question, each with its state then, and whether its entity existed."""
    for version in versions:
        if not when.knows(version) or not when.holds(version):
            continue
        exists = version.aspect == EXISTENCE or here.exists(version.entity, version.source)
        yield version, state_then(version), exists


def state_then(version: Remembered) -> State:
    """The state of a version while it held: one that has ended since was then what it was opened as."""
    if version.state in {State.SUPERSEDED, State.RETRACTED}:
        return version.opened_as
    return version.state


def state_at(version: Remembered, when: When) -> State:
    """The state of a version as it was known at the time of the question."""
    ended = version.state in {State.SUPERSEDED, State.RETRACTED}
    return version.opened_as if ended and when.holds(version) else version.state


def by_belief(versions: Iterable[Remembered]) -> dict[BeliefId, list[Remembered]]:
    """Versions by belief, each in order of their numbers."""
    found: dict[BeliefId, list[Remembered]] = {}
    for version in versions:
        found.setdefault(version.belief, []).append(version)
    return found


def revisions(versions: Sequence[Remembered], upto: int, when: When) -> int:
    """How often a belief was revised up to a version: every version that is neither a first reading nor quiet.

    Of what was said, only what took the place of something current revised it.
    """
    return sum(1 for version in versions if version.number <= upto and when.knows(version) and is_revision(version))


def is_revision(version: Remembered) -> bool:
    """Whether a version revised its belief."""
    seen = version.founded
    if seen.kind is Kind.SAID:
        return seen.verdict == VerdictKind.SUPERSEDE
    return seen.kind is not Kind.FIRST and seen.impact > Impact.QUIET


def began(version: Remembered, chain: Sequence[Remembered], when: When) -> Remembered:
    """Where what a version states began: itself, or what a backfill found of it before it was first read."""
    earliest = version
    form = ASPECTS[version.aspect].canonical
    for earlier in reversed([one for one in chain if one.number < version.number and when.knows(one)]):
        continues = earliest.founded.kind is Kind.FIRST and earlier.successor == earliest.number
        forgotten = earlier.founded.forgotten_at is not None  # and equals nothing
        if not continues or forgotten or form(loads(earlier.value)) != form(loads(earliest.value)):
            break
        earliest = earlier
    return earliest


# --- views ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityView:
    """An entity, named."""

    urn: str
    name: str
    kind: str
    platform: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceView:
    """One episode as evidence: which source saw it between when and when, in which run, and who wrote it by when.

    `stamped` is the catalog's own time, where it is credible; `by` the person or agent, empty for ingestion;
    `forgotten` when the text was.
    """

    episode: int
    kind: str
    impact: str
    baseline: bool
    source: str
    observed: datetime
    not_yet_at: datetime | None
    stamped: datetime | None
    actor: str
    by: str
    catalog_run: str
    run: str
    forgotten: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BeliefView:
    """A version of a belief as it is shown: what it states, since when, and how often it was revised before.

    `confidence` is the probability that it is still true, `confirmed` when a reading last bore it out; None where it is
    not current, and where nobody asked. `state` is the version's at the time of the question: what is `contested` or
    `proposed` is shown beside what is current.
    """

    id: str
    ref: str
    version: int
    urn: str
    source: str
    aspect: str
    key: str
    statement: str
    value: Json
    since: datetime
    since_text: str
    by: str
    revised: int
    state: str = State.CURRENT.value
    confidence: float | None = None
    confirmed: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sure:
    """The probability that a belief is still true, and when it was last confirmed."""

    confidence: float
    confirmed: datetime


def statement(version: Remembered) -> str:
    """What a version states; of one whose text was forgotten, that it was."""
    forgotten_at = version.founded.forgotten_at
    if forgotten_at is not None:
        return f"{say.what(version.aspect, version.key)}: {forgetting.said(forgotten_at)}"
    return say.statement(version.aspect, version.key, loads(version.value))


def moment_view(moment: Moment | None) -> datetime | None:
    """A moment as views carry it."""
    return to_datetime(moment) if moment is not None else None


def since_text(version: Remembered) -> str:
    """Since when, in words."""
    seen = version.founded
    first = seen.kind is Kind.FIRST and version.valid_from == seen.observed_at and version.valid_after is None
    return say.since(version.valid_from, version.valid_after, at_least=first)


def author(seen: Seen) -> str:
    """Who said what an episode holds, or wrote what it saw: where the catalog names a person and its stamp is not of an
    earlier touch.
    """
    if seen.observer:
        return said_by(seen.observer)
    if seen.stamped_at and credible(seen.stamped_at, seen.after_at, seen.observed_at) is None:
        return ""
    return say.person(seen.actor)


def evidence_view(seen: Seen, source: str) -> EvidenceView:
    """An episode as evidence."""
    stamped = credible(seen.stamped_at, seen.after_at, seen.observed_at)
    return EvidenceView(
        episode=seen.number,
        kind=seen.kind.value,
        impact=seen.impact.word,
        baseline=seen.baseline,
        source=source,
        observed=to_datetime(seen.observed_at),
        not_yet_at=moment_view(seen.after_at),
        stamped=moment_view(stamped),
        actor=seen.actor,
        by=author(seen),
        catalog_run=seen.catalog_run,
        run=seen.run.hex(),
        forgotten=moment_view(seen.forgotten_at),
    )


def belief_view(
    version: Remembered, urn: str, chain: Sequence[Remembered], when: When, sure: Sure | None = None
) -> BeliefView:
    """A version as it is shown, in the words of the time of the question. `chain` holds the versions of its belief."""
    version = when.worded(version)
    value = loads(version.value)
    since = began(version, chain, when)
    return BeliefView(
        id=belief_ref(version.belief),
        ref=short_ref(version.belief),
        version=version.number,
        urn=urn,
        source=version.source,
        aspect=version.aspect,
        key=version.key,
        statement=statement(version),
        value=value,
        since=to_datetime(since.valid_from),
        since_text=since_text(since),
        by=author(since.founded),
        revised=revisions(chain, version.number, when),
        state=state_at(version, when).value,
        confidence=sure.confidence if sure is not None else None,
        confirmed=sure.confirmed if sure is not None else None,
    )
