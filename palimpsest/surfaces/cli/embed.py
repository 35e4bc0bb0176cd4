"""`palimpsest embed`: make the vectors by which passages are found by meaning; and the same pass after other jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from palimpsest.core.errors import ConfigError, PalimpsestError
from palimpsest.surfaces.cli import diagnostics, output, reports
from palimpsest.surfaces.cli.context import Context

if TYPE_CHECKING:
    from palimpsest.config import Settings
    from palimpsest.jobs.embed import EmbedReport
    from palimpsest.store.engine import Store


def embed(
    ctx: typer.Context,
    change: Annotated[
        bool, typer.Option("--all", help="Make all vectors anew by the embedder of the settings, then search these.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Make the vectors that searching by meaning needs.

    What a scan brought is embedded at the end of `consolidate` and `run`: this goes on with what failed then, and
    changes the embedder. All the while searching uses the vectors there are, and text.
    """
    from palimpsest import wiring

    cli = Context.of(ctx)
    store = wiring.store_for_writing(cli.settings)
    try:
        _index(store)
        report = _embed(cli.settings, store, change=change, recorded=True)
    finally:
        store.dispose()
    if report is None:
        raise ConfigError("embed.provider is none: there are no vectors", "set it to hashed, minilm, gemini or ollama")
    if as_json:
        output.emit_json("embed", report)
    elif not cli.quiet or report.refused:
        output.emit_text(lines(report))


def afterwards(settings: Settings, store: Store) -> EmbedReport | None:
    """The same at the end of another job, in whose way it never is: what goes wrong is a warning."""
    try:
        report = _embed(settings, store, change=False, recorded=False)
    except PalimpsestError as error:
        diagnostics.warn(f"not embedded, found by text only: {error.message}")
        if error.hint:
            diagnostics.note(f"hint: {error.hint}")
        return None
    if report is not None and report.other:
        diagnostics.warn(_other(report))
    return report


def lines(report: EmbedReport) -> list[str]:
    """A report as text."""
    if report.other:
        return [_other(report)]
    said = [f"embedded: {report.embedded} passages by {report.embedder}"]
    if report.refused:
        said.append(f"refused: {report.refused} passages that the model does not take; they are found by text")
    if report.switched:
        said.append(f"searched from now on: the vectors of {report.embedder}")
    if report.deleted:
        said.append(f"deleted: {report.deleted} vectors of the embedder before")
    return said


def _other(report: EmbedReport) -> str:
    return (
        f"the vectors are by {report.other}, and the settings say {report.embedder}: nothing was embedded; "
        "to change over: palimpsest embed --all"
    )


def _index(store: Store) -> None:
    """Passages first: they are what is embedded."""
    from palimpsest import wiring
    from palimpsest.jobs.index import index

    with diagnostics.progress() as progress:
        index(store, clock=wiring.clock(), progress=progress)


def _embed(settings: Settings, store: Store, *, change: bool, recorded: bool) -> EmbedReport | None:
    from palimpsest import wiring
    from palimpsest.jobs import embed as job
    from palimpsest.store.runs import this_process

    embedder = wiring.embedder(settings)
    if embedder is None:
        return None
    try:
        with diagnostics.progress() as progress:
            report = job.embed(
                store,
                embedder,
                clock=wiring.clock(),
                progress=progress,
                holder=this_process(),
                change=change,
                recorded=recorded,
            )
    finally:
        embedder.close()
    if report.run:
        reports.log("embedding.finished", report.run, embedded=report.embedded, refused=report.refused)
    return report
