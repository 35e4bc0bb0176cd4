"""`palimpsest publish`: links to the pages of datasets, in a running DataHub or a file for `datahub ingest`."""

from __future__ import annotations

from typing import Annotated

import typer

from palimpsest.surfaces.cli import output, reports
from palimpsest.surfaces.cli.context import Context
from palimpsest.surfaces.cli.diagnostics import ExitCode


def publish(
    ctx: typer.Context,
    to: Annotated[
        str | None, typer.Option(metavar="FILE|datahub", help="A proposals file or DataHub, in place of publish.to.")
    ] = None,
    all_datasets: Annotated[bool, typer.Option("--all", help="Every dataset, not only those with a revision.")] = False,
    allow_local: Annotated[bool, typer.Option("--allow-local", help="Allow a loopback address in links.")] = False,
    unchecked: Annotated[bool, typer.Option("--unchecked", help="Do not look whether the pages answer.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Put links back that people took away.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the links, and write nothing.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> ExitCode:
    """Write links to the memory's pages into DataHub.

    Into a running one (`--to datahub`), or into a proposals file that `datahub ingest` applies. No other link is
    touched. In a running one, a link that an ingestion wiped is put back, and one that a person took away is not.
    """
    from palimpsest import wiring

    cli = Context.of(ctx).overriding({"publish.to": to})
    store = wiring.store_for_reading(cli.settings) if dry_run else wiring.store_for_writing(cli.settings)
    report = wiring.publish(
        cli.settings,
        store,
        all_datasets=all_datasets,
        allow_local=allow_local,
        unchecked=unchecked,
        force=force,
        dry_run=dry_run,
    )
    store.dispose()
    if as_json:
        output.emit_json("publish", report)
    elif not cli.quiet or report.failed or report.notes:
        output.emit_text(reports.publish_lines(report))
    return ExitCode.FAILED if report.failed else ExitCode.OK
