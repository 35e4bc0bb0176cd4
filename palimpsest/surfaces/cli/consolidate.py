"""`palimpsest consolidate`: turn pending episodes into versions of beliefs."""

from __future__ import annotations

from typing import Annotated

import typer

from palimpsest.surfaces.cli import diagnostics, output, reports
from palimpsest.surfaces.cli.context import Context


def consolidate(
    ctx: typer.Context,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the verdicts, and write nothing.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Turn what was written down into versioned beliefs."""
    from palimpsest import wiring
    from palimpsest.jobs import consolidate as job
    from palimpsest.store.runs import this_process

    cli = Context.of(ctx)
    store = wiring.store_for_reading(cli.settings) if dry_run else wiring.store_for_writing(cli.settings)
    with diagnostics.progress() as progress:
        report = job.consolidate(store, clock=wiring.clock(), progress=progress, holder=this_process(), dry_run=dry_run)
    store.dispose()
    reports.log(
        "consolidation.finished", report.run, episodes=report.episodes, founded=report.founded, left=report.left
    )
    if as_json:
        output.emit_json("consolidate", report)
    elif not cli.quiet:
        output.emit_text(reports.consolidate_lines(report))
