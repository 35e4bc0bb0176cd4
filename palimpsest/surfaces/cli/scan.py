"""`palimpsest scan`: read a source once and write down only what differs."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Annotated

import typer

from palimpsest.surfaces.cli import diagnostics, output, reports
from palimpsest.surfaces.cli.context import Context
from palimpsest.surfaces.cli.diagnostics import ExitCode

if TYPE_CHECKING:
    from palimpsest.config import Settings
    from palimpsest.jobs.estimate import Estimate
    from palimpsest.jobs.scan import ScanRequest


def scan(
    ctx: typer.Context,
    what: Annotated[
        str, typer.Argument(metavar="SOURCE", help="What to read: file:PATH, datahub-graphql or datahub-mcp.")
    ],
    source: Annotated[
        str | None, typer.Option(help="The name the source is remembered by; its kind if not given.")
    ] = None,
    at: Annotated[str | None, typer.Option(help="The time of the reading, ISO 8601.")] = None,
    complete: Annotated[
        bool, typer.Option("--complete", help="The reading lists every entity: what it lacks is gone.")
    ] = False,
    include: Annotated[
        list[str] | None, typer.Option(help="Only URNs that match this pattern; may be repeated.")
    ] = None,
    exclude: Annotated[
        list[str] | None, typer.Option(help="No URN that matches this pattern; may be repeated.")
    ] = None,
    platform: Annotated[list[str] | None, typer.Option(help="Only this platform; may be repeated.")] = None,
    env: Annotated[list[str] | None, typer.Option(help="Only this environment (PROD); may be repeated.")] = None,
    domain: Annotated[list[str] | None, typer.Option(help="Only this domain; may be repeated.")] = None,
    ignore: Annotated[
        list[str] | None, typer.Option(help="Leave out ASPECT or ASPECT:KEYGLOB; may be repeated.")
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Read only so many entities; such a reading ends nothing.")
    ] = None,
    estimate: Annotated[
        bool, typer.Option("--estimate", help="Tell what a first scan takes; read and write nothing.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be written, and write nothing.")] = False,
    accept_mass_change: Annotated[
        str | None, typer.Option(metavar="RUN", help="Go on with what this stopped run found.")
    ] = None,
    fail_on: Annotated[str, typer.Option(help="Exit 6 after a change, or after a breaking one.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> ExitCode:
    """Read a source, and write down only what differs."""
    from palimpsest import wiring
    from palimpsest.jobs import scan as job
    from palimpsest.store.runs import this_process

    cli = Context.of(ctx).overriding(
        {
            "scan.include": include or None,
            "scan.exclude": exclude or None,
            "scan.platforms": platform or None,
            "scan.environments": env or None,
            "scan.domains": domain or None,
            "scan.ignore": ignore or None,
        }
    )
    reports.check_gate(fail_on)
    if estimate:
        estimated = wiring.estimate(what, cli.settings)
        if as_json:
            output.emit_json("estimate", estimated)
        else:
            output.emit_text(estimate_lines(estimated))
        return ExitCode.OK
    reader = wiring.reader(what, cli.settings, complete=complete)
    asked = request(
        cli.settings, source or reader.kind, at=at, limit=limit, dry_run=dry_run, accept_mass_change=accept_mass_change
    )
    store = wiring.store_for_dry_run(cli.settings) if dry_run else wiring.store_for_writing(cli.settings)
    with closing(reader), diagnostics.progress() as progress:
        report = job.scan(store, reader, asked, clock=wiring.clock(), progress=progress, holder=this_process())
    store.dispose()
    reports.log(
        "scan.finished", report.run, written=report.written, unchanged=report.unchanged, failed=report.records_failed
    )
    if as_json:
        output.emit_json("scan", report)
    elif not cli.quiet or report.records_failed:
        output.emit_text(reports.scan_lines(report))
    if reports.is_tripped(report, fail_on):
        return ExitCode.GATE
    return ExitCode.FAILED if report.records_failed else ExitCode.OK


def estimate_lines(found: Estimate) -> list[str]:
    """What a first scan takes."""
    rows = []
    if found.entities is not None:
        rows.append(("entities", f"{found.entities:,}"))
    if found.records is not None:
        rows.append(("records", f"about {found.records:,}"))
    if found.requests is not None:
        rows.append(("requests", f"about {found.requests:,} to DataHub, each entity taken for a dataset"))
    at = "" if found.answer_seconds is None else f" where DataHub needs {found.answer_seconds:.1f} s for an answer"
    rows.append(("minutes", f"{found.minutes:.1f}{at}"))
    rows.append(("MB", f"{found.read_mb:,.1f} to read, {found.store_mb:,.1f} of store after it"))
    return output.table(rows)


def request(
    settings: Settings,
    source: str,
    *,
    at: str | None = None,
    limit: int | None = None,
    dry_run: bool = False,
    accept_mass_change: str | None = None,
) -> ScanRequest:
    """What a scan is asked to do, by settings and options."""
    from palimpsest import wiring
    from palimpsest.core.moment import parse
    from palimpsest.jobs.scan import ScanRequest

    return ScanRequest(
        source=source,
        at=parse(at) if at else None,
        scope=wiring.scope(settings),
        limit=limit,
        dry_run=dry_run,
        accept_mass_change=accept_mass_change,
        mass_share=settings.scan.mass_change_share,
        mass_cells=settings.scan.mass_change_cells,
    )
