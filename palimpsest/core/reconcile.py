"""Reconciling: what pending episodes do to the versions of one belief. Pure.

Every episode of a catalog that differs founds one version, in order, but for text that only says the same in other
words; a removal ends the current one. What is said in free text is reconciled in `reconcile_said`.
"""

from __future__ import annotations

from collections.abc import Sequence

from palimpsest.core.aspects import ASPECTS
from palimpsest.core.belief import State, Version
from palimpsest.core.cluster import Cluster
from palimpsest.core.episode import Episode, Ground, Kind, credible
from palimpsest.core.jsontext import dumps, loads
from palimpsest.core.judging import opinions_of
from palimpsest.core.matter import Matter, Opinion, Opinions, before_versions, matter_of, statements_of
from palimpsest.core.moment import Moment
from palimpsest.core.reconcile_said import reconcile_said
from palimpsest.core.verdict import Closed, Judged, Opened, Reason, Verdict, VerdictKind

__all__ = [
    "Closed",
    "Judged",
    "Opened",
    "Reason",
    "RulesJudge",
    "Verdict",
    "VerdictKind",
    "judged",
    "reconcile",
    "reconcile_before",
]


class RulesJudge:
    """The rules as a judge: exact and free, never in doubt about a structured aspect, careful about text.

    `leaves_matters`: what is a matter of text is left out of the answer, for another judge.
    """

    name = "rules"

    def __init__(self, *, leaves_matters: bool = False) -> None:
        self._leaves_matters = leaves_matters

    def judge(self, clusters: Sequence[tuple[Cluster, Sequence[Version]]]) -> list[Judged]:
        """The verdicts on each cluster; with it come the versions of its belief so far, by number."""
        found = []
        for cluster, so_far in clusters:
            matter = matter_of(cluster, so_far)
            if matter is None:
                found.append(judged(cluster, so_far))
            elif not self._leaves_matters:
                found.append(judged(cluster, so_far, opinions_of(matter), self.name))
        return found


_NO_OPINIONS: Opinions = {}


def judged(
    cluster: Cluster, so_far: Sequence[Version], opinions: Opinions = _NO_OPINIONS, judge: str = "rules"
) -> Judged:
    """The verdicts on one cluster, given what a judge holds of its texts: of those places of its matter that are asked.

    `judge` names who gave the opinions. What is not a matter needs none.
    """
    if not so_far and len(cluster.episodes) == 1 and cluster.opens_a_belief:
        return Judged(cluster, [], None, [_first(cluster.episodes[0])], None, judge)
    current = next((version for version in so_far if version.state is State.CURRENT), None)
    if cluster.episodes[0].kind is Kind.SAID:
        verdicts = reconcile_said(statements_of(cluster, so_far), so_far, opinions)
        return Judged(cluster, [], None, verdicts, current, judge)
    earlier = before_versions(cluster, so_far)
    restated = _Restated(statements_of(cluster, so_far), opinions) if opinions else None
    before, tail = reconcile_before(cluster.aspect, so_far[0], earlier, restated) if earlier else ([], None)
    last = so_far[-1].number if so_far else 0
    values = [(version.number, value) for version in so_far for value in (version.value, version.wording)]
    ended = so_far[-1].valid_to if so_far else None
    later = cluster.episodes[len(earlier) :]
    verdicts = reconcile(cluster.aspect, current, last, values, later, ended, restated)
    return Judged(cluster, before, tail, verdicts, current, judge)


def _first(episode: Episode) -> Verdict:
    """The verdict on what is read for the first time: nearly all that there is, so it is told without further ado."""
    opened = Opened(1, episode, _valid_from(episode), _valid_after(episode), Reason.FIRST_SEEN.value, None)
    return Verdict(VerdictKind.OPEN, episode, opened, None)


class _Restated:
    """The opinions on a catalog's texts, by episode, and which version each earlier text turned out to be of."""

    def __init__(self, matter: Matter, opinions: Opinions) -> None:
        episodes = matter.cluster.episodes
        self._places = {
            (episodes[one.episode].cell, episodes[one.episode].number): place
            for place, one in enumerate(matter.statements)
            if one.episode is not None
        }
        self._opinions = {place: opinions[place] for place in matter.asked if place in opinions}
        self._numbers = {place: one.version for place, one in enumerate(matter.statements) if one.version is not None}

    def opinion(self, episode: Episode) -> tuple[Opinion | None, int | None]:
        """What is held of an episode, and the version that it restates."""
        found = self._opinions.get(self._places.get((episode.cell, episode.number), -1))
        restates = None if found is None or found.restates is None else self._numbers.get(found.restates)
        return found, restates

    def note(self, episode: Episode, number: int) -> None:
        """Remember which version an episode founded or bore out."""
        place = self._places.get((episode.cell, episode.number))
        if place is not None:
            self._numbers[place] = number


def reconcile(
    aspect: str,
    current: Version | None,
    last_number: int,
    earlier: Sequence[tuple[int, str | None]],
    episodes: Sequence[Episode],
    ended: Moment | None = None,
    restated: _Restated | None = None,
) -> list[Verdict]:
    """The verdicts on the pending episodes of one belief, oldest first.

    `current` is the current version, `last_number` the highest number so far (0 for none), `earlier` the numbers and
    values of all versions so far, `ended` when the last of them ended. None begins before the one before it ended.
    `restated` knows which episodes only say in other words what an earlier one said.
    """
    verdicts = []
    open_number = current.number if current is not None else None
    since = current.valid_from if current is not None else ended
    forms = {_form(aspect, value): number for number, value in earlier if value is not None}
    number = last_number
    for episode in episodes:
        moment = _valid_from(episode)
        if since is not None and moment < since:
            moment = since
        if episode.kind is Kind.REMOVED:
            closed = None
            if open_number is not None:
                ground = Reason.REMOVED if episode.ground is Ground.PATCH else Reason.UNLISTED
                closed = Closed(open_number, moment, None, episode, ground)
            verdicts.append(Verdict(VerdictKind.RETRACT, episode, None, closed))
            open_number, since = None, moment
            continue
        opinion, restates = restated.opinion(episode) if restated is not None else (None, None)
        if restates is not None and restates == open_number:
            verdicts.append(Verdict(VerdictKind.REINFORCE, episode, None, None, restates))
            becomes = restates
        else:
            number += 1
            reverts = forms.get(_form(aspect, episode.value)) if forms else None
            reverts = restates if reverts is None else reverts
            if reverts == open_number:
                reverts = None
            opened, closed = _opened(number, episode, moment, reverts, open_number, opinion)
            kind = VerdictKind.OPEN if closed is None else VerdictKind.SUPERSEDE
            verdicts.append(Verdict(kind, episode, opened, closed))
            becomes = open_number = number
            since = moment
        if forms or len(episodes) > 1:
            forms[_form(aspect, episode.value)] = becomes
        if restated is not None:
            restated.note(episode, becomes)
    return verdicts


def _opened(
    number: int,
    episode: Episode,
    moment: Moment,
    reverts: int | None,
    before: int | None,
    opinion: Opinion | None,
) -> tuple[Opened, Closed | None]:
    """The version that an episode opens, and the end of the one before it."""
    goes_on = episode.kind is Kind.FIRST and before is not None
    told = opinion.reason if opinion is not None else ""
    reason = _worded(Reason.READ_LIVE, reverts) if goes_on else _reason(episode, reverts, told)
    opened = Opened(number, episode, moment, _valid_after(episode), reason, reverts)
    if before is None:
        return opened, None
    ended_by = Reason.READ_LIVE if goes_on else told or Reason.OBSERVED
    return opened, Closed(before, moment, number, episode, ended_by)


def reconcile_before(
    aspect: str, first: Version, episodes: Sequence[Episode], restated: _Restated | None = None
) -> tuple[list[Verdict], Closed | None]:
    """The verdicts on what a backfill found before `first`, the lowest version so far, oldest first.

    Their versions count up to just below `first`. Also how the last of them ends, if it is still open by then: `first`
    is its successor, unchanged, and none of them outlasts its beginning.
    """
    opening = sum(1 for episode in episodes if episode.kind is not Kind.REMOVED)
    if restated is not None:
        tried = reconcile(aspect, None, 0, [], episodes, None, restated)
        opening = sum(1 for verdict in tried if verdict.opened is not None)
    verdicts = [
        _no_later(verdict, first.valid_from)
        for verdict in reconcile(aspect, None, first.number - opening - 1, [], episodes, None, restated)
    ]
    last = next(verdict for verdict in reversed(verdicts) if verdict.kind is not VerdictKind.REINFORCE)
    if last.opened is None:
        return verdicts, None
    return verdicts, Closed(last.opened.number, first.valid_from, first.number, last.episode, Reason.READ_LIVE)


def _no_later(verdict: Verdict, moment: Moment) -> Verdict:
    """A verdict whose versions begin and end at that moment at the latest."""
    opened, closed = verdict.opened, verdict.closed
    if opened is not None and opened.valid_from > moment:
        opened = opened._replace(valid_from=moment)
    if closed is not None and closed.valid_to > moment:
        closed = closed._replace(valid_to=moment)
    return verdict._replace(opened=opened, closed=closed)


def _form(aspect: str, value: str | None) -> bytes:
    return dumps(ASPECTS[aspect].canonical(loads(value))) if value is not None else b""


def _valid_from(episode: Episode) -> Moment:
    """The catalog's own time where it is credible, else the reading's."""
    return credible(episode.stamped_at, episode.after_at, episode.observed_at) or episode.observed_at


def _valid_after(episode: Episode) -> Moment | None:
    """The last reading that did not show it yet, where no stamp tells better."""
    if credible(episode.stamped_at, episode.after_at, episode.observed_at) is not None:
        return None
    return episode.after_at


def _reason(episode: Episode, reverts: int | None, told: str) -> str:
    match episode.kind:
        case Kind.FIRST:
            reason: str = Reason.FIRST_SEEN
        case Kind.RETURNED:
            reason = Reason.RETURNED
        case _:
            reason = told or Reason.OBSERVED
    return _worded(reason, reverts)


def _worded(reason: str, reverts: int | None) -> str:
    return f"{reason}; it is what version {reverts} said" if reverts is not None else str(reason)
