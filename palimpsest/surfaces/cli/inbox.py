"""`palimpsest inbox`: what waits for a person to decide, and the decisions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from palimpsest.surfaces.cli import asking, observers, output
from palimpsest.surfaces.cli.asking import AsJson, AsOf, KnownAt
from palimpsest.surfaces.cli.context import Context
from palimpsest.surfaces.cli.groups import group
from palimpsest.surfaces.cli.observers import By

if TYPE_CHECKING:
    from palimpsest.queries.inbox import InboxView, ItemView

Item = Annotated[str, typer.Argument(metavar="ITEM", help="BELIEF@VERSION, as palimpsest inbox prints it.")]

app = group()


@app.callback(invoke_without_command=True)
def inbox(ctx: typer.Context, as_of: AsOf = None, known_at: KnownAt = None, as_json: AsJson = False) -> None:
    """List what is contested or proposed, and decide about it.

    Contested: it contradicts one whose word goes first. Proposed: it is for a person to decide. Neither is shown as
    current until a person accepts it.
    """
    if ctx.invoked_subcommand is not None:
        return
    from palimpsest.queries import inbox as query

    when = asking.question(as_of, known_at)
    with asking.remembered(ctx) as store:
        view = query.inbox(store, when)
    if as_json:
        output.emit_json("inbox", view)
    else:
        output.emit_text(lines(view))


@app.command()
def accept(ctx: typer.Context, item: Item, by: By = None, as_json: AsJson = False) -> None:
    """Say that an item holds."""
    _decide(ctx, item, "accept", by, as_json)


@app.command()
def reject(ctx: typer.Context, item: Item, by: By = None, as_json: AsJson = False) -> None:
    """Say that an item does not hold."""
    _decide(ctx, item, "reject", by, as_json)


@app.command()
def edit(
    ctx: typer.Context,
    item: Item,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What holds instead.")],
    by: By = None,
    as_json: AsJson = False,
) -> None:
    """Say what holds instead of an item."""
    _decide(ctx, item, "edit", by, as_json, text)


@app.command()
def withdraw(
    ctx: typer.Context,
    item: Item,
    by: By = None,
    agent: observers.Agent = None,
    document: observers.Document = None,
    as_json: AsJson = False,
) -> None:
    """Take back what one said oneself, an item or what is current."""
    _decide(ctx, item, "withdraw", by, as_json, agent=agent, document=document)


def _decide(
    ctx: typer.Context,
    item: str,
    what: str,
    by: str | None,
    as_json: bool,
    text: str = "",
    agent: str | None = None,
    document: str | None = None,
) -> None:
    from palimpsest import wiring
    from palimpsest.core.observer import said_by
    from palimpsest.jobs.decide import Decided, decide
    from palimpsest.store.runs import this_process

    cli = Context.of(ctx)
    observer = observers.chosen(by, agent, document)
    store = wiring.store_for_writing(cli.settings)
    try:
        report = decide(
            store,
            item,
            Decided(what),
            observer=observer,
            text=text,
            clock=wiring.clock(),
            holder=this_process(),
        )
    finally:
        store.dispose()
    if as_json:
        output.emit_json("decide", report)
    elif not cli.quiet:
        done = {"accept": "accepted", "reject": "rejected", "edit": "edited", "withdraw": "withdrawn"}[what]
        line = f"{report.item} {done} by {said_by(report.observer)}: {report.urn}"
        output.emit_text([output.neutral_line(line), "palimpsest consolidate takes it up"])


def lines(view: InboxView) -> list[str]:
    """The items as text, under each entity's URN."""
    if not view.items:
        return ["nothing waits for a decision"]
    found = []
    urn = ""
    for one in view.items:
        if one.urn != urn:
            urn = one.urn
            found.append(urn)
        found += _item_lines(one)
    return [output.neutral_line(line) for line in found]


def _item_lines(one: ItemView) -> list[str]:
    found = [f"  {one.item}  {one.statement}  since {asking.spoken(one.since)}, by {one.by}  [{one.reason}]"]
    if one.current is not None:
        now = one.current
        found.append(f"    current: {now.statement}  since {asking.spoken(now.since)}, by {now.by}")
    if one.decided:
        found.append(f"    {one.decided}")
    return found
