"""What tests and the demo use in place of the world: a clock that is set by hand, and progress that shows nothing."""

from __future__ import annotations

from palimpsest.adapters.clock import SetClock as FixedClock


class NoProgress:
    """Shows nothing."""

    def start(self, what: str, total: int | None = None) -> None:
        """A stage begins."""

    def advance(self, count: int = 1) -> None:
        """So many steps are done."""

    def done(self) -> None:
        """The stage ends."""


__all__ = ["FixedClock", "NoProgress"]
