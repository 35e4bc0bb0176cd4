"""What held at a time, as known at a time: the one place where versions and existence become "current" (R12).

A question has two times: `as_of`, about when; `known_at`, by whose knowledge. None means now.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from palimpsest.core import say
from palimpsest.core.aspects import ASPECTS, existence
from palimpsest.core.aspects.aspect import Impact, Json
from palimpsest.core.belief import State, held_at, is_current
from palimpsest.core.episode import Kind, credible
from palimpsest.core.ids import BeliefId, EntityId, belief_ref, short_ref
from palimpsest.core.jsontext import loads
from palimpsest.core.moment import Moment, to_datetime
from palimpsest.store.answers import Remembered, Seen

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
        for version in versions:
            if version.aspect == EXISTENCE and when.knows(version):
                self._said.setdefault((version.entity, version.source), []).append(version)

    def said(self, entity: EntityId, source: str) -> Remembered | None:
        """The version of existence that a source holds at the time of the question; the first one before its time."""
        found = self._said.get((entity, source), [])
        held = next((version for version in reversed(found) if self._when.holds(version)), None)
        return held or (found[0] if found else None)

    def exists(self, entity: EntityId, source: str) -> bool:
        """Whether the entity exists at the time of the question, by what a source says."""
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
        said = self._said.get((version.entity, version.source), [])
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


def current(versions: Sequence[Remembered], when: When, presence: Presence | None = None) -> list[Remembered]:
    """The versions that are current at the time of the question. `versions` must hold their entities' existence."""
    here = presence or Presence(versions, when)
    found = []
    for version in versions:
        if not when.knows(version) or not when.holds(version):
            continue
        exists = version.aspect == EXISTENCE or here.exists(version.entity, version.source)
        if is_current(_state_then(version), exists=exists):
            found.append(version)
    return found


def _state_then(version: Remembered) -> State:
    """The state of a version while it held: one that has ended since was current then."""
    if version.state in {State.SUPERSEDED, State.RETRACTED}:
        return State.CURRENT
    return version.state


def by_belief(versions: Iterable[Remembered]) -> dict[BeliefId, list[Remembered]]:
    """Versions by belief, each in order of their numbers."""
    found: dict[BeliefId, list[Remembered]] = {}
    for version in versions:
        found.setdefault(version.belief, []).append(version)
    return found


def revisions(versions: Sequence[Remembered], upto: int, when: When) -> int:
    """How often a belief was revised up to a version: every version that is neither a first reading nor quiet."""
    return sum(
        1
        for version in versions
        if version.number <= upto
        and when.knows(version)
        and version.founded.kind is not Kind.FIRST
        and version.founded.impact > Impact.QUIET
    )


def began(version: Remembered, chain: Sequence[Remembered], when: When) -> Remembered:
    """Where what a version states began: itself, or what a backfill found of it before it was first read."""
    earliest = version
    form = ASPECTS[version.aspect].canonical
    for earlier in reversed([one for one in chain if one.number < version.number and when.knows(one)]):
        continues = earliest.founded.kind is Kind.FIRST and earlier.successor == earliest.number
        if not continues or form(loads(earlier.value)) != form(loads(earliest.value)):
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

    `stamped` is the catalog's own time, where it is credible; `by` the person, empty for ingestion.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class BeliefView:
    """A version of a belief as it is shown: what it states, since when, and how often it was revised before."""

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


def moment_view(moment: Moment | None) -> datetime | None:
    """A moment as views carry it."""
    return to_datetime(moment) if moment is not None else None


def since_text(version: Remembered) -> str:
    """Since when, in words."""
    seen = version.founded
    first = seen.kind is Kind.FIRST and version.valid_from == seen.observed_at and version.valid_after is None
    return say.since(version.valid_from, version.valid_after, at_least=first)


def author(seen: Seen) -> str:
    """Who wrote what an episode saw, where the catalog names a person and its stamp is not of an earlier touch."""
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
    )


def belief_view(version: Remembered, urn: str, chain: Sequence[Remembered], when: When) -> BeliefView:
    """A version as it is shown. `chain` holds the versions of its belief."""
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
        statement=say.statement(version.aspect, version.key, value),
        value=value,
        since=to_datetime(since.valid_from),
        since_text=since_text(since),
        by=author(since.founded),
        revised=revisions(chain, version.number, when),
    )
