"""Beliefs: what is held about one (source, entity, aspect, key), as numbered versions; what is current."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from palimpsest.core.ids import BeliefId, CellId
from palimpsest.core.moment import Moment


class State(StrEnum):
    """The state of a version."""

    CURRENT = "current"
    SUPERSEDED = "superseded"
    RETRACTED = "retracted"
    CONTESTED = "contested"
    PROPOSED = "proposed"


class Version(NamedTuple):
    """One version of a belief as the consolidator needs it. `value` is the JSON text of its founding episode.

    `wording` is that of the newest episode that restated it, None where none did; `observer` whoever of highest rank
    said it.
    """

    belief: BeliefId
    number: int
    state: State
    cell: CellId
    episode: int
    value: str | None
    valid_from: Moment
    valid_to: Moment | None = None
    wording: str | None = None
    observer: str = ""


def opened_as(verdict: str | None, reason: str) -> State:
    """The state in which a version began, by the verdict on its founding episode and its reason, which says it.

    An ended version tells no more by its state whether it ever was current.
    """
    if verdict != "contest":
        return State.CURRENT
    return State.PROPOSED if reason.startswith(State.PROPOSED.value) else State.CONTESTED


def is_current(state: State, *, exists: bool) -> bool:
    """The one place that decides what may be shown as current: its state, and whether its entity exists (R12)."""
    return state is State.CURRENT and exists


def held_at(
    *,
    valid_from: Moment,
    valid_to: Moment | None,
    recorded_at: Moment,
    closed_at: Moment | None,
    as_of: Moment | None,
    known_at: Moment | None,
) -> bool:
    """Whether a version answers a question about `as_of`, as known at `known_at`; None means now.

    A version that was closed after `known_at` was still open then, so its end did not count yet.
    """
    if known_at is not None:
        if recorded_at > known_at:
            return False
        if closed_at is not None and closed_at > known_at:
            valid_to = None
    if as_of is None:
        return valid_to is None
    return valid_from <= as_of and (valid_to is None or as_of < valid_to)
