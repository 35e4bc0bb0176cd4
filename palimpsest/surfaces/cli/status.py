"""`palimpsest status`: how much is remembered, and how it grows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from palimpsest.surfaces.cli import asking, output
from palimpsest.surfaces.cli.asking import AsJson

if TYPE_CHECKING:
    from palimpsest.queries.status import StatusView
    from palimpsest.store.embedders import Filled

_MEANT = {
    "current": "searched",
    "coming": "being made, then searched: palimpsest embed --all goes on",
    "going": "being deleted",
}


def status(ctx: typer.Context, as_json: AsJson = False) -> None:
    """Tell how much is remembered, how it grows, what waits."""
    from palimpsest.queries import status as query

    with asking.remembered(ctx) as store:
        view = query.status(store)
    if as_json:
        output.emit_json("status", view)
    else:
        output.emit_text(status_lines(view))


def status_lines(view: StatusView) -> list[str]:
    """The numbers as text."""
    size = f"{view.bytes / 1e6:.1f} MB" if view.bytes is not None else "not told"
    rows = [("store", view.store), ("size", size), ("pending", f"{view.pending} episodes")]
    growth = view.growth
    if growth.readings:
        each = ", ".join(str(one.written) for one in growth.readings)
        rows.append(("growth", f"{growth.mean:.0f} episodes a reading (newest first: {each})"))
    rows += [("vectors", _vectors(one)) for one in view.embedders]
    lines = output.table(rows)
    lines += [
        "",
        *output.table([(name, str(count)) for name, count in view.rows.items()], header=("TABLE", "ROWS"), right={1}),
    ]
    if not view.sources:
        return [*lines, "", "no source was read yet: palimpsest scan file:PATH"]
    header = ("SOURCE", "KIND", "LAST READ", "COMPLETE")
    sources = [(one.name, one.kind, asking.spoken(one.read), "yes" if one.complete else "no") for one in view.sources]
    return [*lines, "", *output.table(sources, header=header)]


def _vectors(one: Filled) -> str:
    """How far the vectors of an embedder are."""
    return f"{one.vectors} of {one.passages} passages by {one.name}: {_MEANT[one.state.value]}"
