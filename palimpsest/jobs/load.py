"""load: fill an empty store with what a dump holds, make the projections anew, and verify.

A load that is broken off leaves a store that refuses work; nothing in it looks whole before all of it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from palimpsest.core.dump import Header, RowError
from palimpsest.jobs import verify as verify_job
from palimpsest.jobs.dump_reading import DumpReader
from palimpsest.jobs.verify import VerifyReport
from palimpsest.ports import Clock, Progress
from palimpsest.store import loading, projections
from palimpsest.store.engine import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadReport:
    """What was loaded: from which dump, how many rows of each table, how many edges made anew, and how it verifies."""

    palimpsest: str
    revision: str
    dumped_at: str
    tables: dict[str, int]
    edges: int
    content: str
    verify: VerifyReport
    milliseconds: int

    @property
    def rows(self) -> int:
        """How many rows were loaded."""
        return sum(self.tables.values())


def check(name: str, lines: Iterator[bytes], *, progress: Progress) -> Header:
    """Read all of a dump and write nothing. Raises UsageError when it is not whole and sound."""
    reader = DumpReader(name, lines)
    progress.start("checking", reader.header.rows)
    for batch in reader.batches():
        progress.advance(len(batch.rows))
    progress.done()
    return reader.header


def abandon_unfinished(store: Store) -> bool:
    """Empty a store whose load did not end, so that it can be loaded again. Whether there was such a load."""
    mark = loading.mark_of(store)
    if mark is not None:
        loading.abandon(store, mark)
    return mark is not None


def load(store: Store, name: str, lines: Iterator[bytes], *, clock: Clock, progress: Progress) -> LoadReport:
    """Load a dump into an empty store that is migrated. Raises UsageError for the dump, StoreError for the store."""
    started = clock.now()
    reader = DumpReader(name, lines)
    mark = loading.begin(store)
    progress.start("loading", reader.header.rows)
    for batch in reader.batches():
        try:
            loading.insert(store, mark, batch.table, batch.rows)
        except RowError as error:
            reader.fail(batch.first + error.index, error)
        progress.advance(len(batch.rows))
    assert reader.end is not None
    progress.start("lineage")
    edges = projections.rebuild_edges(store, progress.advance)
    progress.done()
    tables = {head.name: head.rows for head in reader.header.tables}
    loading.finish(store, mark, tables)
    return LoadReport(
        palimpsest=reader.header.palimpsest,
        revision=reader.header.revision,
        dumped_at=reader.header.dumped_at,
        tables=tables,
        edges=edges,
        content=reader.end.content,
        verify=verify_job.verify(store, clock=clock, progress=progress),
        milliseconds=clock.now() - started,
    )
