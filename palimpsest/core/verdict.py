"""Verdicts: what the consolidator decides about episodes, and what that does to versions. Values only."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from palimpsest.core.belief import State, Version
from palimpsest.core.cluster import Cluster
from palimpsest.core.episode import Episode
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
    SAID = "said for the first time"
    SAID_SINCE = "said otherwise since"
    SAID_ABOVE = "said otherwise by one whose word goes first"
    SETTLED = "borne out by one whose word decides"
    CONTRADICTS = "it contradicts one whose word goes first"
    SAID_BEFORE = "it was said before what it contradicts"
    NOT_DECIDED = "a decision is a person's to take"
    UNSURE = "its judge was not sure"
    REJECTED = "rejected by a person"
    WITHDRAWN = "withdrawn by whoever said it"


class Opened(NamedTuple):
    """A new version, in the state in which it begins. `reverts_to` is the earlier version whose value it has again."""

    number: int
    episode: Episode
    valid_from: Moment
    valid_after: Moment | None
    reason: str
    reverts_to: int | None
    state: State = State.CURRENT


class Closed(NamedTuple):
    """The end of a version: by its successor's number, or by the episode that retracted it."""

    number: int
    valid_to: Moment
    successor: int | None
    ended_by: Episode
    reason: str


class Verdict(NamedTuple):
    """What becomes of one episode: the version it opens, and those it closes, the current one in `closed`.

    Where it neither opens nor closes any, `witness` is the version that it is evidence of: borne out by a `reinforce`,
    had ended, or could not be ended, by a `retract`.
    """

    kind: VerdictKind
    episode: Episode
    opened: Opened | None
    closed: Closed | None
    witness: int | None = None
    also_closed: tuple[Closed, ...] = ()

    @property
    def every_closed(self) -> tuple[Closed, ...]:
        """All versions that it closes."""
        return (self.closed, *self.also_closed) if self.closed is not None else self.also_closed


class Judged(NamedTuple):
    """The verdicts on one cluster, and who gave the opinions they rest on.

    `before`: those on what precedes all versions so far; `tail` ends them. An episode without a verdict stays pending.
    """

    cluster: Cluster
    before: list[Verdict]
    tail: Closed | None
    verdicts: list[Verdict]
    current: Version | None
    judge: str = "rules"

    @property
    def every(self) -> list[Verdict]:
        """Every verdict, in the order of the episodes."""
        return [*self.before, *self.verdicts]
