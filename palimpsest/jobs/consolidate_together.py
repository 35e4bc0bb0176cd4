"""Several consolidators at once, each a process of its own: they share the work by the leases on entities.

Each begins at another place among the entities, so that they seldom meet. One that dies leaves its leases to the next.
"""

from __future__ import annotations

import multiprocessing
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace

from palimpsest.core.ids import EntityId
from palimpsest.jobs.consolidate import ConsolidateReport, consolidate
from palimpsest.jobs.judging.judging import Judging, together
from palimpsest.ports import Clock, Judge, NoProgress, Progress
from palimpsest.store import pending
from palimpsest.store.engine import Store, open_store
from palimpsest.store.runs import this_process

_EPISODES_AT_ONCE = 5_000


def consolidate_together(
    store: Store,
    *,
    workers: int,
    clock: Clock,
    progress: Progress,
    holder: str,
    judge: Judge | None = None,
    judging: Sequence[Judging] = (),
    at_once: int | None = None,
) -> ConsolidateReport:
    """Consolidate everything that is pending with so many processes, this one included: one report of all.

    `judging` is a model for each process, or none. The clock, the judge and the models go to the other processes: they
    must be such as can be sent.
    """
    models: list[Judging | None] = list(judging) if judging else [None] * workers
    if workers == 1:
        return consolidate(
            store, clock=clock, progress=progress, holder=holder, judge=judge, judging=models[0], at_once=at_once
        )
    at_once = at_once or _EPISODES_AT_ONCE
    url = store.url.render_as_string(hide_password=False)
    with ProcessPoolExecutor(workers - 1, mp_context=multiprocessing.get_context("spawn")) as pool:
        others = [
            pool.submit(_work, url, clock, judge, models[number], start_of(number, workers), at_once)
            for number in range(1, workers)
        ]
        own = consolidate(
            store, clock=clock, progress=progress, holder=holder, judge=judge, judging=models[0], at_once=at_once
        )
        reports = [own, *(other.result() for other in others)]
    return replace(summed(reports), left=store.read(pending.count_pending))


def start_of(number: int, workers: int) -> EntityId:
    """Where among the ids one of so many begins: ids are evenly spread."""
    return EntityId((number * (1 << 64) // workers).to_bytes(8) + bytes(8))


def summed(reports: Sequence[ConsolidateReport]) -> ConsolidateReport:
    """One report of what several did; its run is that of the first, its time that of the longest."""
    verdicts: Counter[str] = Counter()
    for report in reports:
        verdicts.update(report.verdicts)
    return ConsolidateReport(
        run=next((report.run for report in reports if report.run), ""),
        dry_run=False,
        clusters=sum(report.clusters for report in reports),
        episodes=sum(report.episodes for report in reports),
        entities=sum(report.entities for report in reports),
        verdicts=dict(sorted(verdicts.items())),
        founded=sum(report.founded for report in reports),
        left=reports[-1].left,
        milliseconds=max(report.milliseconds for report in reports),
        chosen=sum(report.chosen for report in reports),
        asked=together(asked) if (asked := [one.asked for one in reports if one.asked is not None]) else None,
    )


def _work(
    url: str, clock: Clock, judge: Judge | None, judging: Judging | None, start: EntityId, at_once: int
) -> ConsolidateReport:
    """One of the processes."""
    store = open_store(url)
    try:
        return consolidate(
            store,
            clock=clock,
            progress=NoProgress(),
            holder=this_process(),
            judge=judge,
            judging=judging,
            start=start,
            at_once=at_once,
        )
    finally:
        if judging is not None:
            judging.close()
        store.dispose()
