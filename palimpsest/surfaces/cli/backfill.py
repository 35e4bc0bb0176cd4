"""`palimpsest backfill`: the versions that DataHub keeps of its aspects, as history before the first reading."""

from __future__ import annotations

from contextlib import closing
from typing import Annotated

import typer

from palimpsest.surfaces.cli import diagnostics, output, reports
from palimpsest.surfaces.cli.context import Context
from palimpsest.surfaces.cli.diagnostics import ExitCode


def backfill(
    ctx: typer.Context,
    what: Annotated[
        str, typer.Argument(metavar="SOURCE", help="Whose history is read: datahub-graphql.")
    ] = "datahub-graphql",
    source: Annotated[
        str | None, typer.Option(help="The name the source is remembered by; its kind if not given.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be written, and write nothing.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> ExitCode:
    """Fill in the history that DataHub itself keeps.

    DataHub keeps some old versions of each aspect, 20 unless it is told otherwise. They become episodes at the time at
    which they were written, before the first thing held. Run it once, before the first scan or after it; running it
    again adds nothing.
    """
    from palimpsest import wiring
    from palimpsest.jobs import backfill as job
    from palimpsest.store.runs import this_process

    settings = Context.of(ctx).settings
    reader = wiring.history_reader(what, settings)
    asked = job.BackfillRequest(source=source or reader.kind, scope=wiring.scope(settings), dry_run=dry_run)
    with closing(reader):
        store = wiring.store_for_dry_run(settings) if dry_run else wiring.store_for_writing(settings)
        with diagnostics.progress() as progress:
            report = job.backfill(store, reader, asked, clock=wiring.clock(), progress=progress, holder=this_process())
    store.dispose()
    reports.log("backfill.finished", report.run, written=report.written, failed=report.failed)
    if as_json:
        output.emit_json("backfill", report)
    elif not Context.of(ctx).quiet or report.failed:
        output.emit_text(reports.backfill_lines(report))
    return ExitCode.FAILED if report.failed else ExitCode.OK
