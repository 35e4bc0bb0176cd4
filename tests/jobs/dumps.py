"""Dumps in tests: taken into memory, loaded from it, changed by hand and sealed again."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from palimpsest.core.dump import Sums, end_line
from palimpsest.core.moment import parse
from palimpsest.jobs.dump import DumpReport, dump
from palimpsest.jobs.load import LoadReport, load
from palimpsest.store import migrate
from palimpsest.store.engine import Store, open_store
from palimpsest.testing import FixedClock, NoProgress
from tests.building import Memory, dataset, lineage, mcp, owners, place, schema, status, tags

NOW = parse("2026-04-01T00:00:00Z")
ORDERS, USERS, LOGS = dataset("orders"), dataset("users"), dataset("umsätze_größe")


class Kept:
    """A dump that is kept in memory."""

    def __init__(self) -> None:
        self.data = bytearray()

    def start(self) -> None:
        """Begin anew."""
        self.data.clear()

    def write(self, data: bytes) -> None:
        """Keep some more."""
        self.data += data

    @property
    def lines(self) -> list[bytes]:
        """All lines, each with its end."""
        return bytes(self.data).splitlines(keepends=True)


def dumped(store: Store) -> list[bytes]:
    """The lines of a dump, taken at one time."""
    return dumped_with_report(store)[0]


def dumped_with_report(store: Store) -> tuple[list[bytes], DumpReport]:
    """The lines of a dump, and what the job says."""
    kept = Kept()
    report = dump(store, kept, clock=FixedClock(NOW, step=0), progress=NoProgress())
    return kept.lines, report


def empty(folder: Path, name: str = "loaded.db") -> Store:
    """A store that is migrated and empty, with a secret of its own."""
    url = place(folder, name)
    if url.startswith("sqlite"):
        (folder / name).write_bytes(_empty_file())
    return _migrated(url)


def _migrated(url: str) -> Store:
    store = open_store(url)
    migrate.upgrade(store, now=parse("2026-01-01"), secret=b"another secret !")
    return store


@cache
def _empty_file() -> bytes:
    """What an empty embedded store is as a file; made once, since every revision runs for it."""
    with tempfile.TemporaryDirectory() as folder:
        _migrated(f"sqlite:///{folder}/empty.db").dispose()
        return Path(folder, "empty.db").read_bytes()


def loaded(store: Store, lines: Sequence[bytes] | Iterator[bytes]) -> LoadReport:
    """Load lines into a store."""
    return load(store, "the dump", iter(lines), clock=FixedClock(NOW, step=0), progress=NoProgress())


def resealed(lines: Sequence[bytes]) -> list[bytes]:
    """The lines with an end that fits them: what somebody else's program could write. The old end is left out."""
    header, *rows = lines[:-1]
    sums = Sums()
    sums.add_header(header)
    for row in rows:
        sums.add_rows(row, 1)
    return [header, *rows, end_line(sums.end())]


def first_of(lines: Sequence[bytes], table: str) -> int:
    """Where the first row of a table is in the lines."""
    return next(at for at, line in enumerate(lines) if line.startswith(f'["{table}",'.encode()))


def changed(line: bytes, position: int, value: object) -> bytes:
    """A row with another value; position 1 is the first column's."""
    row = json.loads(line)
    row[position] = value
    return json.dumps(row, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


def history(folder: Path, name: str = "memory.db") -> Memory:
    """A memory with a past: two sources, versions superseded and ended, lineage, and episodes that still wait."""
    memory = Memory(folder, name=name)
    first = [
        mcp(ORDERS, "status", status()),
        mcp(ORDERS, "schemaMetadata", schema(("id", "INT"), ("note", "TEXT"))),
        mcp(ORDERS, "ownership", owners("jonas")),
        mcp(ORDERS, "upstreamLineage", lineage([USERS, LOGS], [(USERS, "id", "id")], ORDERS)),
        mcp(ORDERS, "globalTags", tags("pii", "größe", "Zebra")),
        mcp(USERS, "status", status()),
        mcp(LOGS, "status", status()),
    ]
    memory.remember(first, at="2026-03-02T08:00:00Z", complete=True)
    for source in ("ähnlich", "Zebra", "a", "b"):
        memory.remember([mcp(ORDERS, "ownership", owners("lea"))], at="2026-03-02T08:00:00Z", source=source)
    second = [
        mcp(ORDERS, "status", status()),
        mcp(ORDERS, "schemaMetadata", schema(("id", "INT"))),
        mcp(ORDERS, "ownership", owners("ana", at="2026-03-02T20:00:00Z", by="mira")),
        mcp(ORDERS, "upstreamLineage", lineage([USERS])),
        mcp(ORDERS, "globalTags", tags("pii")),
        mcp(USERS, "status", status(removed=True)),
    ]
    memory.remember(second, at="2026-03-03T08:00:00Z", complete=True)
    memory.scan([mcp(ORDERS, "ownership", owners("jonas"))], at="2026-03-04T08:00:00Z")
    return memory
