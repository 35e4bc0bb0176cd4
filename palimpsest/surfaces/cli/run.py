"""`palimpsest run`: scan, consolidate, verify, publish and notify as configured; what a cron job calls."""

from __future__ import annotations

from contextlib import closing
from typing import Annotated

import typer

from palimpsest.core.errors import ConfigError, PalimpsestError
from palimpsest.surfaces.cli import diagnostics, output, reports, upkeep
from palimpsest.surfaces.cli import notify as notices
from palimpsest.surfaces.cli.consolidate import models
from palimpsest.surfaces.cli.context import Context
from palimpsest.surfaces.cli.diagnostics import ExitCode
from palimpsest.surfaces.cli.scan import request


def run(
    ctx: typer.Context,
    what: Annotated[
        str | None, typer.Argument(metavar="[SOURCE]", help="What to read, in place of run.source.")
    ] = None,
    source: Annotated[str | None, typer.Option(help="The name the source is remembered by.")] = None,
    at: Annotated[str | None, typer.Option(help="The time of the reading, ISO 8601.")] = None,
    accept_mass_change: Annotated[
        str | None, typer.Option(metavar="RUN", help="Go on with what this stopped run found.")
    ] = None,
    judge: Annotated[
        str, typer.Option(metavar="rules|model", help="Who judges text: the rules alone, or the model of the settings.")
    ] = "",
    fail_on: Annotated[str | None, typer.Option(help="Exit 6 after a change, or after a breaking one.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> ExitCode:
    """Scan, consolidate, verify, publish, notify.

    As the settings say; one lease, one report: what a cron job calls.
    """
    from palimpsest import wiring
    from palimpsest.jobs import run as job
    from palimpsest.store.runs import this_process

    cli = Context.of(ctx).overriding({"run.source": what, "run.source_name": source, "run.fail_on": fail_on})
    settings = cli.settings
    if not settings.run.source:
        raise ConfigError("run.source is not set", "set it in palimpsest.toml, or name it: palimpsest run file:PATH")
    reader = wiring.reader(settings.run.source, settings, complete=settings.run.complete)
    asked = request(settings, settings.run.source_name or reader.kind, at=at, accept_mass_change=accept_mass_change)
    store = wiring.store_for_writing(settings)
    wiring.begin_notices(settings, store)
    with (
        closing(reader),
        models(settings, judge if settings.run.consolidate else "rules") as judging,
        diagnostics.progress() as progress,
    ):
        report = job.run(
            store,
            reader,
            asked,
            with_consolidate=settings.run.consolidate,
            with_verify=settings.run.verify,
            clock=wiring.clock(),
            progress=progress,
            holder=this_process(),
            judging=next(iter(judging), None),
        )
    if settings.run.consolidate:
        upkeep.afterwards(settings, store)
    published, unpublished = None, None
    if settings.run.publish:
        try:
            published = wiring.publish(settings, store)
        except PalimpsestError as error:  # the rest of the run is done, and is told first
            unpublished = error
    notified, unnotified = notices.after_run(settings, store)
    store.dispose()
    broken = report.verify.broken if report.verify else 0
    failed = bool(broken or (published and published.lost) or (notified and notified.failed))
    reports.log(
        "run.finished", report.scan.run, written=report.scan.written, unchanged=report.scan.unchanged, broken=broken
    )
    if as_json:
        output.emit_json("run", {"run": report, "publish": published, "notify": notified})
    elif not cli.quiet or failed or unpublished or unnotified or report.scan.records_failed:
        lines = reports.scan_lines(report.scan)
        lines += reports.consolidate_lines(report.consolidate) if report.consolidate else []
        if report.verify and broken:
            lines += reports.verify_lines(report.verify)
        elif report.verify:
            lines.append(f"verify: {report.verify.checked} checks, 0 broken")
        lines += reports.publish_lines(published) if published else []
        lines += notices.report_lines(notified) if notified else []
        output.emit_text(lines)
    if unpublished:
        raise unpublished
    if unnotified:
        raise unnotified
    if failed:
        return ExitCode.FAILED
    if reports.is_tripped(report.scan, settings.run.fail_on):
        return ExitCode.GATE
    judged = reports.judged(report.consolidate) if report.consolidate else ExitCode.OK
    return judged or (ExitCode.FAILED if report.scan.records_failed else ExitCode.OK)
