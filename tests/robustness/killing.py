"""A driver, run as a process of its own: kills jobs at chosen statements, repeats them, and compares what came of it.

`python -m tests.robustness.killing FOLDER SEED POINTS DATABASE` prints one JSON line a job. A step is a statement about
to be sent, a statement just sent, or a commit about to be made. Each killed job is a forked child that sends itself
SIGKILL.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import sqlalchemy as sa

import palimpsest.jobs.consolidate as consolidate_job
import palimpsest.jobs.run as run_job
import palimpsest.jobs.scan as scan_job
from palimpsest.adapters.datahub.file import FileReader
from palimpsest.core.moment import Moment, parse
from palimpsest.jobs.scan import ScanRequest
from palimpsest.store import migrate
from palimpsest.store.dialects.dialect import Mode
from palimpsest.store.engine import open_store
from palimpsest.store.runs import this_process
from palimpsest.testing import FixedClock, NoProgress
from tests import servers
from tests.robustness import catalogs
from tests.robustness.stores import Rows, Stores, broken, differing, runs_left, stores_of, tables

BATCH = 40
SECRET = b"0123456789abcdef"
FIRST, SECOND = "2026-03-02T08:00:00Z", "2026-03-03T08:00:00Z"


class Steps:
    """Numbers the steps of a job, and kills this process at one of them."""

    def __init__(self, kill_at: int | None = None) -> None:
        self.count = 0
        self.kill_at = kill_at
        self.commits: list[int] = []
        sa.event.listen(sa.Engine, "before_cursor_execute", self._before)
        sa.event.listen(sa.Engine, "after_cursor_execute", self._after)
        sa.event.listen(sa.Engine, "commit", self._commit)

    def _before(self, *_: object) -> None:
        self.step()

    def _after(self, *_: object) -> None:
        self.step()

    def _commit(self, connection: sa.Connection) -> None:
        self.step()
        if connection.info["mode"] is not Mode.READ:
            self.commits.append(self.count)

    def step(self) -> None:
        """One step more; the last one, where this is the one to be killed at."""
        self.count += 1
        if self.count == self.kill_at:
            os.kill(os.getpid(), signal.SIGKILL)


def work(job: str, folder: Path, url: str, at: Moment) -> None:
    """Do a job on a store, as a process of its own would."""
    scan_job._EPISODES_AT_ONCE = consolidate_job._EPISODES_AT_ONCE = BATCH
    store = open_store(url)
    clock, holder = FixedClock(at, step=1), this_process()
    verb, _, number = job.partition(" ")
    if verb == "consolidate":
        consolidate_job.consolidate(store, clock=clock, progress=NoProgress(), holder=holder)
    else:
        name, read_at = {"1": ("first.json", FIRST), "2": ("second.json", SECOND)}[number]
        reader = FileReader(folder / name, complete=True)
        # `run` is given no time: it takes the one in the records, the second time too.
        request = ScanRequest(source="file", at=parse(read_at) if verb == "scan" else None)
        if verb == "scan":
            scan_job.scan(store, reader, request, clock=clock, progress=NoProgress(), holder=holder)
        else:
            run_job.run(
                store,
                reader,
                request,
                with_consolidate=True,
                with_verify=False,
                clock=clock,
                progress=NoProgress(),
                holder=holder,
            )
    store.dispose()


def in_child(what: Callable[[], None]) -> int:
    """Run something in a forked child; its exit status as os.waitpid gives it."""
    pid = os.fork()
    if pid == 0:
        try:
            what()
            os._exit(0)
        except BaseException as error:  # noqa: BLE001 - the parent reports it
            sys.stderr.write(f"{type(error).__name__}: {error}\n")
            os._exit(1)
    return os.waitpid(pid, 0)[1]


def was_killed(status: int) -> bool:
    """Whether a child ended by SIGKILL."""
    return os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL


def prove(job: str, folder: Path, stores: Stores, at: Moment, chooser: random.Random, points: int) -> dict[str, Any]:
    """Kill one job at many points; the store `before` becomes what the undisturbed job leaves."""
    log = folder / "steps.json"
    stores.copy("before", "calm")
    calm = stores.url("calm")

    def undisturbed() -> None:
        steps = Steps()
        work(job, folder, calm, at)
        log.write_text(json.dumps([steps.count, steps.commits]))

    assert in_child(undisturbed) == 0, f"{job} fails undisturbed"
    count, commits = json.loads(log.read_text())
    wanted = tables(calm)
    # Between the first and the last commit that write rows of the memory: the lease is taken before, given back after.
    inner = range(commits[1] + 1, commits[-2] + 1)
    outer = [step for step in range(1, count + 1) if step not in inner]
    most = min(len(inner), points * 3 // 4)
    chosen = sorted(chooser.sample(inner, most) + chooser.sample(outer, min(len(outer), points - most)))
    complaints = []
    for step in chosen:
        stores.copy("before", "killed")
        found = killed_at(step, lambda url: work(job, folder, url, at), stores)
        if not found:
            found = completed(lambda url: work(job, folder, url, Moment(at + 60_000)), stores.url("killed"), wanted)
        complaints += [f"step {step}: {said}" for said in found]
    stores.copy("calm", "before")
    return {
        "job": job,
        "steps": count,
        "commits": len(commits),
        "points": len(chosen),
        "between": sum(1 for step in chosen if step in set(inner)),
        "complaints": complaints[:10],
        "complained": len(complaints),
    }


def killed_at(step: int, job: Callable[[str], None], stores: Stores) -> list[str]:
    """Kill a job on the store `killed` at a step; what is wrong then."""
    url = stores.url("killed")

    def disturbed() -> None:
        Steps(step)
        job(url)

    ended = in_child(disturbed)
    if not was_killed(ended):
        return [f"not killed, status {ended}"]
    stores.settle("killed")
    return [f"verify after the kill: {rule}" for rule in broken(url)]


def completed(job: Callable[[str], None], url: str, wanted: Rows) -> list[str]:
    """Do a job that was killed again; what is wrong in the end."""
    again = in_child(lambda: job(url))
    if again != 0:
        return [f"the next run fails, status {again}"]
    return [
        *[f"verify at the end: {rule}" for rule in broken(url)],
        *differing(tables(url), wanted),
        *[f"{left} is still running" for left in runs_left(url)],
    ]


def main(folder: Path, seed: int, points: int, database: str) -> None:
    """Prove every job in turn, each on the state that the undisturbed ones before it left."""
    chooser = random.Random(seed)
    catalogs.write(folder, "first.json", catalogs.observed(catalogs.first(), FIRST))
    catalogs.write(folder, "second.json", catalogs.observed(catalogs.second(), SECOND))
    stores = stores_of(database, folder)
    empty = stores.url("empty")

    def new_store() -> None:
        store = open_store(empty)
        migrate.upgrade(store, now=parse("2026-03-01"), secret=SECRET)
        store.dispose()

    assert in_child(new_store) == 0
    day = {"1": parse("2026-03-02T09:00:00Z"), "2": parse("2026-03-03T09:00:00Z")}
    for sequence in (("scan 1", "consolidate 1", "scan 2", "consolidate 2"), ("run 1", "run 2")):
        stores.copy("empty", "before")
        for job in sequence:
            begun = time.monotonic()
            report = prove(job, folder, stores, day[job[-1]], chooser, points)
            told = {"seed": seed, "database": database, "seconds": round(time.monotonic() - begun, 1)}
            sys.stdout.write(json.dumps(report | told) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
    finally:
        servers.end_all()
