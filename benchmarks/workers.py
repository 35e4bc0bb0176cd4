"""What more consolidators bring, on PostgreSQL: with a judge that takes 200 ms for an answer, and with rules alone.

`python -m benchmarks.workers [--datasets 2000]` prints a table. The server runs on the same machine, without fsync. The
time of a process to start is not counted: workers wait for each other before they begin.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
import tempfile
import time
from collections.abc import Sequence
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

from palimpsest.adapters.clock import SystemClock
from palimpsest.adapters.datahub.file import FileReader
from palimpsest.core.belief import Version
from palimpsest.core.cluster import Cluster
from palimpsest.core.moment import Moment, parse
from palimpsest.core.reconcile import Judged, RulesJudge
from palimpsest.jobs.consolidate import consolidate
from palimpsest.jobs.consolidate_together import start_of
from palimpsest.jobs.scan import ScanRequest, scan
from palimpsest.store.engine import open_store
from palimpsest.store.runs import this_process
from palimpsest.testing import NoProgress
from tests import servers
from tests.building import dataset, mcp, owners, schema

LATENCY_S = 0.2
READINGS = 3
COLUMNS = 12


class Remote:
    """The rules, as slow as a model elsewhere: one answer for each question, whatever its size."""

    name = "remote"

    def judge(self, clusters: Sequence[tuple[Cluster, Sequence[Version]]]) -> list[Judged]:
        """The rules' verdicts, a while later."""
        time.sleep(LATENCY_S)
        return RulesJudge().judge(clusters)


def fill(url: str, folder: Path, datasets: int) -> int:
    """Readings of a catalog in which every owner and column changes; how many episodes wait then."""
    store = open_store(url)
    written = 0
    for number in range(READINGS):
        records = []
        for each in range(datasets):
            urn = dataset(f"table{each}")
            columns = [(f"c{i}", f"VARCHAR({number + i + 1})") for i in range(COLUMNS)]
            records += [mcp(urn, "ownership", owners(f"p{number}")), mcp(urn, "schemaMetadata", schema(*columns))]
        file = folder / f"{number}.json"
        file.write_text(json.dumps(records))
        asked = ScanRequest(source="file", at=Moment(parse("2026-03-01") + number * 86_400_000))
        with_reader = FileReader(file)
        done = scan(store, with_reader, asked, clock=SystemClock(), progress=NoProgress(), holder=this_process())
        written += done.written
    store.dispose()
    return written


def worker(url: str, number: int, workers: int, remote: bool, at_once: int, ready: Barrier) -> None:
    """One consolidator: waits for the others, then works."""
    store = open_store(url)
    store.ids  # noqa: B018 - asks the store, so that everything is imported and connected
    ready.wait()
    consolidate(
        store,
        clock=SystemClock(),
        progress=NoProgress(),
        holder=this_process(),
        judge=Remote() if remote else None,
        start=start_of(number, workers),
        at_once=at_once,
    )
    store.dispose()


def measured(kind: servers.Kind, filled: str, workers: int, *, remote: bool, at_once: int) -> float:
    """Seconds that so many consolidators take for all that waits in a copy of the filled database."""
    name = f"{filled}_{workers}_{'remote' if remote else 'rules'}"
    kind.server.execute(f"CREATE DATABASE {name} TEMPLATE {filled}")
    processes = multiprocessing.get_context("spawn")
    ready = processes.Barrier(workers + 1)
    arguments = [(kind.url(name), number, workers, remote, at_once, ready) for number in range(workers)]
    started = [processes.Process(target=worker, args=each) for each in arguments]
    for process in started:
        process.start()
    ready.wait()
    begun = time.monotonic()
    for process in started:
        process.join()
    took = time.monotonic() - begun
    if any(process.exitcode for process in started):
        raise SystemExit("a worker failed")
    kind.drop(name)
    return took


def measure(datasets: int) -> dict[str, Any]:
    """Every measurement."""
    kind = servers.kind("postgresql")
    filled = kind.make()
    with tempfile.TemporaryDirectory() as folder:
        waiting = fill(kind.url(filled), Path(folder), datasets)
    found: dict[str, Any] = {"episodes": waiting}
    for workers in (1, 2, 4):
        found[f"remote {workers}"] = measured(kind, filled, workers, remote=True, at_once=max(50, waiting // 200))
    for workers in (1, 2):
        found[f"rules {workers}"] = measured(kind, filled, workers, remote=False, at_once=5_000)
    return found


def table(found: dict[str, Any]) -> str:
    """What was reached beside the goals, as ratios of this run."""
    rows = [
        ("a judge of 200 ms, 2 workers", "-", found["remote 1"] / found["remote 2"]),
        ("a judge of 200 ms, 4 workers", "≥ 3.5 ×", found["remote 1"] / found["remote 4"]),
        ("rules only, 2 workers", "≥ 1.2 ×", found["rules 1"] / found["rules 2"]),
    ]
    lines = [f"| {found['episodes']:,} episodes on PostgreSQL | goal | faster than one |", "|---|---|---:|"]
    return "\n".join([*lines, *(f"| {what} | {goal} | {reached:.2f} × |" for what, goal, reached in rows)])


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--datasets", type=int, default=2_000)
    options.add_argument("--json", type=Path)
    chosen = options.parse_args()
    try:
        figures = measure(chosen.datasets)
    finally:
        servers.end_all()
    if chosen.json:
        chosen.json.write_text(json.dumps(figures))
    sys.stdout.write(table(figures) + "\n")
