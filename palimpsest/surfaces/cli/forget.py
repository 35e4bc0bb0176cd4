"""`palimpsest forget`: drop what is weak and bears nothing, or the texts of versions that are long closed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from palimpsest.surfaces.cli import diagnostics, output, reports, upkeep
from palimpsest.surfaces.cli.context import Context
from palimpsest.surfaces.cli.diagnostics import ExitCode

if TYPE_CHECKING:
    from palimpsest.jobs.forget import ForgetReport

_WEAK = 0.1  # core.strength.WEAK, which is not imported for --help


def forget(
    ctx: typer.Context,
    below: Annotated[float, typer.Option(metavar="X", help="Drop what is weaker than this, from 0 to 1.")] = _WEAK,
    superseded_before: Annotated[
        str | None,
        typer.Option(metavar="DATE", help="Forget the texts of versions that were superseded or retracted before it."),
    ] = None,
    keep_file: Annotated[
        bool, typer.Option("--keep-file", help="Do not write the store's file anew: it may hold what is gone.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Count what would be forgotten, and write nothing.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> ExitCode:
    """Forget what is weak, and nothing that is held rests on.

    Dropped are restatements that were not recalled lately, that newer ones bear out too. With --superseded-before the
    texts of old versions go; the versions stay, and history says when their text was forgotten.
    """
    from palimpsest import wiring
    from palimpsest.core.moment import parse
    from palimpsest.jobs.forget import ForgetRequest
    from palimpsest.jobs.forget import forget as job
    from palimpsest.store.runs import this_process

    cli = Context.of(ctx)
    request = ForgetRequest(
        below=below,
        superseded_before=parse(superseded_before) if superseded_before else None,
        dry_run=dry_run,
        rewrite=not keep_file,
    )
    store = wiring.store_for_reading(cli.settings) if dry_run else wiring.store_for_writing(cli.settings)
    with diagnostics.progress() as progress:
        report = job(store, request, clock=wiring.clock(), progress=progress, holder=this_process())
    if report.run:
        upkeep.indexed(store)
    store.dispose()
    reports.log("forget.finished", report.run, dropped=report.dropped, emptied=report.emptied)
    if as_json:
        output.emit_json("forget", report)
    elif not cli.quiet:
        output.emit_text(lines(report))
    return rewritten(report.rewritten)


def lines(report: ForgetReport) -> list[str]:
    """What was forgotten."""
    if not report.forgotten:
        said = ["nothing to forget"]
    elif report.emptied:
        said = [f"texts of closed versions {'to forget' if report.dry_run else 'forgotten'}: {report.emptied}"]
    else:
        said = [f"weak episodes {'to drop' if report.dry_run else 'dropped'}: {report.dropped}"]
    said += [f"  {aspect}: {count}" for aspect, count in report.by_aspect.items()]
    if report.kept:
        said.append(f"nothing rests on these either, and they are not weak yet: {report.kept}")
    return said


def rewritten(done: bool | None) -> ExitCode:
    """The exit code by whether the store's file could be written anew, with a warning where it could not."""
    if done is False:
        diagnostics.warn("others are at work on the store: its file still holds what is gone; run this again later")
        return ExitCode.FAILED
    return ExitCode.OK
