"""`palimpsest stale`: what is held and no longer fits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from palimpsest.core.errors import UsageError
from palimpsest.surfaces.cli import asking, output
from palimpsest.surfaces.cli.asking import AsJson

if TYPE_CHECKING:
    from palimpsest.queries.stale import StaleView

_HEADS = {
    "read": "gone or deprecated, and still read",
    "owner": "owners who left everything else or own nothing else",
    "description": "descriptions older than what they describe",
    "lacking": "without owner or description, by what depends on them",
}


def stale(
    ctx: typer.Context,
    *,
    owner: Annotated[str | None, typer.Option(help="Only what this user or group owns: a URN or a name.")] = None,
    platform: Annotated[str | None, typer.Option(help="Only entities of this platform.")] = None,
    kind: Annotated[
        list[str] | None,
        typer.Option(metavar="KIND", help="Only these findings: read, owner, description or lacking."),
    ] = None,
    most: Annotated[int, typer.Option(min=1, help="How many findings of a kind are listed.")] = 20,
    as_json: AsJson = False,
) -> None:
    """List what is held and no longer fits: texts, owners, readers."""
    from palimpsest.core.stale import Kind
    from palimpsest.queries import stale as query

    for word in kind or ():
        if word not in _HEADS:
            raise UsageError(f"no such kind of finding: {word}", f"one of {', '.join(_HEADS)}")
    request = query.StaleRequest(
        owner=owner, platform=platform, kinds=tuple(Kind(word) for word in kind) if kind else tuple(Kind), most=most
    )
    with asking.remembered(ctx) as store:
        view = query.stale(store, request, asking.question())
    if as_json:
        output.emit_json("stale", view)
    else:
        output.emit_text(stale_lines(view))


def stale_lines(view: StaleView) -> list[str]:
    """The findings as text, by kind, each with the beliefs that show it."""
    lines: list[str] = []
    for kind in view.kinds:
        if not kind.found:
            continue
        lines += ["", f"{_HEADS[kind.kind]} ({kind.found})"] if lines else [f"{_HEADS[kind.kind]} ({kind.found})"]
        for one in view.findings:
            if one.kind == kind.kind:
                below = f"; {one.downstream} downstream" if one.downstream else ""
                refs = "".join(f" [{ref}]" for ref in one.refs)
                lines.append("  " + output.neutral_line(f"{one.name}: {one.said}{below}{refs}"))
        if kind.found > kind.shown:
            lines.append(f"  {kind.found - kind.shown} more (--most)")
    return lines or ["nothing is stale"]
