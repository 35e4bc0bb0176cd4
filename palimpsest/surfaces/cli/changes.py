"""`palimpsest changes`: what the readings of a time changed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated

import typer

from palimpsest.core.errors import UsageError
from palimpsest.surfaces.cli import asking, output
from palimpsest.surfaces.cli.asking import AsJson, AsOf, KnownAt

if TYPE_CHECKING:
    from palimpsest.queries.changes import ChangesView

_IMPACTS = ("minor", "notable", "breaking")
_FORMATS = ("text", "markdown", "json")
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|~!&])")


def changes(
    ctx: typer.Context,
    *,
    since: Annotated[str, typer.Option(help="A date, a time, a span (7d, 24h), or last: the newest reading.")] = "last",
    until: Annotated[str | None, typer.Option(help="Only readings up to this date or time.")] = None,
    source: Annotated[str | None, typer.Option(help="Only this source.")] = None,
    aspect: Annotated[str | None, typer.Option(help="Only this aspect.")] = None,
    platform: Annotated[str | None, typer.Option(help="Only entities of this platform.")] = None,
    entity: Annotated[str | None, typer.Option(metavar="PART", help="Only entities with this in their URN.")] = None,
    impact: Annotated[str, typer.Option(help="The least impact shown: minor, notable or breaking.")] = "minor",
    grouped: Annotated[
        bool, typer.Option("--grouped", help="The same change on several entities is one line.")
    ] = False,
    quiet_too: Annotated[bool, typer.Option("--quiet-too", help="Quiet changes too.")] = False,
    first_stated: Annotated[
        bool, typer.Option("--first-stated", help="What was stated for the first time too, which is no change.")
    ] = False,
    form: Annotated[str, typer.Option("--format", help="text, markdown or json.")] = "text",
    as_of: AsOf = None,
    known_at: KnownAt = None,
    as_json: AsJson = False,
) -> None:
    """Tell what changed: was, now, since, by."""
    from palimpsest.core.aspects import ASPECTS, Impact
    from palimpsest.queries import changes as query

    _check("impact", impact, _IMPACTS)
    _check("format", form, _FORMATS)
    if aspect is not None:
        _check("aspect", aspect, sorted(ASPECTS))
    request = query.ChangesRequest(
        since=since,
        until=until,
        source=source,
        aspect=aspect,
        platform=platform,
        entity=entity,
        impact=Impact[impact.upper()],
        grouped=grouped,
        quiet_too=quiet_too,
        first_stated=first_stated,
    )
    when = asking.question(as_of, known_at)
    with asking.remembered(ctx) as store:
        view = query.changes(store, request, when)
    if as_json or form == "json":
        output.emit_json("changes", view)
    else:
        output.emit_text(markdown_lines(view) if form == "markdown" else text_lines(view))


def text_lines(view: ChangesView) -> list[str]:
    """The changes as text, one a line, and what is not shown."""
    lines = list(view.lines) or [_nothing(view)]
    left = hidden(view)
    return [output.neutral_line(line) for line in [*lines, *([f"not shown: {left}"] if left else [])]]


def markdown_lines(view: ChangesView) -> list[str]:
    """The changes as a Markdown list; nothing of the catalog's text is taken for Markdown."""
    shown = ["- " + _MARKDOWN.sub(r"\\\1", output.neutral_line(line)) for line in view.lines]
    left = hidden(view)
    return [*(shown or [_nothing(view)]), *(["", f"Not shown: {left}."] if left else [])]


def hidden(view: ChangesView) -> str:
    """What is not shown, counted."""
    parts = []
    if view.quiet:
        parts.append(f"{view.quiet} quiet (--quiet-too)")
    if view.first_stated:
        parts.append(f"{view.first_stated} first stated (--first-stated)")
    if view.pending:
        parts.append(f"{view.pending} not yet consolidated")
    return ", ".join(parts)


def _nothing(view: ChangesView) -> str:
    if not view.readings:
        return "nothing was read in that time"
    return f"nothing changed in {view.readings} reading{'s' if view.readings > 1 else ''}"


def _check(name: str, value: str, known: tuple[str, ...] | list[str]) -> None:
    if value not in known:
        raise UsageError(f"no such {name}: {value}", f"one of {', '.join(known)}")
