"""`palimpsest why`: what a belief rests on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from palimpsest.surfaces.cli import asking, output
from palimpsest.surfaces.cli.asking import AsJson, AsOf, KnownAt
from palimpsest.surfaces.cli.history import evidence_text

if TYPE_CHECKING:
    from palimpsest.queries.history import VersionView, WhyView


def why(
    ctx: typer.Context,
    belief: Annotated[str, typer.Argument(metavar="BELIEF", help="A belief's id, or its first 6 digits or more.")],
    as_of: AsOf = None,
    known_at: KnownAt = None,
    as_json: AsJson = False,
) -> None:
    """Tell why a belief is held, version by version."""
    from palimpsest.queries import history as query

    when = asking.question(as_of, known_at)
    with asking.remembered(ctx) as store:
        view = query.why(store, belief, when)
    if as_json:
        output.emit_json("why", view)
    else:
        output.emit_text(why_lines(view))


def why_lines(view: WhyView) -> list[str]:
    """The evidence as text."""
    belief = view.belief
    now = next((version for version in belief.versions if version.current), None)
    if now is not None:
        state = now.statement
    elif not view.exists:
        state = f"nothing current: {view.entity.name} is gone"
    else:
        state = "nothing current"
    lines = [
        f"{belief.what} of {view.entity.name}: {state}",
        view.entity.urn,
        f"belief {belief.id}, by {belief.source}",
        *([f"still true: {asking.sure(belief.confidence, belief.confirmed)}"] if belief.confidence is not None else []),
    ]
    for version in belief.versions:
        lines += ["", *_version_lines(version)]
    return [output.neutral_line(line) for line in lines]


def _version_lines(version: VersionView) -> list[str]:
    state = (
        "current"
        if version.current
        else version.state
        if version.until is not None or version.beside
        else "not current"
    )
    until = f" until {asking.spoken(version.until)}" if version.until is not None else ""
    lines = [
        f"version {version.number} ({state}{', quiet' if version.quiet else ''}): {version.statement}",
        f"  held: {version.since_text}{until}",
        f"  founded by: {evidence_text(version.evidence)}",
        f"  judged by {version.judge} at {asking.spoken(version.recorded)}, run {version.judged_in[:12]}",
        f"  because: {version.reason}",
    ]
    lines += [
        f"  worded {asking.since(f'since {asking.spoken(told.at)}', told.by)}: {told.statement}"
        + (f" (judged by {told.judge})" if told.judge else "")
        for told in version.rewordings
    ]
    if version.until is not None:
        successor = f", by version {version.successor}" if version.successor is not None else ""
        lines.append(f"  ended{successor}: {version.ended_reason}")
        if version.ended_by is not None:
            lines.append(f"  ended by: {evidence_text(version.ended_by)}")
    return lines
