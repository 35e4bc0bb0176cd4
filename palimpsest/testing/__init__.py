"""What tests and the demo use in place of the world: a clock that is set by hand, and progress that shows nothing."""

from __future__ import annotations

from palimpsest.adapters.clock import SetClock as FixedClock
from palimpsest.ports import NoProgress

__all__ = ["FixedClock", "NoProgress"]
