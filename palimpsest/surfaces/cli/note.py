"""`palimpsest note`: take down what somebody says of an entity."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from palimpsest.surfaces.cli import observers, output
from palimpsest.surfaces.cli.asking import AsJson
from palimpsest.surfaces.cli.context import Context
from palimpsest.surfaces.cli.observers import Agent, By, Document

if TYPE_CHECKING:
    from palimpsest.jobs.note import NoteReport


def note(
    ctx: typer.Context,
    entity: Annotated[str, typer.Argument(metavar="URN", help="The entity: its URN, or a part that only it has.")],
    text: Annotated[
        str, typer.Argument(metavar="TEXT", help="What is said, up to 10,000 letters; - reads it from stdin.")
    ],
    kind: Annotated[
        str, typer.Option(metavar="usage|quality|decision|question|insight", help="What it bears on, if you know.")
    ] = "",
    by: By = None,
    agent: Agent = None,
    document: Document = None,
    at: Annotated[str | None, typer.Option(metavar="TIME", help="When it was said.", show_default="now")] = None,
    as_json: AsJson = False,
) -> None:
    """Take down what somebody says of an entity.

    You say it, unless another is named. It is written at once, without a model. What it bears on is chosen, and what
    becomes of it judged, by the next consolidation: a person's word goes before an agent's, an agent's before a
    document's; what cannot prevail waits in the inbox. A text that seems to hold a secret is refused.
    """
    from palimpsest import wiring
    from palimpsest.core.moment import parse
    from palimpsest.jobs.note import note as take_down
    from palimpsest.queries import entities
    from palimpsest.store.runs import this_process

    cli = Context.of(ctx)
    observer = observers.chosen(by, agent, document)
    said = sys.stdin.read() if text == "-" else text
    store = wiring.store_for_writing(cli.settings)
    try:
        report = take_down(
            store,
            urn=entities.find(store, entity).urn,
            text=said,
            kind=kind,
            observer=observer,
            at=parse(at) if at else None,
            clock=wiring.clock(),
            holder=this_process(),
        )
    finally:
        store.dispose()
    if as_json:
        output.emit_json("note", report)
    elif not cli.quiet:
        output.emit_text(lines(report))


def lines(report: NoteReport) -> list[str]:
    """The report as text."""
    from palimpsest.core.observer import said_by

    done = "taken down" if report.is_new else "taken down before, and still waiting"
    kind = f" as {report.kind}" if report.kind else ""
    return [
        f"note {report.run[:12]} by {said_by(report.observer)} {done}{kind}: {report.urn}",
        "palimpsest consolidate takes it up",
    ]
