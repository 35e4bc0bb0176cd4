"""`palimpsest dump`: write all that is remembered into one file."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from palimpsest.core.errors import PalimpsestError, StoreError, UsageError
from palimpsest.surfaces.cli import diagnostics, output, reports
from palimpsest.surfaces.cli.context import Context


def dump(
    ctx: typer.Context,
    file: Annotated[str, typer.Argument(metavar="FILE", help="Where to; gzip if it ends in .gz, - for stdout.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Write all that is remembered into one file.

    JSON Lines, for a backup or a move to another database; equal stores give equal files. It holds the secret of the
    store: it is written with mode 0600.
    """
    from palimpsest import wiring
    from palimpsest.jobs import dump as job

    if as_json and file == "-":
        raise UsageError("--json and the dump cannot both go to stdout", "name a file")
    cli = Context.of(ctx)
    store = wiring.store_for_reading(cli.settings)
    with diagnostics.progress() as progress:
        if file == "-":
            report = job.dump(store, _ToStdout(), clock=wiring.clock(), progress=progress)
        else:
            with wiring.dump_file(Path(file)) as writer:
                report = job.dump(store, writer, clock=wiring.clock(), progress=progress)
    with suppress(PalimpsestError):  # a store that may only be read was dumped all the same
        job.record(
            store, "stdout" if file == "-" else str(Path(file).absolute()), clock=wiring.clock(), holder=_holder()
        )
    store.dispose()
    if as_json:
        output.emit_json("dump", report)
    elif file == "-":
        diagnostics.note("\n".join(reports.dump_lines(report, "stdout")))
    elif not cli.quiet:
        output.emit_text(reports.dump_lines(report, file))


def _holder() -> str:
    from palimpsest.store.runs import this_process

    return this_process()


class _ToStdout:
    """A dump on standard output: what is written there cannot be taken back."""

    def __init__(self) -> None:
        self._started = False

    def start(self) -> None:
        """Raises StoreError the second time."""
        if self._started:
            raise StoreError("the store changed too much while it was dumped", "dump into a file, which is begun again")
        self._started = True

    def write(self, data: bytes) -> None:
        """Write some lines."""
        output.emit_bytes(data)
