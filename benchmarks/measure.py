"""One measurement, in a process of its own: `python -m benchmarks.measure NAME WORKDIR [SIZE]` prints one JSON object.

Seconds are processor seconds of the process (user and system), which other work disturbs least; `peak_mb` is
the process's largest resident set.
"""

from __future__ import annotations

import json
import resource
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import sqlalchemy as sa

from benchmarks.generate import write_catalog
from palimpsest.adapters.clock import SystemClock
from palimpsest.adapters.datahub.file import FileReader
from palimpsest.adapters.dump_file import DumpFile, lines_of
from palimpsest.jobs.consolidate import consolidate
from palimpsest.jobs.dump import dump
from palimpsest.jobs.load import check, load
from palimpsest.jobs.scan import ScanRequest, scan
from palimpsest.ports import NoProgress
from palimpsest.store import migrate
from palimpsest.store.engine import Store, open_store
from palimpsest.store.schema import episode

SOURCE = "file"
BARE_ROWS = 500_000


def seconds_of(work: Callable[[], object]) -> float:
    """Processor seconds of one call."""
    before = time.process_time()
    work()
    return time.process_time() - before


def catalog(folder: Path, size: int, kind: str = "same") -> Path:
    """A generated catalog of `size` datasets: the same, with new stamps and order, or with 100 changes; made once."""
    path = folder / f"catalog-{size}-{kind}.json"
    if not path.exists():
        day = 0 if kind == "same" else 1
        write_catalog(
            path, datasets=size, day=day, restamp=kind == "restamped", changes=100 if kind == "changed" else 0
        )
    return path


def store_at(folder: Path, size: int) -> Store:
    """The store of a size, set up."""
    store = open_store(f"sqlite:///{folder / f'store-{size}.db'}")
    migrate.ready(store, now=SystemClock().now(), may_write=True)
    return store


def scanned(folder: Path, size: int, kind: str = "same") -> dict[str, object]:
    """Scan a catalog into the store of its size."""
    path, store = catalog(folder, size, kind), store_at(folder, size)
    reports = []
    seconds = seconds_of(
        lambda: reports.append(
            scan(
                store,
                FileReader(path),
                ScanRequest(source=SOURCE),
                clock=SystemClock(),
                progress=NoProgress(),
                holder="benchmark",
            )
        )
    )
    report = reports[0]
    return {
        "seconds": seconds,
        "entities": report.entities,
        "observations": report.observations,
        "written": report.written,
    }


def parse(folder: Path, size: int) -> dict[str, object]:
    """Our streaming reader with no consumer, the best of three; and json.load of the same file."""
    path = catalog(folder, size)

    def read() -> None:
        for _ in FileReader(path).records():
            pass

    best = min(seconds_of(read) for _ in range(3))
    loaded = seconds_of(lambda: json.loads(path.read_bytes()))
    return {"seconds": best, "json_load_seconds": loaded, "megabytes": path.stat().st_size / 1e6}


def bare(folder: Path, size: int) -> dict[str, object]:
    """One SQLAlchemy executemany of 500,000 rows into a table shaped like `episode`, with its indexes."""
    store, seconds = open_store(f"sqlite:///{folder / 'bare.db'}"), 0.0

    def timed(work: Callable[[], object]) -> None:
        nonlocal seconds
        seconds = seconds_of(work)

    bare_into(store, BARE_ROWS, timed)
    return {"seconds": seconds, "rows": BARE_ROWS}


def bare_into(store: Store, count: int, timed: Callable[[Callable[[], object]], None]) -> None:
    """One executemany of so many rows into a new table, which is gone at the end; `timed` is given the insert to do."""
    metadata = sa.MetaData()
    table = sa.Table(
        "bare",
        metadata,
        *[sa.Column(c.name, c.type, primary_key=c.primary_key, nullable=c.nullable) for c in episode.columns],
        sa.UniqueConstraint("cell_id", "run_id"),
        sqlite_with_rowid=False,
    )
    waits = sa.text("verdict IS NULL")
    sa.Index("bare_pending", table.c.cell_id, sqlite_where=waits, postgresql_where=waits)
    metadata.drop_all(store.engine)
    metadata.create_all(store.engine)
    value = '{"description":"what the column holds, in a line","native_type":"VARCHAR(20)","path":"a_column"}'
    rows = [
        {
            "cell_id": number.to_bytes(16, "big"),
            "number": 1,
            "run_id": bytes(16),
            "observed_at": 1_700_000_000_000,
            "after_at": None,
            "kind": "first",
            "impact": 1,
            "baseline": True,
            "value": value,
            "ground": None,
            "stamped_at": None,
            "actor": None,
            "catalog_run": "run",
            "verdict": None,
        }
        for number in range(count)
    ]
    timed(lambda: store.write(lambda connection: connection.execute(sa.insert(table), rows)))
    metadata.drop_all(store.engine)


def consolidated(folder: Path, size: int) -> dict[str, object]:
    """Consolidate everything that is pending in the store of a size."""
    store = store_at(folder, size)
    reports = []
    seconds = seconds_of(
        lambda: reports.append(consolidate(store, clock=SystemClock(), progress=NoProgress(), holder="benchmark"))
    )
    return {"seconds": seconds, "episodes": reports[0].episodes}


def dumped(folder: Path, size: int) -> dict[str, object]:
    """Dump the store of a size into a file."""
    store, reports = store_at(folder, size), []
    with DumpFile(folder / f"dump-{size}.jsonl") as writer:
        seconds = seconds_of(lambda: reports.append(dump(store, writer, clock=SystemClock(), progress=NoProgress())))
    return {"seconds": seconds, "rows": reports[0].rows}


def loaded(folder: Path, size: int) -> dict[str, object]:
    """Load the dump of a size into an empty store, verify included; and reading it to its end before."""
    path, store = folder / f"dump-{size}.jsonl", open_store(f"sqlite:///{folder / f'loaded-{size}.db'}")
    migrate.ready(store, now=SystemClock().now(), may_write=True)
    checked = seconds_of(lambda: check(path.name, lines_of(path), progress=NoProgress()))
    reports = []
    seconds = seconds_of(
        lambda: reports.append(load(store, path.name, lines_of(path), clock=SystemClock(), progress=NoProgress()))
    )
    return {"seconds": seconds, "check_seconds": checked, "rows": reports[0].rows}


def brief(folder: Path, size: int) -> dict[str, object]:
    """One brief of one dataset in process, 200 datasets in turn: milliseconds of wall time, p50 and p95."""
    from palimpsest.queries.brief import brief as ask
    from palimpsest.queries.held import When

    store = store_at(folder, size)
    with sqlite3.connect(folder / f"store-{size}.db") as database:
        urns = [
            row[0] for row in database.execute("SELECT urn FROM entity WHERE kind = 'dataset' ORDER BY id LIMIT 220")
        ]
        episodes = database.execute("SELECT count(*) FROM episode").fetchone()[0]
    when = When(now=SystemClock().now())
    took = []
    for urn in urns:
        before = time.perf_counter()
        ask(store, [urn], 2_000, when)
        took.append((time.perf_counter() - before) * 1_000)
    took = sorted(took[20:])
    return {"p50_ms": took[len(took) // 2], "p95_ms": took[int(len(took) * 0.95)], "episodes": episodes}


def start(folder: Path, size: int) -> dict[str, object]:
    """Wall milliseconds of commands that do no work, and of importing typer; the best of 15, taken in turn."""
    commands = {
        "import typer": [sys.executable, "-c", "import typer"],
        "--version": [sys.executable, "-m", "palimpsest.surfaces.cli.app", "--version"],
        "--help": [sys.executable, "-m", "palimpsest.surfaces.cli.app", "--help"],
        "scan --help": [sys.executable, "-m", "palimpsest.surfaces.cli.app", "scan", "--help"],
    }
    best = dict.fromkeys(commands, float("inf"))
    for _ in range(15):
        for name, command in commands.items():
            before = time.perf_counter()
            subprocess.run(command, capture_output=True, check=True)
            best[name] = min(best[name], (time.perf_counter() - before) * 1_000)
    return {"milliseconds": best}


MEASURES: dict[str, Callable[[Path, int], dict[str, object]]] = {
    "parse": parse,
    "bare": bare,
    "scan": scanned,
    "rescan": scanned,
    "rescan-restamped": lambda folder, size: scanned(folder, size, "restamped"),
    "rescan-changed": lambda folder, size: scanned(folder, size, "changed"),
    "consolidate": consolidated,
    "dump": dumped,
    "load": loaded,
    "brief": brief,
    "start": start,
}


def main() -> None:
    """Measure what the arguments name."""
    name, folder, size = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 0
    result = MEASURES[name](folder, size)
    result["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    sys.stdout.write(json.dumps(result) + "\n")


if __name__ == "__main__":
    main()
