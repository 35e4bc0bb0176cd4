"""`palimpsest publish`: links to the pages of datasets, as a proposals file that `datahub ingest` accepts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from palimpsest.surfaces.cli import output, reports
from palimpsest.surfaces.cli.context import Context
from palimpsest.surfaces.cli.diagnostics import ExitCode


def publish(
    ctx: typer.Context,
    to: Annotated[Path | None, typer.Option(metavar="FILE", help="The proposals file, in place of publish.to.")] = None,
    all_datasets: Annotated[bool, typer.Option("--all", help="Every dataset, not only those with a revision.")] = False,
    allow_local: Annotated[bool, typer.Option("--allow-local", help="Allow a loopback address in links.")] = False,
    unchecked: Annotated[bool, typer.Option("--unchecked", help="Do not look whether the pages answer.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the links, and write nothing.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> ExitCode:
    """Write links to the memory's pages into a proposals file.

    `datahub ingest` adds them to the catalog, and touches no other link.
    """
    from palimpsest import wiring

    cli = Context.of(ctx).overriding({"publish.to": str(to) if to else None})
    store = wiring.store_for_reading(cli.settings) if dry_run else wiring.store_for_writing(cli.settings)
    report = wiring.publish(
        cli.settings,
        store,
        all_datasets=all_datasets,
        allow_local=allow_local,
        unchecked=unchecked,
        dry_run=dry_run,
    )
    store.dispose()
    if as_json:
        output.emit_json("publish", report)
    elif not cli.quiet or report.lost:
        output.emit_text(reports.publish_lines(report))
    return ExitCode.FAILED if report.lost else ExitCode.OK
