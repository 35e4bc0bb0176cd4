"""scan: read a source once, write down only what differs from its baseline.

read (into the spool) → plan (what differs) → apply (in transactions that each renew the lease). Nothing is written
before the reading is whole; no belief is touched. The stages are in jobs/scanning.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple

from palimpsest.core.aspects import RULES
from palimpsest.core.moment import Moment
from palimpsest.jobs.leased import released_on_failure
from palimpsest.jobs.scanning import counting, guard
from palimpsest.jobs.scanning.planning import Planner
from palimpsest.jobs.scanning.reading import Read, confirm, read_into, time_of
from palimpsest.jobs.scanning.request import ScanRequest, Work, scope_of, scope_text
from palimpsest.jobs.scanning.writing import Writer
from palimpsest.ports import CatalogReader, Clock, Progress
from palimpsest.store import erasing, readings, runs
from palimpsest.store.engine import Store
from palimpsest.store.readings import Batch
from palimpsest.store.runs import Lease, Origin
from palimpsest.store.spool import Spool

_EPISODES_AT_ONCE = 20_000
_BEAT_EVERY_MS = 30_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanReport:
    """What a scan found and wrote. `observations` = `unchanged` + the compared ones; every number is counted from rows.

    written        episodes written, quiet and baseline ones included
    changes        of those, what counts as a change (no baseline, not quiet), by impact
    baseline       of those, first readings, which are no change
    contradicting  of those, what contradicts a held value
    unconfirmed    what is held, was not stated, and of which the source could not tell more: it stays held
    resumed        of the entities, those that were taken from an earlier reading that broke
    learned        by raw aspect and aspect: cells held, fresh ones, days watched, changes seen (core.confidence)
    """

    run: str
    source: str
    read_at: Moment
    read_at_from: str
    last_read_at: Moment | None
    complete: bool
    is_first: bool
    dry_run: bool
    entities: int
    observations: int
    written: int
    unchanged: int
    baseline: int
    quiet: int
    contradicting: int
    unconfirmed: int
    changes: dict[str, int]
    by_aspect: dict[str, int]
    records_read: int
    records_used: int
    records_out_of_scope: int
    records_failed: int
    skipped: dict[str, int]
    failures: list[str]
    unused_patches: dict[str, int]
    milliseconds: int
    resumed: int = 0
    learned: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    planned: list[str] = field(default_factory=list)

    @property
    def unchanged_share(self) -> float:
        """Which share of the observations was unchanged, between 0 and 1."""
        return self.unchanged / self.observations if self.observations else 1.0


def scan(
    store: Store, reader: CatalogReader, request: ScanRequest, *, clock: Clock, progress: Progress, holder: str
) -> ScanReport:
    """Scan under a lease of its own. Raises LeaseHeldError, MassChangeError, UsageError, CatalogError, StoreError."""
    if request.dry_run:
        return _Scan(store, reader, request, clock, progress, None).run()
    runs.check_origin(store, name=request.source, kind=reader.kind, origin=reader.origin)
    lease = runs.acquire(store, job="scan", source_name=request.source, rules=RULES, now=clock.now(), holder=holder)
    with released_on_failure(store, lease, clock):
        report, values = scan_under(store, reader, request, clock=clock, progress=progress, lease=lease)
        runs.release(store, lease, state="done", now=clock.now(), counts=counts_of(report), **values)
    return report


def scan_under(
    store: Store, reader: CatalogReader, request: ScanRequest, *, clock: Clock, progress: Progress, lease: Lease
) -> tuple[ScanReport, dict[str, object]]:
    """Scan under a lease that the caller holds: the report, and what the caller must set on the run when it ends it."""
    runs.check_origin(store, name=request.source, kind=reader.kind, origin=reader.origin)
    work = _Scan(store, reader, request, clock, progress, lease)
    report = work.run()
    return report, work.run_values(report.written)


def counts_of(report: ScanReport) -> dict[str, object]:
    """The counters of a report as its run keeps them."""
    return {
        "entities": report.entities,
        "observations": report.observations,
        "written": report.written,
        "unchanged": report.unchanged,
        "baseline": report.baseline,
        "quiet": report.quiet,
        "contradicting": report.contradicting,
        "unconfirmed": report.unconfirmed,
        "changes": report.changes,
        "by_aspect": report.by_aspect,
        "records": {
            "read": report.records_read,
            "used": report.records_used,
            "out of scope": report.records_out_of_scope,
            "failed": report.records_failed,
            "skipped": report.skipped,
        },
        "learned": report.learned,
    }


class _Counted(NamedTuple):
    """What was counted of a reading beside its records."""

    entities: int
    observations: int
    unconfirmed: int


class _Scan:
    """One scan at work: its lease, its time, and the order of its stages."""

    def __init__(
        self,
        store: Store,
        reader: CatalogReader,
        request: ScanRequest,
        clock: Clock,
        progress: Progress,
        lease: Lease | None,
    ) -> None:
        self.store, self.clock, self.lease = store, clock, lease
        self.started_at = self.beat_at = clock.now()
        last = store.read(lambda connection: runs.last_reading(connection, request.source))
        self.work = Work(
            store=store,
            reader=reader,
            request=request,
            ids=store.ids,
            progress=progress,
            beat=self.beat,
            last=last,
            last_scope=scope_of(last.scope) if last else None,
            names=store.read(lambda connection: erasing.pseudonyms(connection, store.ids)) or None,
        )
        self.read_at = self.started_at
        self.complete = False

    def run(self) -> ScanReport:
        """Read, plan, apply."""
        work = self.work
        accepted = guard.accepted_endings(work)
        planner = Planner(work)
        with Spool() as spool:
            spool.load_held(readings.held_parts(self.store, work.request.source))
            self.resume()
            read = read_into(spool, work)
            self.complete = read.complete
            self.read_at, read_at_from = time_of(work, read.newest, self.clock.now())
            entities = spool.entity_count()
            unconfirmed = 0 if work.reader.listing_is_proof else confirm(spool, work, read)
            unchanged = spool.unchanged_cells()
            for ordinal in spool.covered():
                work.coverage.add(ordinal)
            planner.plan_changes(spool)
            if read.complete and work.reader.listing_is_proof:
                planner.plan_unlisted(spool)
            guard.check(work, planner.endings, accepted, self.lease)
            writer = self.writer(planner)
            before = counting.earlier(work)
            writer.write(spool)
            learned = counting.learned(before, self.read_at, spool.shares_read(), writer.moves)
            planned = writer.said(spool)
        if work.reader.kept is not None:
            work.reader.kept.end()
        work.progress.done()
        counted = _Counted(entities, unchanged + planner.compared, unconfirmed)
        return replace(self.report(read, read_at_from, counted, writer, planned), learned=learned)

    def resume(self) -> None:
        """Let the reader go on where it broke, with nothing that is older than what is held; never in a dry run."""
        reader, last = self.work.reader, self.work.last
        if reader.kept is not None and self.lease is not None:
            since = last.read_at if last is not None else None
            reader.kept.begin(kind=reader.kind, origin=reader.origin, source=self.work.request.source, since=since)

    def writer(self, planner: Planner) -> Writer:
        """What writes the plan, at the time of the reading."""
        run = self.lease.run if self.lease is not None else None
        return Writer(self.work, planner, run=run, read_at=self.read_at, full=_EPISODES_AT_ONCE, commit=self.commit)

    def commit(self, batch: Batch, written: int) -> None:
        """One transaction: the lease renewed, the run's counters exact, the rows written."""
        assert self.lease is not None
        lease, values, now = self.lease, self.run_values(written), self.clock.now()
        request, reader = self.work.request, self.work.reader
        origin = Origin(name=request.source, kind=reader.kind, origin=reader.origin)
        self.store.write_leased(lambda connection: readings.commit_batch(connection, lease, now, values, origin, batch))

    def run_values(self, written: int) -> dict[str, object]:
        """What the run's row says of this reading so far."""
        return {
            "read_at": self.read_at,
            "complete": self.complete,
            "scope": scope_text(self.work.request.scope),
            "coverage": self.work.coverage.packed(),
            "written": written,
        }

    def beat(self) -> None:
        """Renew the lease when it is time to."""
        now = self.clock.now()
        if self.lease is None or now - self.beat_at < _BEAT_EVERY_MS:
            return
        lease = self.lease
        self.store.write(lambda connection: runs.beat(connection, lease, now))
        self.beat_at = now

    def report(
        self, read: Read, read_at_from: str, counted: _Counted, writer: Writer, planned: list[str]
    ) -> ScanReport:
        """Everything counted."""
        last, request, tally = self.work.last, self.work.request, self.work.tally
        return ScanReport(
            run=self.lease.run.hex() if self.lease else "",
            source=request.source,
            read_at=self.read_at,
            read_at_from=read_at_from,
            last_read_at=last.read_at if last else None,
            complete=read.complete,
            is_first=last is None,
            dry_run=request.dry_run,
            entities=counted.entities,
            observations=counted.observations,
            unconfirmed=counted.unconfirmed,
            written=writer.written,
            unchanged=max(0, counted.observations - writer.written),
            baseline=writer.baseline,
            quiet=writer.quiet,
            contradicting=writer.contradicting,
            changes=dict(writer.changes),
            by_aspect=dict(sorted(writer.by_aspect.items())),
            records_read=tally.read,
            records_used=tally.used,
            records_out_of_scope=tally.out_of_scope,
            records_failed=tally.failed,
            skipped=dict(sorted(tally.skipped.items())),
            failures=list(tally.failures),
            unused_patches=dict(sorted(tally.unused_patches.items())),
            milliseconds=self.clock.now() - self.started_at,
            resumed=self.work.reader.kept.taken if self.work.reader.kept is not None else 0,
            planned=planned,
        )


__all__ = ["ScanReport", "ScanRequest", "counts_of", "scan", "scan_under"]
