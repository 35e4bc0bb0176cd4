"""Ending a run when the job that holds its lease fails."""

from __future__ import annotations

from palimpsest.core.errors import MassChangeError
from palimpsest.ports import Clock
from palimpsest.store import runs
from palimpsest.store.engine import Store
from palimpsest.store.runs import Lease


class released_on_failure:
    """Ends a run as failed, or stopped, when the block raises. A run that was taken over stays as it is."""

    def __init__(self, store: Store, lease: Lease, clock: Clock) -> None:
        self._store, self._lease, self._clock = store, lease, clock

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is None:
            return
        stopped = isinstance(error, MassChangeError)
        counts: dict[str, object] = {"failure": str(error) or type(error).__name__}
        if isinstance(error, MassChangeError):
            counts["ending"] = error.ending
        state = "stopped" if stopped else "failed"
        runs.release_quietly(self._store, self._lease, state=state, now=self._clock.now(), counts=counts)
