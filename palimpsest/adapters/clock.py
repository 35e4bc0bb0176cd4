"""The system's clock."""

from __future__ import annotations

import time

from palimpsest.core.moment import Moment


class SystemClock:
    """The time of the machine."""

    def now(self) -> Moment:
        """The moment it is, to the millisecond."""
        return Moment(time.time_ns() // 1_000_000)
