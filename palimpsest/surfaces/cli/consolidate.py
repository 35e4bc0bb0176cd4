"""`palimpsest consolidate`: turn pending episodes into versions of beliefs."""

from __future__ import annotations

from typing import Annotated

import typer

from palimpsest.surfaces.cli import diagnostics, output, reports, upkeep
from palimpsest.surfaces.cli.context import Context


def consolidate(
    ctx: typer.Context,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the verdicts, and write nothing.")] = False,
    workers: Annotated[int, typer.Option(min=1, max=64, help="So many processes at once, on a database server.")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Turn what was written down into versioned beliefs."""
    from palimpsest import wiring
    from palimpsest.jobs.consolidate import consolidate as consolidate_alone
    from palimpsest.jobs.consolidate_together import consolidate_together
    from palimpsest.store.runs import this_process

    cli = Context.of(ctx)
    store = wiring.store_for_reading(cli.settings) if dry_run else wiring.store_for_writing(cli.settings)
    with diagnostics.progress() as progress:
        clock, holder = wiring.clock(), this_process()
        if dry_run:
            report = consolidate_alone(store, clock=clock, progress=progress, holder=holder, dry_run=True)
        else:
            report = consolidate_together(store, workers=workers, clock=clock, progress=progress, holder=holder)
    if not dry_run:
        upkeep.afterwards(cli.settings, store)
    store.dispose()
    reports.log(
        "consolidation.finished", report.run, episodes=report.episodes, founded=report.founded, left=report.left
    )
    if as_json:
        output.emit_json("consolidate", report)
    elif not cli.quiet:
        output.emit_text(reports.consolidate_lines(report))
