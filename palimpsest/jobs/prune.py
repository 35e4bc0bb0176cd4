"""prune: forget records that are older than they are to be kept. Nothing that is held, or that it rests on, goes."""

from __future__ import annotations

from dataclasses import dataclass

from palimpsest.core.moment import Moment
from palimpsest.ports import Clock
from palimpsest.store import deliveries, recalls
from palimpsest.store.engine import Store

_DAY_MS = 86_400_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PruneReport:
    """How many rows went."""

    recalls: int
    runs: int
    deliveries: int = 0


def prune(store: Store, *, recalls_days: int, runs_days: int, clock: Clock, deliveries_days: int = 0) -> PruneReport:
    """Forget what is older than so many days; 0 keeps all. Runs that wrote anything are kept for ever."""
    now = clock.now()
    gone_recalls = gone_runs = gone_deliveries = 0
    if recalls_days:
        before = Moment(now - recalls_days * _DAY_MS)
        gone_recalls = store.write(lambda connection: recalls.prune_log(connection, before))
    if runs_days:
        oldest = Moment(now - runs_days * _DAY_MS)
        gone_runs = store.write(lambda connection: recalls.prune_runs(connection, oldest))
    if deliveries_days:
        since = Moment(now - deliveries_days * _DAY_MS)
        gone_deliveries = store.write(lambda connection: deliveries.prune(connection, since))
    return PruneReport(recalls=gone_recalls, runs=gone_runs, deliveries=gone_deliveries)
