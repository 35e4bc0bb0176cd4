"""`palimpsest noise`: the cells that change most, and the line that silences each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from palimpsest.surfaces.cli import asking, output
from palimpsest.surfaces.cli.asking import AsJson

if TYPE_CHECKING:
    from palimpsest.queries.noise import NoiseView


def noise(
    ctx: typer.Context,
    source: Annotated[str | None, typer.Option(help="Only this source.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="How many at most.")] = 20,
    as_json: AsJson = False,
) -> None:
    """List the cells that change most, and how to silence them."""
    from palimpsest.queries import noise as query

    with asking.remembered(ctx) as store:
        view = query.noise(store, limit, source)
    if as_json:
        output.emit_json("noise", view)
    else:
        output.emit_text(noise_lines(view))


def noise_lines(view: NoiseView) -> list[str]:
    """The cells as a table."""
    if not view.cells:
        return ["nothing has changed yet: no noise"]
    rows = [
        (str(cell.changes), cell.subject, cell.aspect, cell.key, asking.spoken(cell.last), cell.line)
        for cell in view.cells
    ]
    return output.table(rows, header=("CHANGES", "ENTITY", "ASPECT", "KEY", "LAST", "SCAN.IGNORE"), right={0})
