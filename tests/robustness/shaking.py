"""A driver: scanners and consolidators on one PostgreSQL, while processes die, connections are cut, the server stops.

`python -m tests.robustness.shaking FOLDER SEED SECONDS` prints one JSON line. Each role is a process of its own, run as
`… FOLDER SEED ROLE URL ARGUMENTS`; whoever dies is started again. What came of it is compared with one worker's.
"""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg
import sqlalchemy as sa

from palimpsest.adapters.clock import SystemClock
from palimpsest.adapters.datahub.file import FileReader
from palimpsest.core.errors import LeaseHeldError, StoreError
from palimpsest.core.moment import Moment, parse
from palimpsest.jobs import consolidate as consolidate_job
from palimpsest.jobs import scan as scan_job
from palimpsest.jobs.consolidate import consolidate
from palimpsest.jobs.scan import ScanRequest, scan
from palimpsest.jobs.verify import verify
from palimpsest.store import pending
from palimpsest.store.engine import Store, open_store
from palimpsest.store.runs import this_process
from palimpsest.testing import NoProgress
from tests import servers
from tests.building import Record, dataset, lineage, mcp, owners, schema, status, tags

START = parse("2026-01-01T08:00:00Z")
HOUR = 3_600_000
SOURCES = ("north", "south")
CONSOLIDATORS = 4
DATASETS = 60
# What two stores that saw the same must have in common: all but runs, and the times of recording.
SAME = {
    "cell": "SELECT id, belief_id, aspect, key, part, digest, last FROM cell ORDER BY id",
    "episode": "SELECT cell_id, number, observed_at, after_at, kind, impact, baseline, value, ground, stamped_at, "
    "verdict FROM episode ORDER BY cell_id, number",
    "version": "SELECT belief_id, number, state, cell_id, episode, valid_from, valid_after, valid_to, judge, reason, "
    "reverts_to, successor, ended_reason FROM version ORDER BY belief_id, number",
    "evidence": "SELECT belief_id, number, cell_id, episode, role FROM evidence ORDER BY 1, 2, 3, 4",
    "edge": 'SELECT upstream_id, "column", belief_id, downstream_column FROM edge ORDER BY 1, 2, 3',
}


# --- what the scanners read -------------------------------------------------------------------------------------


def reading(source: str, seed: int, number: int) -> list[Record]:
    """One reading of a catalog that changes a little from one to the next; the same for the same numbers."""
    records = []
    for each in range(DATASETS):
        urn = dataset(f"{source}.table{each}")
        at = {part: _changed_last(f"{source}{part}{each}", seed, number) for part in ("o", "s", "t", "u", "x")}
        columns = [(f"c{i}", f"VARCHAR({at['s'] + i})") for i in range(3 + at["s"] % 4)]
        records += [
            mcp(urn, "status", status(removed=(at["x"] + each) % 9 == 8)),
            mcp(urn, "ownership", owners(*[f"p{at['o'] % 5}", "steward"][: 1 + at["o"] % 2])),
            mcp(urn, "schemaMetadata", schema(*columns)),
            mcp(urn, "globalTags", tags(*[f"t{i}" for i in range(at["t"] % 3)])),
            mcp(urn, "upstreamLineage", lineage([dataset(f"{source}.table{(each + at['u']) % DATASETS}")])),
        ]
    return records


def _changed_last(name: str, seed: int, number: int) -> int:
    """The number of the last reading up to this one in which a thing changed: about one in six."""
    for at in range(number, 0, -1):
        if random.Random(f"{seed} {name} {at}").random() < 1 / 6:
            return at
    return 0


def file_of(folder: Path, source: str, seed: int, number: int) -> Path:
    """The reading as a file."""
    file = folder / f"{source}-{number}.json"
    if not file.exists():
        file.with_suffix(".part").write_text(json.dumps(reading(source, seed, number)))
        file.with_suffix(".part").rename(file)
    return file


# --- roles ------------------------------------------------------------------------------------------------------


@contextmanager
def opened(url: str) -> Iterator[Store]:
    """The store, while the block runs."""
    store = open_store(url, patience=5)
    try:
        yield store
    finally:
        store.dispose()


def scan_reading(store: Store, folder: Path, source: str, seed: int, number: int) -> None:
    """One reading of one source."""
    asked = ScanRequest(source=source, at=Moment(START + number * HOUR))
    with_reader = FileReader(file_of(folder, source, seed, number))
    scan(store, with_reader, asked, clock=SystemClock(), progress=NoProgress(), holder=this_process())


def scanner(folder: Path, seed: int, url: str, source: str) -> None:
    """Read and read, from where the last process of this source was; note how many readings are whole."""
    done = folder / f"{source}.done"
    while not (folder / "stop").exists():
        number = int(done.read_text()) + 1 if done.exists() else 0
        with suppress(StoreError, LeaseHeldError), opened(url) as store:
            scan_reading(store, folder, source, seed, number)
            done.with_suffix(".part").write_text(str(number))
            done.with_suffix(".part").rename(done)
        time.sleep(0.2)


def consolidator(folder: Path, url: str) -> None:
    """Consolidate and consolidate."""
    while not (folder / "stop").exists():
        with suppress(StoreError, LeaseHeldError), opened(url) as store:
            consolidate(store, clock=SystemClock(), progress=NoProgress(), holder=this_process())
        time.sleep(0.05)


# --- shaking ----------------------------------------------------------------------------------------------------


class Shaken:
    """The processes on one server, and what is done to them."""

    def __init__(self, folder: Path, seed: int, server: servers.Postgres, url: str) -> None:
        self.folder, self.seed, self.server, self.url = folder, seed, server, url
        self.random = random.Random(seed)
        self.done: Counter[str] = Counter()
        self.processes: dict[tuple[str, str], subprocess.Popen[bytes]] = {}
        for source in SOURCES:
            self.start("scanner", source)
        for number in range(CONSOLIDATORS):
            self.start("consolidator", str(number))

    def start(self, role: str, name: str) -> None:
        """Start a process."""
        arguments = [str(self.folder), str(self.seed), role, self.url, name]
        self.processes[role, name] = subprocess.Popen([sys.executable, "-m", "tests.robustness.shaking", *arguments])

    def shake(self, seconds: float) -> None:
        """Do something to somebody every second or so."""
        end = time.monotonic() + seconds
        restarts = [time.monotonic() + seconds * share for share in (0.35, 0.7)]
        while time.monotonic() < end:
            time.sleep(self.random.uniform(0.2, 1.2))
            if restarts and time.monotonic() > restarts[0]:
                restarts.pop(0)
                self.server.stop()
                self.server.start()
                self.done["server restarts"] += 1
            elif self.random.random() < 0.5:
                self.kill()
            else:
                self.cut()
            self.restart_dead()

    def kill(self) -> None:
        """SIGKILL to one of the processes."""
        self.random.choice(list(self.processes.values())).send_signal(signal.SIGKILL)
        self.done["kills"] += 1

    def cut(self) -> None:
        """One of the connections is cut."""
        with suppress(psycopg.Error), psycopg.connect(self.server.conninfo("postgres"), autocommit=True) as connection:
            rows = connection.execute(
                "SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname LIKE 't%'"
            ).fetchall()
            if rows:
                connection.execute("SELECT pg_terminate_backend(%s)", self.random.choice(rows))
                self.done["cuts"] += 1

    def restart_dead(self) -> None:
        """Start again whoever died; one that ended by itself has failed."""
        for (role, name), process in self.processes.items():
            code = process.poll()
            if code is None:
                continue
            if code != -signal.SIGKILL:
                self.done[f"{role} ended with {code}"] += 1
            self.start(role, name)

    def end(self) -> None:
        """Let everybody finish what is at hand."""
        (self.folder / "stop").touch()
        for process in self.processes.values():
            with suppress(subprocess.TimeoutExpired):
                process.wait(60)
            if process.poll() is None:
                process.kill()
                self.done["did not end"] += 1


def rows(store: Store, table: str) -> list[tuple[Any, ...]]:
    """The rows of a table that two stores must have in common."""
    return [tuple(row) for row in store.read(lambda connection: connection.execute(sa.text(SAME[table])).all())]


def complete(store: Store, folder: Path, seed: int, readings: dict[str, int]) -> None:
    """Repeat the reading that may be half-written, and consolidate what waits."""
    for source, number in readings.items():
        scan_reading(store, folder, source, seed, number)
    consolidate(store, clock=Later(), progress=NoProgress(), holder=this_process())


class Later:
    """A clock by which every lease of a dead process has run out."""

    def now(self) -> Moment:
        """Ten minutes from now."""
        return Moment(SystemClock().now() + 600_000)


def complaints(shaken: Store, calm: Store) -> Iterator[str]:
    """What is wrong with the shaken store."""
    for rule in verify(shaken, clock=SystemClock(), progress=NoProgress()).rules:
        if rule.broken:
            yield f"{rule.rule} is broken by {rule.broken}: {'; '.join(rule.examples)}"
    if left := shaken.read(pending.count_pending):
        yield f"{left} episodes are pending"
    for table in SAME:
        of_shaken, of_calm = rows(shaken, table), rows(calm, table)
        if of_shaken != of_calm:
            only = [row for row in of_shaken if row not in set(of_calm)][:3]
            yield f"{table}: {len(of_shaken)} rows for {len(of_calm)}; of it alone {only}"


def main(folder: Path, seed: int, seconds: float) -> None:
    """Shake, complete, compare."""
    kind = servers.kind("postgresql")
    urls = [kind.url(kind.make()) for _ in range(2)]
    shaken = Shaken(folder, seed, kind.server, urls[0])
    try:
        shaken.shake(seconds)
    finally:
        shaken.end()
    readings = {source: int((folder / f"{source}.done").read_text()) + 1 for source in SOURCES}
    store, calm = open_store(urls[0]), open_store(urls[1])
    complete(store, folder, seed, readings)
    for source, last in readings.items():
        for number in range(last + 1):
            scan_reading(calm, folder, source, seed, number)
            consolidate(calm, clock=SystemClock(), progress=NoProgress(), holder=this_process())
    found = list(complaints(store, calm))
    figures = {table: len(rows(store, table)) for table in SAME}
    print(json.dumps({"complaints": found, "readings": readings, "done": shaken.done, "rows": figures}))  # noqa: T201
    store.dispose()
    calm.dispose()


if __name__ == "__main__":
    scan_job._EPISODES_AT_ONCE = consolidate_job._EPISODES_AT_ONCE = 100
    place, number, *rest = sys.argv[1:]
    match rest:
        case ["scanner", url, source]:
            scanner(Path(place), int(number), url, source)
        case ["consolidator", url, _]:
            consolidator(Path(place), url)
        case [given]:
            try:
                main(Path(place), int(number), float(given))
            finally:
                servers.end_all()
