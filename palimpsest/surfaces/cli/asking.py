"""What the commands that answer share: the two times of a question, and the store opened for reading."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from palimpsest.surfaces.cli.context import Context

if TYPE_CHECKING:
    from palimpsest.queries.held import When
    from palimpsest.store.engine import Store

AsOf = Annotated[
    str | None, typer.Option(metavar="TIME", help="What held then, as known now: 2026-01-31 or 2026-01-31T08:00Z.")
]
KnownAt = Annotated[str | None, typer.Option(metavar="TIME", help="What would have been answered then.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


@contextmanager
def remembered(ctx: typer.Context) -> Iterator[Store]:
    """The store, opened for reading while the block lasts."""
    from palimpsest import wiring

    store = wiring.store_for_reading(Context.of(ctx).settings)
    try:
        yield store
    finally:
        store.dispose()


def question(as_of: str | None = None, known_at: str | None = None) -> When:
    """The times of a question; a bare date is the end of that day. Raises UsageError for text that is no time."""
    from palimpsest import wiring
    from palimpsest.core.moment import parse
    from palimpsest.queries.held import When

    return When(
        now=wiring.clock().now(),
        as_of=parse(as_of, end_of_day=True) if as_of else None,
        known_at=parse(known_at, end_of_day=True) if known_at else None,
    )


def spoken(when: datetime | None) -> str:
    """A time as people read it, a dash for none."""
    return when.strftime("%Y-%m-%d %H:%M") if when is not None else "-"


def times(count: int) -> str:
    """How often something was revised, nothing for never."""
    return "" if not count else f"revised {count} time{'s' if count > 1 else ''}"


def sure(confidence: float | None, confirmed: datetime | None, usual: datetime | None = None) -> str:
    """How probable it is that something is still true, and when that was confirmed, if not at the usual time."""
    from palimpsest.core.confidence import spoken as percent

    if confidence is None:
        return ""
    return percent(confidence) + (f", confirmed {spoken(confirmed)}" if confirmed != usual else "")


def since(text: str, by: str) -> str:
    """Since when and by whom."""
    return f"{text}, by {by}" if by else text
