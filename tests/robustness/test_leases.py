"""Two jobs at once: one scan works and the other says who does; consolidators share the work and double none of it."""

from __future__ import annotations

import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from palimpsest.adapters.datahub.file import FileReader
from palimpsest.core.errors import LeaseHeldError
from palimpsest.core.moment import Moment, parse
from palimpsest.jobs.consolidate import consolidate
from palimpsest.jobs.scan import ScanRequest, scan
from palimpsest.jobs.verify import verify
from palimpsest.store import pending, runs
from palimpsest.testing import FixedClock, NoProgress
from tests.building import Memory, dataset, mcp, owners
from tests.robustness import catalogs
from tests.robustness.command import ROOT, palimpsest
from tests.robustness.stores import differing, tables

AT = "2026-03-02T08:00:00Z"
NOW = parse("2026-03-02T09:00:00Z")
MINUTE = 60_000
RECORDS = [mcp(dataset("orders"), "ownership", owners("jonas"))]


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    """An empty store."""
    return Memory(tmp_path)


class Racer:
    """A job in a process of its own that waits for the start signal."""

    def __init__(self, job: str, folder: Path, store: Path, catalog: Path) -> None:
        self._go = folder / "go"
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.robustness.racing", job, str(store), str(catalog), str(self._go)],
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "ready\n"

    def result(self) -> tuple[int, dict[str, Any]]:
        """The exit code, and what it printed."""
        out, err = self.process.communicate()
        assert err == ""
        return self.process.returncode, json.loads(out)


def race(jobs: list[Racer], folder: Path) -> list[tuple[int, dict[str, Any]]]:
    """Let all go at once; how each ended, by exit code."""
    (folder / "go").touch()
    return sorted((job.result() for job in jobs), key=lambda done: done[0])


def test_of_two_scans_started_at_once_one_works_and_the_other_says_who_does(memory: Memory, tmp_path: Path) -> None:
    catalog = catalogs.write(tmp_path, "first.json", catalogs.first(20))
    racers = [Racer("scan", tmp_path, tmp_path / "memory.db", catalog) for _ in range(2)]
    pids = {racer.process.pid for racer in racers}
    (won, report), (lost, said) = race(racers, tmp_path)
    assert (won, lost) == (0, 1)
    assert report["written"] > 200
    named = said["error"].removeprefix("scan of file is at work: process ").partition(" on ")
    assert int(named[0]) in pids
    assert named[2].startswith(f"{socket.gethostname()}, since ")
    assert said["hint"] == "wait for it to end; a dead one's place is taken over"


def test_the_command_line_says_who_holds_the_lease_and_exits_1(memory: Memory, tmp_path: Path) -> None:
    catalog = catalogs.write(tmp_path, "first.json", RECORDS)
    hold(memory, f"elsewhere.example.org:4711:{NOW}", beat_at=None)
    done = palimpsest("scan", f"file:{catalog}", store=tmp_path / "memory.db", folder=tmp_path)
    assert done.code == 1
    assert done.err.splitlines()[0].startswith(
        "error: scan of file is at work: process 4711 on elsewhere.example.org, since "
    )


def hold(memory: Memory, holder: str, *, beat_at: Moment | None) -> None:
    """A scan of that holder is at work; its last beat was then, or just now by the machine's clock."""
    from palimpsest.adapters.clock import SystemClock

    now = beat_at if beat_at is not None else SystemClock().now()
    runs.acquire(memory.store, job="scan", source_name="file", rules="0", now=now, holder=holder)


def dead_process() -> str:
    """The name of a process of this machine that is no more."""
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    holder = f"{socket.gethostname()}:{process.pid}:{runs._started(process.pid)}"
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    return holder


def read(memory: Memory, tmp_path: Path, now: Moment) -> int:
    """Scan now; how many episodes were written."""
    catalog = catalogs.write(tmp_path, "records.json", RECORDS)
    request = ScanRequest(source="file", at=parse(AT))
    clock = FixedClock(now, step=1)
    holder = runs.this_process()
    report = scan(memory.store, FileReader(catalog), request, clock=clock, progress=NoProgress(), holder=holder)
    return report.written


HERE = socket.gethostname()
HOLDERS: dict[str, tuple[Callable[[], str], int, bool]] = {
    "dead": (dead_process, 0, True),
    "dead, its number used again": (lambda: f"{HERE}:{os.getpid()}:1", 0, True),
    "alive": (runs.this_process, 0, False),
    "alive, a while ago": (runs.this_process, 4 * MINUTE, False),
    "on another machine": (lambda: "elsewhere:1:1", 0, False),
    "on another machine, silent for a while": (lambda: "elsewhere:1:1", 4 * MINUTE, False),
    "on another machine, silent for too long": (lambda: "elsewhere:1:1", 5 * MINUTE, True),
}


@pytest.mark.parametrize("case", HOLDERS)
def test_only_a_dead_or_silent_holder_is_taken_over(memory: Memory, tmp_path: Path, case: str) -> None:
    holder, silent_for, taken_over = HOLDERS[case]
    hold(memory, holder(), beat_at=Moment(NOW - silent_for))
    if taken_over:
        assert read(memory, tmp_path, NOW) == 2
        assert states(memory) == ["done", "failed"]
    else:
        with pytest.raises(LeaseHeldError, match="scan of file is at work"):
            read(memory, tmp_path, NOW)
        assert states(memory) == ["running"]


def states(memory: Memory) -> list[str]:
    """The states of all runs."""
    db = sqlite3.connect(memory.folder / "memory.db")
    found = sorted(row[0] for row in db.execute("SELECT state FROM run"))
    db.close()
    return found


class TakenOver(NoProgress):
    """Somebody else takes the lease over while the scan is about to write."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory

    def start(self, what: str, total: int | None = None) -> None:
        """At the start of writing."""
        if what == "writing":
            clock = FixedClock(Moment(NOW + 10 * MINUTE))
            runs.acquire(
                self.memory.store, job="scan", source_name="file", rules="0", now=clock.now(), holder="new:1:1"
            )


def test_a_scan_whose_lease_was_taken_over_writes_nothing_more(memory: Memory, tmp_path: Path) -> None:
    catalog = catalogs.write(tmp_path, "records.json", RECORDS)
    before = tables(memory.url)
    with pytest.raises(LeaseHeldError, match="the lease on file was taken over"):
        scan(
            memory.store,
            FileReader(catalog),
            ScanRequest(source="file", at=parse(AT)),
            clock=FixedClock(NOW, step=1),
            progress=TakenOver(memory),
            holder="old:1:1",
        )
    assert differing(tables(memory.url), before) == []
    assert states(memory) == ["failed", "running"]


class LateClock(FixedClock):
    """While the first consolidator judges, another one finds its claims run out and takes them."""

    def __init__(self, memory: Memory) -> None:
        super().__init__(NOW, step=1)
        self.memory = memory

    def now(self) -> Moment:
        """The moment, ten minutes before the other one's."""
        at = super().now()
        if held_by(self.memory) == {"first:1:1"}:
            later = Moment(at + 10 * MINUTE)
            self.memory.store.write(
                lambda c: pending.claim(c, holder="other:1:1", now=later, after=b"\0" * 16, until=b"\xff" * 16, most=10)  # type: ignore[arg-type]
            )
        return at


def held_by(memory: Memory) -> set[str]:
    """Who holds entities."""
    return set(memory.store.read(pending.holders))


def test_a_consolidator_whose_lease_ran_out_writes_nothing(memory: Memory, tmp_path: Path) -> None:
    read(memory, tmp_path, NOW)
    before = tables(memory.url)
    with pytest.raises(LeaseHeldError, match="lease ran out"):
        consolidate(memory.store, clock=LateClock(memory), progress=NoProgress(), holder="first:1:1")
    after = tables(memory.url)
    assert differing(after | {"entity": []}, before | {"entity": []}) == []
    assert held_by(memory) == {"other:1:1"}
    assert states(memory) == ["done", "failed"]


def test_the_entities_of_a_dead_consolidator_are_taken_over_at_once(memory: Memory, tmp_path: Path) -> None:
    read(memory, tmp_path, NOW)
    holder = dead_process()
    memory.store.write(
        lambda c: pending.claim(c, holder=holder, now=NOW, after=b"\0" * 16, until=b"\xff" * 16, most=10)
    )  # type: ignore[arg-type]
    report = consolidate(memory.store, clock=FixedClock(NOW, step=1), progress=NoProgress(), holder=runs.this_process())
    assert (report.episodes, report.left) == (2, 0)


def test_the_entities_of_a_living_consolidator_are_left_to_it(memory: Memory, tmp_path: Path) -> None:
    read(memory, tmp_path, NOW)
    memory.store.write(
        lambda c: pending.claim(c, holder="other:1:1", now=NOW, after=b"\0" * 16, until=b"\xff" * 16, most=10)
    )  # type: ignore[arg-type]
    report = consolidate(memory.store, clock=FixedClock(NOW, step=1), progress=NoProgress(), holder=runs.this_process())
    assert (report.episodes, report.left) == (0, 2)
    later = FixedClock(Moment(NOW + 6 * MINUTE), step=1)
    report = consolidate(memory.store, clock=later, progress=NoProgress(), holder=runs.this_process())
    assert (report.episodes, report.left) == (2, 0)


@pytest.mark.parametrize("consolidators", [2, pytest.param(4, marks=pytest.mark.long)])
def test_consolidators_at_once_do_what_one_does_and_double_nothing(
    memory: Memory, tmp_path: Path, consolidators: int
) -> None:
    (tmp_path / "calm").mkdir()
    calm = Memory(tmp_path / "calm")
    for one in (memory, calm):
        one.scan(catalogs.first(40), at=AT, complete=True)
        one.scan(catalogs.second(40), at="2026-03-03T08:00:00Z", complete=True)
    calm.consolidate()
    total = len(tables(memory.url)["episode"])
    racers = [Racer("consolidate", tmp_path, tmp_path / "memory.db", tmp_path) for _ in range(consolidators)]
    done = race(racers, tmp_path)
    assert [code for code, _ in done] == [0] * consolidators
    shares = [report["episodes"] for _, report in done]
    assert sum(shares) == total
    assert all(share > 0 for share in shares)
    assert differing(tables(memory.url), tables(calm.url)) == []
    assert verify(memory.store, clock=FixedClock(NOW), progress=NoProgress()).broken == 0
