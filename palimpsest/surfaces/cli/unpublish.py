"""`palimpsest unpublish`: take our links away from a running DataHub, and nothing else."""

from __future__ import annotations

from typing import Annotated

import typer

from palimpsest.core.errors import UsageError
from palimpsest.surfaces.cli import output, reports
from palimpsest.surfaces.cli.context import Context
from palimpsest.surfaces.cli.diagnostics import ExitCode

_DATASET = "urn:li:dataset:"


def unpublish(
    ctx: typer.Context,
    urns: Annotated[list[str] | None, typer.Argument(metavar="[URN]...", help="The datasets.")] = None,
    everywhere: Annotated[bool, typer.Option("--all", help="Every dataset on which a link was published.")] = False,
    source: Annotated[
        str | None, typer.Option("--from", metavar="datahub", help="The running DataHub, in place of publish.to.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the lists, and write nothing.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> ExitCode:
    """Take our links away from DataHub, and nothing else."""
    from palimpsest import wiring

    if bool(urns) == everywhere:
        raise UsageError("name datasets, or take --all", "palimpsest unpublish URN…, or palimpsest unpublish --all")
    for urn in urns or ():
        if not urn.startswith(_DATASET):
            raise UsageError(f"{urn!r} is no dataset", f"a dataset's URN starts with {_DATASET}")
    cli = Context.of(ctx).overriding({"publish.to": source})
    store = wiring.store_for_reading(cli.settings) if dry_run else wiring.store_for_writing(cli.settings)
    report = wiring.unpublish(cli.settings, store, urns or None, dry_run=dry_run)
    store.dispose()
    if as_json:
        output.emit_json("unpublish", report)
    elif not cli.quiet or report.failed or report.notes:
        output.emit_text(reports.unpublish_lines(report))
    return ExitCode.FAILED if report.failed else ExitCode.OK
