"""Reconciling: what pending episodes do to the versions of one belief. Pure; the rules' judgement.

Every episode of a structured aspect that differs founds one version, in order; a removal ends the current one.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from palimpsest.core.aspects import ASPECTS
from palimpsest.core.belief import State, Version
from palimpsest.core.cluster import Cluster
from palimpsest.core.episode import Episode, Ground, Kind, credible
from palimpsest.core.jsontext import dumps, loads
from palimpsest.core.moment import Moment


class VerdictKind(StrEnum):
    """What the consolidator decides about an episode."""

    OPEN = "open"
    REINFORCE = "reinforce"
    SUPERSEDE = "supersede"
    RETRACT = "retract"
    CONTEST = "contest"
    LEAVE = "leave"


class Reason(StrEnum):
    """Why a version was opened or ended, as the rules say it."""

    FIRST_SEEN = "first seen"
    OBSERVED = "the catalog says otherwise now"
    RETURNED = "stated again after it was gone"
    UNLISTED = "its raw aspect was read whole and no longer lists it"
    REMOVED = "removed by an explicit patch"
    READ_LIVE = "read live since then"


class Opened(NamedTuple):
    """A new version. `reverts_to` is the number of the earlier version whose value it has again."""

    number: int
    episode: Episode
    valid_from: Moment
    valid_after: Moment | None
    reason: str
    reverts_to: int | None


class Closed(NamedTuple):
    """The end of a version: by its successor's number, or by the episode that retracted it."""

    number: int
    valid_to: Moment
    successor: int | None
    ended_by: Episode
    reason: str


class Verdict(NamedTuple):
    """What becomes of one episode: the version it opens, the version it closes."""

    kind: VerdictKind
    episode: Episode
    opened: Opened | None
    closed: Closed | None


class Judged(NamedTuple):
    """The verdicts on one cluster. `before`: those on what precedes all versions so far; `tail` ends them."""

    cluster: Cluster
    before: list[Verdict]
    tail: Closed | None
    verdicts: list[Verdict]
    current: Version | None

    @property
    def every(self) -> list[Verdict]:
        """Every verdict, in the order of the episodes."""
        return [*self.before, *self.verdicts]


class RulesJudge:
    """The rules as a judge: exact, free, and never in doubt about a structured aspect."""

    name = "rules"

    def judge(self, clusters: Sequence[tuple[Cluster, Sequence[Version]]]) -> list[Judged]:
        """The verdicts on each cluster; with it come the versions of its belief so far, by number."""
        return [judged(cluster, so_far) for cluster, so_far in clusters]


def judged(cluster: Cluster, so_far: Sequence[Version]) -> Judged:
    """The rules' verdicts on one cluster."""
    earlier = [
        episode
        for episode in cluster.episodes
        if so_far and episode.cell == so_far[0].cell and episode.number < so_far[0].episode
    ]
    before, tail = reconcile_before(cluster.aspect, so_far[0], earlier) if earlier else ([], None)
    current = next((version for version in so_far if version.state is State.CURRENT), None)
    last = so_far[-1].number if so_far else 0
    values = [(version.number, version.value) for version in so_far]
    ended = so_far[-1].valid_to if so_far else None
    later = cluster.episodes[len(earlier) :]
    return Judged(cluster, before, tail, reconcile(cluster.aspect, current, last, values, later, ended), current)


def reconcile(
    aspect: str,
    current: Version | None,
    last_number: int,
    earlier: Sequence[tuple[int, str | None]],
    episodes: Sequence[Episode],
    ended: Moment | None = None,
) -> list[Verdict]:
    """The verdicts on the pending episodes of one belief, oldest first.

    `current` is the current version, `last_number` the highest number so far (0 for none), `earlier` the numbers and
    values of all versions so far, `ended` when the last of them ended. None begins before the one before it ended.
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
        number += 1
        reverts = forms.get(_form(aspect, episode.value)) if forms else None
        if reverts == open_number:
            reverts = None
        goes_on = episode.kind is Kind.FIRST and open_number is not None
        reason = _worded(Reason.READ_LIVE, reverts) if goes_on else _reason(episode, reverts)
        opened = Opened(number, episode, moment, _valid_after(episode), reason, reverts)
        if open_number is None:
            verdicts.append(Verdict(VerdictKind.OPEN, episode, opened, None))
        else:
            ended_by = Reason.READ_LIVE if goes_on else Reason.OBSERVED
            closed = Closed(open_number, moment, number, episode, ended_by)
            verdicts.append(Verdict(VerdictKind.SUPERSEDE, episode, opened, closed))
        if forms or len(episodes) > 1:
            forms[_form(aspect, episode.value)] = number
        open_number, since = number, moment
    return verdicts


def reconcile_before(aspect: str, first: Version, episodes: Sequence[Episode]) -> tuple[list[Verdict], Closed | None]:
    """The verdicts on what a backfill found before `first`, the lowest version so far, oldest first.

    Their versions count up to just below `first`. Also how the last of them ends, if it is still open by then: `first`
    is its successor, unchanged, and none of them outlasts its beginning.
    """
    opening = sum(1 for episode in episodes if episode.kind is not Kind.REMOVED)
    verdicts = [
        _no_later(verdict, first.valid_from)
        for verdict in reconcile(aspect, None, first.number - opening - 1, [], episodes)
    ]
    last = verdicts[-1]
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


def _reason(episode: Episode, reverts: int | None) -> str:
    match episode.kind:
        case Kind.FIRST:
            reason = Reason.FIRST_SEEN
        case Kind.RETURNED:
            reason = Reason.RETURNED
        case _:
            reason = Reason.OBSERVED
    return _worded(reason, reverts)


def _worded(reason: Reason, reverts: int | None) -> str:
    return f"{reason}; it is what version {reverts} said" if reverts is not None else str(reason)
