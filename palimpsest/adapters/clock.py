"""Clocks: the machine's, and one that is set by hand."""

from __future__ import annotations

import time

from palimpsest.core.moment import Moment


class SystemClock:
    """The time of the machine."""

    def now(self) -> Moment:
        """The moment it is, to the millisecond."""
        return Moment(time.time_ns() // 1_000_000)


class SetClock:
    """Tells the moment it was set to; `step` milliseconds later at each question. For the demo and for tests."""

    def __init__(self, at: Moment, step: int = 0) -> None:
        self.at = at
        self.step = step

    def now(self) -> Moment:
        """The moment it was set to, moved on by a step."""
        self.at = Moment(self.at + self.step)
        return self.at
