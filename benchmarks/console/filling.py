"""A store of 10,000 datasets and 1,000,000 episodes, filled by the real jobs: one first reading, and seven that each
change 70,000 cells, back and forth."""

from __future__ import annotations

import sys
from pathlib import Path

import sqlalchemy as sa

from benchmarks.generate import write_catalog
from palimpsest.adapters.clock import SetClock
from palimpsest.adapters.datahub.file import FileReader
from palimpsest.core.moment import Moment, parse
from palimpsest.jobs.consolidate import consolidate
from palimpsest.jobs.index import index
from palimpsest.jobs.scan import ScanRequest, scan
from palimpsest.ports import NoProgress
from palimpsest.store import migrate
from palimpsest.store.engine import Store, open_store
from palimpsest.store.schema import entity, episode, version

READINGS = 8
CHANGES_OF_DATASET = 7
_DAY = 86_400_000


def fill(folder: Path, datasets: int, *, columns: int = 40, readings: int = READINGS) -> Store:
    """The store, made once, of datasets with so many columns."""
    made = folder / f"console-{datasets}.db"
    url = f"sqlite:///{made}"
    clock = SetClock(parse("2026-03-02T08:05:00Z"))
    is_new = not made.exists()
    store = open_store(url)
    migrate.upgrade(store, now=clock.now(), secret=bytes(16))
    if not is_new:  # of an older version, perhaps: what that did not count is counted
        index(store, clock=clock, progress=NoProgress())
        return store
    store.use_write_ahead_log()
    catalogs = [folder / f"console-{datasets}-{name}.json" for name in ("as-it-was", "changed")]
    for path, changes in zip(catalogs, (0, datasets * CHANGES_OF_DATASET), strict=True):
        write_catalog(path, datasets=datasets, columns=columns, changes=changes)
    for reading in range(readings):
        sys.stderr.write(f"reading {reading + 1} of {readings}\n")
        at = Moment(parse("2026-03-02T08:00:00Z") + reading * _DAY)
        clock.at = Moment(at + 300_000)
        request = ScanRequest(source="file", at=at)
        scan(store, FileReader(catalogs[reading % 2]), request, clock=clock, progress=NoProgress(), holder="benchmark")
        clock.at = Moment(at + 600_000)
        consolidate(store, clock=clock, progress=NoProgress(), holder="benchmark")
    index(store, clock=clock, progress=NoProgress())
    return store


def sizes(store: Store) -> dict[str, int]:
    """How much is in it."""
    return {
        str(table.name): int(store.read(lambda c, t=table: c.scalar(sa.select(sa.func.count()).select_from(t))) or 0)  # type: ignore[misc]
        for table in (entity, episode, version)
    }
