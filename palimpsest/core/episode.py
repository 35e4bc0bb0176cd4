"""Episodes: observations that differed from their cell, as they are written down."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from palimpsest.core.aspects.aspect import Impact
from palimpsest.core.ids import CellId
from palimpsest.core.moment import Moment


class Kind(StrEnum):
    """How an episode differs from what its cell held."""

    FIRST = "first"
    CHANGED = "changed"
    REMOVED = "removed"
    RETURNED = "returned"
    SAID = "said"


class Ground(StrEnum):
    """How it is known that a cell has ended."""

    UNLISTED = "unlisted"  # its raw aspect was read whole and no longer lists it
    PATCH = "patch"  # a PATCH took it away by name
    DECISION = "decision"  # a person decided so, in the inbox


class Grade(StrEnum):
    """Quiet episodes are kept, and shown only when asked for."""

    NORMAL = "normal"
    QUIET = "quiet"


def grade_of(impact: Impact) -> Grade:
    """The grade that goes with an impact."""
    return Grade.QUIET if impact is Impact.QUIET else Grade.NORMAL


class Episode(NamedTuple):
    """A pending episode as the consolidator reads it. `value` is JSON text, None for a removal."""

    cell: CellId
    number: int
    kind: Kind
    impact: Impact
    baseline: bool
    value: str | None
    observed_at: Moment
    after_at: Moment | None
    stamped_at: Moment | None
    ground: Ground | None = None
    observer: str = ""


def credible(stamp: Moment | None, after: Moment | None, observed: Moment) -> Moment | None:
    """The catalog's own time of a change, where it can be true: later than the last reading, not later than this one.

    DataHub's files carry stamps of zero, of the day a test was written, and of the last touch of a raw aspect.
    """
    if stamp is None or stamp <= 0 or stamp > observed or (after is not None and stamp <= after):
        return None
    return stamp
