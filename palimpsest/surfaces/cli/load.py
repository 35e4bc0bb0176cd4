"""`palimpsest load`: fill an empty store with what a dump holds."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from palimpsest.core.errors import UsageError
from palimpsest.surfaces.cli import diagnostics, output, reports
from palimpsest.surfaces.cli.context import Context
from palimpsest.surfaces.cli.diagnostics import ExitCode


def load(
    ctx: typer.Context,
    file: Annotated[str, typer.Argument(metavar="FILE", help="A dump, plain or gzip; - for stdin.")],
    again: Annotated[
        bool, typer.Option("--again", help="Empty a store whose load was broken off, and start again.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> ExitCode:
    """Fill an empty store with what a dump holds.

    Ids, numbers and times stay what they were, on any database. A file is checked to its end before anything is
    written. Until all of it is loaded, the store refuses every other command.
    """
    from palimpsest import wiring
    from palimpsest.jobs import load as job

    cli = Context.of(ctx)
    with diagnostics.progress() as progress:
        if file == "-":
            if sys.stdin is None:
                raise UsageError("standard input is closed", "name a file")
            name, lines = "stdin", wiring.dump_lines_in(sys.stdin.buffer)
        else:
            name, path = file, Path(file).expanduser()
            if path.is_file():  # and no pipe, which can be read once only
                job.check(name, wiring.dump_lines(path), progress=progress)
            lines = wiring.dump_lines(path)
        store = wiring.store_for_loading(cli.settings, again=again)
        report = job.load(store, name, lines, clock=wiring.clock(), progress=progress)
    store.dispose()
    if as_json:
        output.emit_json("load", report)
    elif not cli.quiet or report.verify.broken:
        output.emit_text(reports.load_lines(report))
    return ExitCode.FAILED if report.verify.broken else ExitCode.OK
