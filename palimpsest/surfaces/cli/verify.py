"""`palimpsest verify`: count every rule on the live database."""

from __future__ import annotations

from typing import Annotated

import typer

from palimpsest.surfaces.cli import diagnostics, output, reports
from palimpsest.surfaces.cli.context import Context
from palimpsest.surfaces.cli.diagnostics import ExitCode


def verify(
    ctx: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> ExitCode:
    """Count every rule on the database; exit 1 if any is broken."""
    from palimpsest import wiring
    from palimpsest.jobs import verify as job

    cli = Context.of(ctx)
    store = wiring.store_for_reading(cli.settings)
    with diagnostics.progress() as progress:
        report = job.verify(store, clock=wiring.clock(), progress=progress)
    store.dispose()
    if as_json:
        output.emit_json("verify", report)
    elif not cli.quiet or report.broken:
        output.emit_text(reports.verify_lines(report))
    return ExitCode.FAILED if report.broken else ExitCode.OK
