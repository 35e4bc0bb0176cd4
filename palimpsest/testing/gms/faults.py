"""Faults on demand: what goes wrong between a client and DataHub, and within DataHub.

Set by tests on `GmsDouble.faults`; `match` names requests by a part of their path, their GraphQL operation, or a text
in their body such as a URN; `after` lets so many of them pass first; `times` is how often it happens, None for always.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

from palimpsest.testing.gms.store import AspectStore

Hook = Callable[[AspectStore, str, str], None]


@dataclass(slots=True)
class Fault:
    """One thing that goes wrong, and how often yet."""

    match: str = ""
    after: int = 0
    times: int | None = None
    seconds: float = 0.0
    status: int = 0
    retry_after: str = ""
    message: str = ""
    cut: str = ""

    def strikes(self, said: tuple[str, ...]) -> bool:
        """Whether it happens to a request that says this; counts it."""
        if self.times == 0 or (self.match and not any(self.match in text for text in said)):
            return False
        if self.after:
            self.after -= 1
            return False
        if self.times is not None:
            self.times -= 1
        return True


class Faults:
    """What goes wrong with the double."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self.clear()

    def clear(self) -> None:
        """Nothing goes wrong any more."""
        self._faults: list[Fault] = []
        self._short: list[tuple[Fault, int]] = []
        self._hooks: list[tuple[str, Fault, Hook]] = []
        self.broken: set[str] = set()
        """URNs whose fields GraphQL cannot resolve: errors beside partial data."""
        self.search_lags = False
        """Writes stay out of search until `GmsDouble.refresh()`."""
        self.stale_lineage = False
        """`searchAcrossLineage` answers from its cache, unless the query skips it."""
        self.ignores_version_match = False
        """`If-Version-Match` is not looked at."""

    def delay(self, seconds: float, *, match: str = "", after: int = 0, times: int | None = None) -> None:
        """Answers come late."""
        self._faults.append(Fault(match, after, times, seconds=seconds))

    def fail(
        self, status: int, *, match: str = "", after: int = 0, times: int | None = None, retry_after: str = ""
    ) -> None:
        """Requests fail with an HTTP status: 401, 403, 429 with `Retry-After`, 500, 503."""
        self._faults.append(Fault(match, after, times, status=status, retry_after=retry_after))

    def error(self, message: str, *, match: str = "", after: int = 0, times: int | None = None) -> None:
        """GraphQL answers 200 with an error and no data."""
        self._faults.append(Fault(match, after, times, message=message))

    def cut(self, *, match: str = "", after: int = 0, times: int | None = None, within: bool = False) -> None:
        """The connection breaks: before any answer, or `within` it."""
        self._faults.append(Fault(match, after, times, cut="within" if within else "before"))

    def shorten(self, missing: int = 1, *, after: int = 0, times: int | None = 1) -> None:
        """A page of results lacks its last hits, and does not say so."""
        self._short.append((Fault("", after, times), missing))

    def before_write(self, hook: Hook, *, match: str = "", times: int | None = 1) -> None:
        """Another writer comes first: `hook(store, urn, aspect)` runs before a write is looked at."""
        self._hooks.append(("before", Fault(match, 0, times), hook))

    def after_write(self, hook: Hook, *, match: str = "", times: int | None = 1) -> None:
        """Another writer comes right after: `hook(store, urn, aspect)` runs when a write is done."""
        self._hooks.append(("after", Fault(match, 0, times), hook))

    # --- what the double asks -----------------------------------------------------------------------------------------

    @property
    def are_set(self) -> bool:
        """Whether any request can go wrong."""
        return bool(self._faults)

    def striking(self, *said: str) -> list[Fault]:
        """The faults that happen to a request."""
        with self._lock:
            return [fault for fault in self._faults if fault.strikes(said)]

    def shortened(self, urns: list[str]) -> list[str]:
        """A page, or what is left of it."""
        with self._lock:
            for fault, missing in self._short:
                if urns and fault.strikes(()):
                    return urns[: max(0, len(urns) - missing)]
        return urns

    def write_begins(self, store: AspectStore, urn: str, aspect: str) -> None:
        """Let the other writers come first."""
        self._run("before", store, urn, aspect)

    def write_ended(self, store: AspectStore, urn: str, aspect: str) -> None:
        """Let the other writers come after."""
        self._run("after", store, urn, aspect)

    def _run(self, when: str, store: AspectStore, urn: str, aspect: str) -> None:
        with self._lock:
            due = [hook for place, fault, hook in self._hooks if place == when and fault.strikes((urn, aspect))]
        for hook in due:
            hook(store, urn, aspect)

    def wait(self, seconds: float) -> None:
        """Sleep, unless the double is closed meanwhile."""
        self._closed.wait(seconds)

    def close(self) -> None:
        """Wake whoever waits."""
        self._closed.set()
