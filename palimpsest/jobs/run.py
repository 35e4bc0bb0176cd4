"""run: scan, consolidate and verify under one lease, with one report: what a cron job calls."""

from __future__ import annotations

from dataclasses import dataclass

from palimpsest.core.aspects import RULES
from palimpsest.jobs import consolidate as consolidate_job
from palimpsest.jobs import scan as scan_job
from palimpsest.jobs import verify as verify_job
from palimpsest.jobs.consolidate import ConsolidateReport
from palimpsest.jobs.judging.judging import Judging
from palimpsest.jobs.leased import released_on_failure
from palimpsest.jobs.scan import ScanReport, ScanRequest
from palimpsest.jobs.verify import VerifyReport
from palimpsest.ports import CatalogReader, Clock, Progress
from palimpsest.store import runs
from palimpsest.store.engine import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReport:
    """The reports of the steps that ran."""

    scan: ScanReport
    consolidate: ConsolidateReport | None
    verify: VerifyReport | None


def run(
    store: Store,
    reader: CatalogReader,
    request: ScanRequest,
    *,
    with_consolidate: bool,
    with_verify: bool,
    clock: Clock,
    progress: Progress,
    holder: str,
    judging: Judging | None = None,
) -> RunReport:
    """Run the steps; `judging` is a model for what rules leave, where there is one.

    Raises what scan raises; a broken rule is in the report.
    """
    runs.check_origin(store, name=request.source, kind=reader.kind, origin=reader.origin)
    lease = runs.acquire(store, job="run", source_name=request.source, rules=RULES, now=clock.now(), holder=holder)
    with released_on_failure(store, lease, clock):
        scanned, values = scan_job.scan_under(store, reader, request, clock=clock, progress=progress, lease=lease)
        counts: dict[str, object] = scan_job.counts_of(scanned)
        consolidated = None
        if with_consolidate:
            consolidated = consolidate_job.consolidate_under(
                store, clock=clock, progress=progress, lease=lease, judging=judging
            )
            counts["consolidate"] = consolidate_job.counts_of(consolidated)
        runs.release(store, lease, state="done", now=clock.now(), counts=counts, **values)
    verified = verify_job.verify(store, clock=clock, progress=progress) if with_verify else None
    return RunReport(scan=scanned, consolidate=consolidated, verify=verified)
