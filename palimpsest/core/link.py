"""Our link in the catalog: its URL, by which it is recognised wherever the console lives, and its label. Pure."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

from palimpsest.core.ids import EntityId
from palimpsest.core.moment import Moment, to_datetime

# The stable marker in every URL of ours: a changed console address moves our link instead of adding one.
_MARK = ("from", "palimpsest-memory")


def url_of(public_url: str, entity: EntityId) -> str:
    """The permalink of an entity's page under a console's public address."""
    return f"{public_url.rstrip('/')}/entity/{entity[:8].hex()}?{_MARK[0]}={_MARK[1]}"


def is_ours(url: str) -> bool:
    """Whether a link in the catalog is one that we published."""
    if _MARK[1] not in url:
        return False
    try:
        query = parse_qs(urlsplit(url).query)
    except ValueError:
        return False
    return _MARK[1] in query.get(_MARK[0], [])


def label_of(beliefs: int, revisions: int, latest: Moment | None) -> str:
    """`Agent memory: 5 beliefs, 5 revisions (latest 2026-08-05)`."""
    held = f"{beliefs} belief" + ("" if beliefs == 1 else "s")
    if not revisions or latest is None:
        return f"Agent memory: {held}, no revision yet"
    revised = f"{revisions} revision" + ("" if revisions == 1 else "s")
    return f"Agent memory: {held}, {revised} (latest {to_datetime(latest).date().isoformat()})"
