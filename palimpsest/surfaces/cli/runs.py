"""`palimpsest runs`: what each job did."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from palimpsest.surfaces.cli import asking, output
from palimpsest.surfaces.cli.asking import AsJson

if TYPE_CHECKING:
    from palimpsest.queries.runs import RunsView, RunView


def runs(
    ctx: typer.Context,
    run: Annotated[str | None, typer.Argument(metavar="RUN", help="One run: its id, or the beginning of it.")] = None,
    limit: Annotated[int, typer.Option(min=0, help="How many at most; 0 for all.")] = 20,
    as_json: AsJson = False,
) -> None:
    """List the runs, or tell one of them in detail."""
    from palimpsest.queries import runs as query

    with asking.remembered(ctx) as store:
        view = query.runs(store, limit) if run is None else query.run(store, run)
    if as_json:
        output.emit_json("runs" if run is None else "run", view)
    elif isinstance(view, query.RunsView):
        output.emit_text(list_lines(view))
    else:
        output.emit_text(run_lines(view))


def list_lines(view: RunsView) -> list[str]:
    """The runs as a table."""
    if not view.runs:
        return ["no run yet: palimpsest scan file:PATH makes the first"]
    header = ("RUN", "JOB", "SOURCE", "STATE", "STARTED", "READ", "EPISODES", "VERSIONS")
    rows = [
        (
            run.id[:12],
            run.job,
            run.source or "-",
            run.state,
            asking.spoken(run.started),
            asking.spoken(run.read),
            str(run.written),
            str(run.founded),
        )
        for run in view.runs
    ]
    return output.table(rows, header=header, right={6, 7})


def run_lines(run: RunView) -> list[str]:
    """One run in detail."""
    rows = [
        ("run", run.id),
        ("job", run.job),
        ("source", run.source or "-"),
        ("state", run.state),
        ("started", asking.spoken(run.started)),
        ("ended", asking.spoken(run.ended)),
        ("read at", asking.spoken(run.read)),
        ("complete listing", "yes" if run.complete else "no"),
        ("canonical rules", run.rules),
        ("episodes written", str(run.written)),
        ("versions founded", str(run.founded)),
        *_flat(run.counts),
    ]
    return output.table(rows)


def _flat(counts: Mapping[str, object], prefix: str = "") -> list[tuple[str, str]]:
    """The counters, nested ones by their path."""
    rows: list[tuple[str, str]] = []
    for name, value in counts.items():
        path = f"{prefix}{name}".replace("_", " ")
        match value:
            case dict():
                rows += _flat(value, f"{path}: ")
            case list():
                rows.append((path, ", ".join(map(str, value))))
            case _:
                rows.append((path, str(value)))
    return rows
