"""A driver, run as a process of its own: kills jobs at chosen statements, repeats them, and compares what came of it.

`python -m tests.robustness.killing FOLDER SEED POINTS` prints one JSON line a job. A step is a statement about to be
sent, a statement just sent, or a commit about to be made. Each killed job is a forked child that sends itself SIGKILL.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sqlite3
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
from palimpsest.jobs.verify import verify
from palimpsest.store import migrate
from palimpsest.store.engine import open_store
from palimpsest.store.runs import this_process
from palimpsest.testing import FixedClock, NoProgress
from tests.robustness import catalogs

BATCH = 40
SECRET = b"0123456789abcdef"
FIRST, SECOND = "2026-03-02T08:00:00Z", "2026-03-03T08:00:00Z"
# Columns that tell which run or moment of the machine wrote a row; everything else has to be equal.
APART = {"episode": {"run_id"}, "version": {"run_id", "recorded_at", "closed_at"}, "store": {"created_at"}}


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
        self._step()

    def _after(self, *_: object) -> None:
        self._step()

    def _commit(self, connection: sa.Connection) -> None:
        self._step()
        if connection.info.get("write"):
            self.commits.append(self.count)

    def _step(self) -> None:
        self.count += 1
        if self.count == self.kill_at:
            os.kill(os.getpid(), signal.SIGKILL)


def work(job: str, folder: Path, store_file: Path, at: Moment) -> None:
    """Do a job on a store, as a process of its own would."""
    scan_job._EPISODES_AT_ONCE = consolidate_job._EPISODES_AT_ONCE = BATCH
    store = open_store(f"sqlite:///{store_file}")
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


def tables(store_file: Path) -> dict[str, list[tuple[object, ...]]]:
    """Every row of every table but `run`, sorted, without what tells runs and machine times apart."""
    found = {}
    db = sqlite3.connect(store_file)
    names = [row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
    for name in names:
        if name == "run" or name.startswith("sqlite_"):
            continue
        columns = [row[1] for row in db.execute(f"PRAGMA table_info({name})") if row[1] not in APART.get(name, set())]
        listed = ", ".join(f'"{column}"' for column in columns)
        found[name] = sorted(db.execute(f"SELECT {listed} FROM {name}"), key=repr)
    db.close()
    return found


def runs_left(store_file: Path) -> list[str]:
    """The runs that still say they are running."""
    db = sqlite3.connect(store_file)
    left = [row[0] for row in db.execute("SELECT job FROM run WHERE state = 'running'")]
    db.close()
    return left


def broken(store_file: Path) -> list[str]:
    """The rules that the store breaks."""
    store = open_store(f"sqlite:///{store_file}")
    report = verify(store, clock=FixedClock(Moment(0)), progress=NoProgress())
    store.dispose()
    return [f"{rule.rule}: {rule.examples}" for rule in report.rules if rule.broken]


def copied(source: Path, target: Path) -> Path:
    """A copy of a store that nobody has open."""
    for suffix in ("", "-wal", "-shm"):
        Path(f"{target}{suffix}").unlink(missing_ok=True)
    shutil.copyfile(source, target)
    return target


def differing(one: dict[str, list[tuple[object, ...]]], other: dict[str, list[tuple[object, ...]]]) -> list[str]:
    """The tables in which two stores differ, with an example."""
    said = []
    for name in sorted(one.keys() | other.keys()):
        mine, theirs = one.get(name, []), other.get(name, [])
        if mine != theirs:
            odd = [row for row in mine if row not in theirs][:2], [row for row in theirs if row not in mine][:2]
            said.append(f"{name}: {len(mine)} rows and {len(theirs)}: {odd}")
    return said


def prove(job: str, folder: Path, before: Path, at: Moment, chooser: random.Random, points: int) -> dict[str, Any]:
    """Kill one job at many points; `before` becomes what the undisturbed job leaves."""
    log = folder / "steps.json"
    calm = copied(before, folder / "calm.db")

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
        killed = copied(before, folder / "killed.db")

        def disturbed(step: int = step, killed: Path = killed) -> None:
            Steps(step)
            work(job, folder, killed, at)

        ended = in_child(disturbed)
        if not (os.WIFSIGNALED(ended) and os.WTERMSIG(ended) == signal.SIGKILL):
            complaints.append(f"step {step}: not killed, status {ended}")
            continue
        complaints += [f"step {step}: verify after the kill: {rule}" for rule in broken(killed)]
        again = in_child(lambda killed=killed: work(job, folder, killed, Moment(at + 60_000)))  # type: ignore[misc]
        if again != 0:
            complaints.append(f"step {step}: the next run fails, status {again}")
            continue
        complaints += [f"step {step}: verify at the end: {rule}" for rule in broken(killed)]
        complaints += [f"step {step}: {difference}" for difference in differing(tables(killed), wanted)]
        complaints += [f"step {step}: {left} is still running" for left in runs_left(killed)]
    shutil.copyfile(calm, before)
    return {
        "job": job,
        "steps": count,
        "commits": len(commits),
        "points": len(chosen),
        "between": sum(1 for step in chosen if step in set(inner)),
        "complaints": complaints[:10],
        "complained": len(complaints),
    }


def main(folder: Path, seed: int, points: int) -> None:
    """Prove every job in turn, each on the state that the undisturbed ones before it left."""
    chooser = random.Random(seed)
    catalogs.write(folder, "first.json", catalogs.observed(catalogs.first(), FIRST))
    catalogs.write(folder, "second.json", catalogs.observed(catalogs.second(), SECOND))
    empty = folder / "empty.db"

    def new_store() -> None:
        store = open_store(f"sqlite:///{empty}")
        migrate.upgrade(store, now=parse("2026-03-01"), secret=SECRET)
        store.dispose()

    assert in_child(new_store) == 0
    day = {"1": parse("2026-03-02T09:00:00Z"), "2": parse("2026-03-03T09:00:00Z")}
    for sequence in (("scan 1", "consolidate 1", "scan 2", "consolidate 2"), ("run 1", "run 2")):
        before = copied(empty, folder / "before.db")
        for job in sequence:
            begun = time.monotonic()
            report = prove(job, folder, before, day[job[-1]], chooser, points)
            sys.stdout.write(json.dumps(report | {"seed": seed, "seconds": round(time.monotonic() - begun, 1)}) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
