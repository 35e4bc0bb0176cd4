"""Reconciling free text: what was said on one matter, by people, agents and documents, and what people decided. Pure.

A person's word goes before an agent's, an agent's before a document's; among equals the later one goes first. What
cannot prevail is contested, and what is for a person to decide proposed: both stand beside what is current.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from palimpsest.core.belief import State, Version
from palimpsest.core.episode import Episode, Ground
from palimpsest.core.jsontext import loads
from palimpsest.core.matter import Matter, Opinion, Opinions, same
from palimpsest.core.moment import Moment
from palimpsest.core.observer import Rank, rank_of
from palimpsest.core.verdict import Closed, Opened, Reason, Verdict, VerdictKind

PERSONS_ONLY = frozenset({"decision"})  # aspects in which only a person's word makes a version current
_OPEN = frozenset({State.CURRENT, State.CONTESTED, State.PROPOSED})
_UNASKED = Opinion(None)


class Decision(NamedTuple):
    """What a person decided in the inbox about a version, other than by saying what holds."""

    word: str  # reject or withdraw
    version: int | None


def decision_of(episode: Episode) -> Decision | None:
    """The decision in an episode; None where it is a text."""
    if episode.ground is not Ground.DECISION or episode.value is None:
        return None
    value = loads(episode.value)
    if not isinstance(value, dict):
        return None
    number = value.get("version")
    return Decision(str(value.get("decision")), number if isinstance(number, int) else None)


def reconcile_said(matter: Matter, so_far: Sequence[Version], opinions: Opinions) -> list[Verdict]:
    """The verdicts on what was said, in the order of the episodes, given a judge's opinions on the places asked.

    A decision on a matter of which nothing was ever held is given no verdict.
    """
    board = _Board(matter, so_far)
    asked = frozenset(matter.asked)
    places = {one.episode: place for place, one in enumerate(matter.statements) if one.episode is not None}
    verdicts: list[Verdict] = []
    for position, episode in enumerate(matter.cluster.episodes):
        decision = decision_of(episode)
        if decision is not None:
            verdict = board.decided(episode, decision)
        else:
            place = places.get(position)
            opinion = opinions.get(place, _UNASKED) if place is not None and place in asked else _UNASKED
            verdict = board.said(episode, place, opinion)
        if verdict is not None:
            verdicts.append(verdict)
    return verdicts


@dataclass(slots=True)
class _Held:
    """A version on the board: its state now, who of highest rank said it, the texts that state it."""

    number: int
    state: State
    since: Moment
    until: Moment | None
    rank: Rank
    observers: set[str]
    texts: list[str]

    @property
    def is_open(self) -> bool:
        """Whether it has not ended."""
        return self.state in _OPEN


class _Board:
    """The versions of one belief while what was said is gone through, in order."""

    def __init__(self, matter: Matter, so_far: Sequence[Version]) -> None:
        self.aspect = matter.cluster.aspect
        self.held = [_held(version) for version in so_far]
        self.numbers = {place: one.version for place, one in enumerate(matter.statements) if one.version is not None}
        self.texts = {place: one.text for place, one in enumerate(matter.statements)}

    @property
    def current(self) -> _Held | None:
        """The current version."""
        return next((one for one in self.held if one.state is State.CURRENT), None)

    def said(self, episode: Episode, place: int | None, opinion: Opinion) -> Verdict:
        """The verdict on a text."""
        text = str(loads(episode.value)) if episode.value is not None else ""
        restated = self._restated(text, opinion)
        verdict = self._on_text(episode, text, restated, opinion)
        number = verdict.opened.number if verdict.opened is not None else verdict.witness
        if place is not None and number is not None:
            self.numbers[place] = number
        return verdict

    def decided(self, episode: Episode, decision: Decision) -> Verdict | None:
        """The verdict on a decision: the versions that it ends; where it ends none, the one that it is evidence of."""
        if decision.word == "reject":
            meant = [one for one in self.held if one.number == decision.version]
            reason = Reason.REJECTED
        else:
            meant = [one for one in self.held if episode.observer in one.observers]
            meant = [one for one in meant if decision.version in {None, one.number}]
            reason = Reason.WITHDRAWN
        ending = [one for one in meant if one.is_open]
        if not self.held:
            return None
        if not ending:
            return Verdict(VerdictKind.RETRACT, episode, None, None, (meant or self.held)[-1].number)
        moment = episode.observed_at
        first, *others = [self._close(one, episode, moment, None, reason) for one in _current_first(ending)]
        return Verdict(VerdictKind.RETRACT, episode, None, first, None, tuple(others))

    def _restated(self, text: str, opinion: Opinion) -> _Held | None:
        """The version that a text restates: to the letter, whatever a judge holds; else by its opinion."""
        exact = [one for one in self.held if one.is_open and any(same(self.aspect, text, told) for told in one.texts)]
        if exact:
            return _current_first(exact)[0]
        number = self.numbers.get(opinion.restates) if opinion.restates is not None else None
        return next((one for one in self.held if one.number == number), None)

    def _on_text(self, episode: Episode, text: str, restated: _Held | None, opinion: Opinion) -> Verdict:
        current, rank = self.current, rank_of(episode.observer)
        is_exact = restated is not None and any(same(self.aspect, text, told) for told in restated.texts)
        is_sure = opinion.sure or is_exact or episode.ground is Ground.DECISION
        if restated is not None and restated.is_open and is_sure:
            if restated is current or not _settles(rank, restated, current, self.aspect):
                return self._reinforce(episode, text, restated)
            return self._prevail(episode, text, Reason.SETTLED, opinion, also=(restated,))
        if not is_sure:
            return self._beside(episode, text, State.PROPOSED, Reason.UNSURE, opinion, restated)
        if self.aspect in PERSONS_ONLY and rank < Rank.PERSON:
            return self._beside(episode, text, State.PROPOSED, Reason.NOT_DECIDED, opinion, restated)
        if current is None:
            reason = Reason.SAID_SINCE if self.held else Reason.SAID
            return self._prevail(episode, text, reason, opinion, restated)
        if rank < current.rank:
            return self._beside(episode, text, State.CONTESTED, Reason.CONTRADICTS, opinion, restated)
        if rank == current.rank and episode.observed_at < current.since:
            return self._beside(episode, text, State.CONTESTED, Reason.SAID_BEFORE, opinion, restated)
        reason = Reason.SAID_ABOVE if rank > current.rank else Reason.SAID_SINCE
        return self._prevail(episode, text, reason, opinion, restated)

    def _reinforce(self, episode: Episode, text: str, restated: _Held) -> Verdict:
        restated.texts.append(text)
        restated.observers.add(episode.observer)
        restated.rank = max(restated.rank, rank_of(episode.observer))
        return Verdict(VerdictKind.REINFORCE, episode, None, None, restated.number)

    def _prevail(
        self,
        episode: Episode,
        text: str,
        reason: Reason,
        opinion: Opinion,
        restated: _Held | None = None,
        *,
        also: Iterable[_Held] = (),
    ) -> Verdict:
        """A new current version: in place of the one before it, and of what is open beside it and it outranks."""
        before = self.current
        rank = rank_of(episode.observer)
        ends = [one for one in self.held if one is before or one in also or _gives_way(one, rank)]
        opened = self._open(episode, text, State.CURRENT, reason, opinion, restated)
        told = opinion.reason or reason
        closed = [self._close(one, episode, opened.valid_from, opened.number, told) for one in _current_first(ends)]
        if before is None:
            return Verdict(VerdictKind.OPEN, episode, opened, None, None, tuple(closed))
        return Verdict(VerdictKind.SUPERSEDE, episode, opened, closed[0], None, tuple(closed[1:]))

    def _beside(
        self, episode: Episode, text: str, state: State, reason: Reason, opinion: Opinion, restated: _Held | None
    ) -> Verdict:
        """A version beside the current one, in place of an older one that was open beside it in the same way."""
        rank = rank_of(episode.observer)
        older = [
            one
            for one in self.held
            if one.state is state
            and (one.rank == rank if state is State.CONTESTED else episode.observer in one.observers)
        ]
        opened = self._open(episode, text, state, reason, opinion, restated)
        closed = tuple(self._close(one, episode, opened.valid_from, opened.number, Reason.SAID_SINCE) for one in older)
        return Verdict(VerdictKind.CONTEST, episode, opened, None, None, closed)

    def _open(
        self, episode: Episode, text: str, state: State, reason: Reason, opinion: Opinion, restated: _Held | None
    ) -> Opened:
        moment = episode.observed_at
        if state is State.CURRENT:
            moment = max([moment, *(one.since for one in self.held if one.state is State.CURRENT), *self._ends()])
        number = self.held[-1].number + 1 if self.held else 1
        told = opinion.reason or str(reason)
        if state is not State.CURRENT:
            told = f"{state.value}: {told}"
        reverts = self._reverts_to(text, restated)
        if reverts is not None:
            told = f"{told}; it is what version {reverts} said"
        self.held.append(_Held(number, state, moment, None, rank_of(episode.observer), {episode.observer}, [text]))
        return Opened(number, episode, moment, None, told, reverts, state)

    def _reverts_to(self, text: str, restated: _Held | None) -> int | None:
        """The newest version that has ended and said the same."""
        ended = [one for one in self.held if not one.is_open]
        same_again = [one for one in ended if one is restated or any(same(self.aspect, text, t) for t in one.texts)]
        return same_again[-1].number if same_again else None

    def _ends(self) -> list[Moment]:
        """When versions ended: none begins to be current before that."""
        return [one.until for one in self.held if one.until is not None]

    def _close(self, one: _Held, episode: Episode, moment: Moment, successor: int | None, reason: str) -> Closed:
        one.state = State.SUPERSEDED if successor is not None else State.RETRACTED
        one.until = max(moment, one.since)
        return Closed(one.number, one.until, successor, episode, str(reason))


def _held(version: Version) -> _Held:
    said = [loads(text) for text in (version.value, version.wording) if text is not None]
    texts = [text for text in said if isinstance(text, str)]
    rank, observers = rank_of(version.observer), {version.observer}
    return _Held(version.number, version.state, version.valid_from, version.valid_to, rank, observers, texts)


def _current_first(held: Sequence[_Held]) -> list[_Held]:
    return sorted(held, key=lambda one: (one.state is not State.CURRENT, one.number))


def _gives_way(one: _Held, rank: Rank) -> bool:
    """Whether an open version beside the current one is settled by a word of that rank."""
    if one.state is State.CONTESTED:
        return one.rank <= rank
    return one.state is State.PROPOSED and rank is Rank.PERSON


def _settles(rank: Rank, restated: _Held, current: _Held | None, aspect: str) -> bool:
    """Whether to restate an open version that is not current makes it so."""
    if restated.state is State.PROPOSED or aspect in PERSONS_ONLY:
        return rank is Rank.PERSON
    return current is None or rank >= current.rank
