"""What tests and the demo use in place of the world: a clock that is set by hand, and progress that shows nothing."""

from __future__ import annotations

from palimpsest.core.moment import Moment


class FixedClock:
    """Tells the moment it was set to; `step` milliseconds later at each question."""

    def __init__(self, at: Moment, step: int = 0) -> None:
        self.at = at
        self.step = step

    def now(self) -> Moment:
        """The moment it was set to, moved on by a step."""
        self.at = Moment(self.at + self.step)
        return self.at


class NoProgress:
    """Shows nothing."""

    def start(self, what: str, total: int | None = None) -> None:
        """A stage begins."""

    def advance(self, count: int = 1) -> None:
        """So many steps are done."""

    def done(self) -> None:
        """The stage ends."""
