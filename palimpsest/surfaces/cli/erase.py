"""`palimpsest erase`: replace a person's name by a pseudonym everywhere, for good."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from palimpsest.surfaces.cli import asking, diagnostics, output, reports, upkeep
from palimpsest.surfaces.cli.context import Context
from palimpsest.surfaces.cli.diagnostics import ExitCode
from palimpsest.surfaces.cli.forget import rewritten

if TYPE_CHECKING:
    from palimpsest.jobs.erase import EraseReport


def erase(
    ctx: typer.Context,
    urn: Annotated[str, typer.Argument(metavar="URN", help="urn:li:corpuser:NAME or urn:palimpsest:person:NAME.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Count where the name stands, and write nothing.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> ExitCode:
    """Replace a person by a pseudonym, everywhere and from now on.

    The URN, the name as whole words of free text, and e-mail addresses of it. What is read or said later is replaced as
    it comes. It cannot be undone. Look at --dry-run first: a name that is a common word stands in many places.
    """
    import secrets

    from palimpsest import wiring
    from palimpsest.jobs.erase import erase as job
    from palimpsest.store.runs import this_process

    cli = Context.of(ctx)
    store = wiring.store_for_reading(cli.settings) if dry_run else wiring.store_for_writing(cli.settings)
    with diagnostics.progress() as progress:
        report = job(
            store,
            urn,
            salt=lambda: secrets.token_hex(8),
            clock=wiring.clock(),
            progress=progress,
            holder=this_process(),
            dry_run=dry_run,
        )
    if report.run:
        upkeep.indexed(store)
    store.dispose()
    reports.log("erase.finished", report.run, places=report.places)
    if as_json:
        output.emit_json("erase", report)
    elif not cli.quiet or report.dumps:
        output.emit_text(lines(report))
    return rewritten(report.rewritten)


def lines(report: EraseReport) -> list[str]:
    """What was erased, and where the name still is."""
    stands = "would stand" if report.dry_run else "stands"
    said = [f"{report.pseudonym} {stands} for the person from now on; places where the name stood: {report.places}"]
    said += [f"  {place}: {count}" for place, count in report.counts.items()]
    if report.dumps:
        said.append("these dumps were made before, and may hold the name still:")
        said += [f"  {one.file}, {asking.spoken(one.made)}" for one in report.dumps]
    return said
