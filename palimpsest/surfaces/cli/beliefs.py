"""`palimpsest beliefs`: a listing of what is held."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from palimpsest.core.errors import UsageError
from palimpsest.surfaces.cli import asking, output
from palimpsest.surfaces.cli.asking import AsJson, AsOf, KnownAt

if TYPE_CHECKING:
    from palimpsest.queries.beliefs import BeliefsView

_STATES = ("current", "superseded", "retracted", "contested", "proposed", "all")


def beliefs(
    ctx: typer.Context,
    entity: Annotated[str | None, typer.Option(metavar="PART", help="Only entities with this in their URN.")] = None,
    aspect: Annotated[str | None, typer.Option(help="Only this aspect.")] = None,
    platform: Annotated[str | None, typer.Option(help="Only entities of this platform.")] = None,
    state: Annotated[str, typer.Option(help=f"One of {', '.join(_STATES)}.")] = "current",
    source: Annotated[str | None, typer.Option(help="Only what this source says.")] = None,
    limit: Annotated[int, typer.Option(min=0, help="How many at most; 0 for all.")] = 50,
    as_of: AsOf = None,
    known_at: KnownAt = None,
    as_json: AsJson = False,
) -> None:
    """List what is held, each with its id."""
    from palimpsest.core.belief import State
    from palimpsest.queries import beliefs as query

    if state not in _STATES:
        raise UsageError(f"no such state: {state}", f"one of {', '.join(_STATES)}")
    request = query.BeliefsRequest(
        entity=entity,
        aspect=aspect,
        platform=platform,
        state=None if state == "all" else State(state),
        source=source,
        limit=limit,
    )
    when = asking.question(as_of, known_at)
    with asking.remembered(ctx) as store:
        view = query.beliefs(store, request, when)
    if as_json:
        output.emit_json("beliefs", view)
    else:
        output.emit_text(listing_lines(view))


def listing_lines(view: BeliefsView) -> list[str]:
    """The listing as text, under each entity's URN."""
    if not view.beliefs:
        return ["nothing is held that fits"]
    lines: list[str] = []
    urn = ""
    for one in view.beliefs:
        belief = one.belief
        if belief.urn != urn:
            urn = belief.urn
            lines.append(urn)
        mark = "" if one.is_current else f"  ({one.state if one.state != 'current' else 'not current: it is gone'})"
        since = asking.since(belief.since_text, belief.by)
        sure = asking.sure(belief.confidence, belief.confirmed)
        lines.append(f"  {belief.ref}  {belief.statement}  {since}{mark}" + (f"  ({sure})" if sure else ""))
    if view.more:
        lines.append(f"and more: --limit {2 * len(view.beliefs)} shows more")
    return [output.neutral_line(line) for line in lines]
