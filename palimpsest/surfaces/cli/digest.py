"""`palimpsest digest`: what happened in a day or a week, in few words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from palimpsest.core.errors import UsageError
from palimpsest.surfaces.cli import asking, output
from palimpsest.surfaces.cli.asking import AsJson

if TYPE_CHECKING:
    from palimpsest.core.moment import Moment
    from palimpsest.queries.digest import DigestRequest

_DAY = 86_400_000


def digest(
    ctx: typer.Context,
    *,
    daily: Annotated[bool, typer.Option("--daily", help="The last 24 hours in at most 150 words (default).")] = False,
    weekly: Annotated[bool, typer.Option("--weekly", help="The last 7 days in at most 250 words.")] = False,
    since: Annotated[str | None, typer.Option(help="From this date or time on, or a span back (7d, 24h).")] = None,
    until: Annotated[str | None, typer.Option(help="Up to this date or time instead of now.")] = None,
    owner: Annotated[
        str | None, typer.Option(help="Only what this user or group owns or owned: a URN or a name.")
    ] = None,
    form: Annotated[str, typer.Option("--format", help="text, markdown or html.")] = "text",
    as_json: AsJson = False,
) -> None:
    """Tell in few words what happened, or say nothing."""
    from palimpsest.core import digest as core
    from palimpsest.queries import digest as query

    forms = {"text": core.as_text, "markdown": core.as_markdown, "html": core.as_html}
    if form not in forms:
        raise UsageError(f"no such format: {form}", f"one of {', '.join(forms)}")
    if daily and weekly:
        raise UsageError("--daily and --weekly are two digests", "ask for one of them")
    request = _request(asking.question().now, since, until, owner, weekly=weekly, daily=daily)
    with asking.remembered(ctx) as store:
        view = query.digest(store, request)
    if as_json:
        output.emit_json("digest", view)
    elif not view.empty:
        output.emit_text(forms[form](view.packed))


def _request(
    now: Moment, since: str | None, until: str | None, owner: str | None, *, weekly: bool, daily: bool
) -> DigestRequest:
    """The time that is meant; one of more than a day has as many words as a week."""
    from palimpsest.core.digest import MOST_WORDS_A_DAY, MOST_WORDS_A_WEEK
    from palimpsest.core.moment import Moment, parse
    from palimpsest.queries.changes import since_of
    from palimpsest.queries.digest import DigestRequest

    end = parse(until, end_of_day=True) if until else now
    start: Moment | None = Moment(max(0, end - (7 * _DAY if weekly else _DAY)))
    if since is not None:
        start = since_of(since, end)
    if start is None or start > end:
        raise UsageError(f"there is no time from {since} to {until or 'now'}", "write --since 2026-01-31, 7d or 24h")
    is_long = weekly or (not daily and end - start > _DAY)
    return DigestRequest(since=start, until=end, limit=MOST_WORDS_A_WEEK if is_long else MOST_WORDS_A_DAY, owner=owner)
