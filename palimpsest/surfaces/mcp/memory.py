"""What the tools stand on: the store, opened when it is first asked for, once to read and once to write episodes.

Nothing is asynchronous; threads may share it. The store to read refuses writes, and breaks off what takes too long.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from palimpsest.core.errors import PalimpsestError
from palimpsest.ports import Clock
from palimpsest.queries.held import When
from palimpsest.store.engine import Store
from palimpsest.store.limits import only_read

if TYPE_CHECKING:
    from palimpsest.queries.recall import Meaning

LEAST_ROOM = 500  # tokens: in less, a list tells nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who asks: the agent as observers are written, and its session, empty where that has no name."""

    agent: str
    session: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """How the memory is reached. `meaning` turns a question into a vector, or raises a PalimpsestError."""

    reading: Callable[[], Store]
    writing: Callable[[], Store]
    meaning: Callable[[Store, str], Meaning | None]
    clock: Clock
    holder: str
    budget: int
    timeout_seconds: float


class Memory:
    """The memory that a server serves."""

    def __init__(self, opening: Opening) -> None:
        self._opening = opening
        self._lock = threading.Lock()
        self._reading: Store | None = None
        self._writing: Store | None = None
        self._deliveries = 0

    @property
    def clock(self) -> Clock:
        """Tells the time."""
        return self._opening.clock

    @property
    def holder(self) -> str:
        """This process, as runs name it."""
        return self._opening.holder

    @property
    def budget(self) -> int:
        """How many tokens an answer takes, unless another budget is given."""
        return self._opening.budget

    @property
    def room(self) -> int:
        """How many tokens a list takes."""
        return max(LEAST_ROOM, self._opening.budget)

    @property
    def timeout_seconds(self) -> float:
        """After how long a question is broken off."""
        return self._opening.timeout_seconds

    @property
    def store(self) -> Store:
        """The store to read. Raises StoreError while there is none."""
        with self._lock:
            if self._reading is None:
                milliseconds = int(self.timeout_seconds * 1000)
                self._reading = only_read(self._opening.reading(), milliseconds=milliseconds)
            return self._reading

    @property
    def writable(self) -> Store:
        """The store to write episodes, scratchpads and deliveries. Raises StoreError."""
        with self._lock:
            if self._writing is None:
                self._writing = self._opening.writing()
            return self._writing

    def when(self) -> When:
        """Now."""
        return When(now=self.clock.now())

    def meaning(self, question: str) -> Meaning | None:
        """A question as a vector; None where words alone are searched."""
        try:
            return self._opening.meaning(self.store, question)
        except PalimpsestError:
            return None

    def nth_delivery(self) -> int:
        """A number that tells the deliveries of this process apart."""
        with self._lock:
            self._deliveries += 1
            return self._deliveries

    def close(self) -> None:
        """Close what was opened."""
        with self._lock:
            for store in (self._reading, self._writing):
                if store is not None:
                    store.dispose()
            self._reading = self._writing = None
