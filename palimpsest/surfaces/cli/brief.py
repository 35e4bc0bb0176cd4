"""`palimpsest brief`: what an agent should know of entities before it touches them."""

from __future__ import annotations

from typing import Annotated

import typer

from palimpsest.surfaces.cli import asking, output
from palimpsest.surfaces.cli.asking import AsJson, AsOf, KnownAt
from palimpsest.surfaces.cli.context import Context


def brief(
    ctx: typer.Context,
    urn: Annotated[list[str], typer.Argument(metavar="URN...", help="Entities: URNs, names, or parts of them.")],
    budget: Annotated[
        int | None, typer.Option(min=1, help="How many tokens it may take; the setting brief.budget if not given.")
    ] = None,
    as_of: AsOf = None,
    known_at: KnownAt = None,
    as_json: AsJson = False,
) -> None:
    """Tell an agent what to know of entities, in a token budget."""
    from palimpsest.queries import brief as query

    when = asking.question(as_of, known_at)
    room = budget if budget is not None else Context.of(ctx).settings.brief.budget
    with asking.remembered(ctx) as store:
        view = query.brief(store, urn, room, when)
    if as_json:
        output.emit_json("brief", view)
    else:
        output.emit_text(view.text)
