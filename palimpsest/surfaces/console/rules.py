"""The health of the rules: counted in the background, so that no reader waits for what can take minutes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from palimpsest.core.errors import PalimpsestError
from palimpsest.core.moment import Moment, to_datetime
from palimpsest.jobs.verify import VerifyReport
from palimpsest.ports import Clock

_STALE_AFTER = 10 * 60_000
_PATIENCE_S = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RulesView:
    """The last count, None before the first has ended; `counting`: one is at work. `problem`: the last one failed."""

    report: VerifyReport | None
    counted: datetime | None
    counting: bool
    problem: str


class RulesKeeper:
    """Counts the rules when they are asked for and the last count is old; one count at a time."""

    def __init__(self, count: Callable[[], VerifyReport], clock: Clock) -> None:
        self._count, self._clock = count, clock
        self._lock = threading.Lock()
        self._report: VerifyReport | None = None
        self._counted: Moment | None = None
        self._problem = ""
        self._ended: threading.Event | None = None  # of the count at work

    def view(self, *, patience: float = _PATIENCE_S, begin: bool = True) -> RulesView:
        """The last count; one that is at work is waited for a little. `begin`: whether an old one is counted anew."""
        ended = self._begin_if_stale() if begin else None
        if ended is not None:
            ended.wait(patience)
        with self._lock:
            return RulesView(
                report=self._report,
                counted=to_datetime(self._counted) if self._counted is not None else None,
                counting=self._ended is not None,
                problem=self._problem,
            )

    def _begin_if_stale(self) -> threading.Event | None:
        with self._lock:
            fresh = self._counted is not None and self._clock.now() - self._counted < _STALE_AFTER
            if self._ended is None and not fresh:
                self._ended = threading.Event()
                threading.Thread(target=self._run, args=(self._ended,), daemon=True, name="rules").start()
            return self._ended

    def _run(self, ended: threading.Event) -> None:
        report, problem = None, ""
        try:
            report = self._count()
        except PalimpsestError:
            problem = "The rules could not be counted."
        finally:
            with self._lock:
                self._report, self._problem = report or self._report, problem
                self._counted, self._ended = self._clock.now(), None
            ended.set()
