"""The complete listing of a catalog through `search`, which gives 50 a page and reaches no further than place 10,000.

A result that is larger is parted: by entity type, then by the values of a facet and what has none of them. A part that
cannot be parted any more is read from both ends.
"""

from __future__ import annotations

from typing import Protocol

from palimpsest.adapters.datahub.mcp import ToolFailed
from palimpsest.adapters.datahub.mcp_read import Value, facet, search_page
from palimpsest.core.observation import Failed

AT_ONCE = 50
WINDOW = 10_000

# What a filter calls it, and what the facet with its values is called.
_PARTED_BY: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("platform", ("platform",)),
    ("env", ("origin", "env")),
    ("entity_subtype", ("typeNames",)),
    ("domain", ("domains",)),
    ("owner", ("owners",)),
    ("tag", ("tags",)),
)


class Search(Protocol):
    """One call of the `search` tool."""

    def __call__(self, where: str, *, offset: int, count: int, ascending: bool) -> Value:
        """The answer. Raises ToolFailed when the server fails on this page, CatalogError when it cannot be used."""


class Listing:
    """Lists a catalog once. `is_whole` says whether every entity that the server counts did come."""

    def __init__(self, search: Search, types: tuple[str, ...], *, window: int = WINDOW) -> None:
        self.is_whole = True
        self.failures: list[Failed] = []
        self._search = search
        self._types = types
        self._window = window
        self._urns: dict[str, None] = {}

    def urns(self) -> list[str]:
        """Every URN, each once."""
        where = f"entity_type IN ({', '.join(self._types)})"
        total = search_page(self._search(where, offset=0, count=0, ascending=True))[1]
        if total <= self._window:
            self._read(where, total)
        else:
            for entity_type in self._types:
                self._part(f"entity_type = {entity_type}", _PARTED_BY)
        return list(self._urns)

    def _part(self, where: str, ways: tuple[tuple[str, tuple[str, ...]], ...]) -> None:
        """List one part, in smaller parts where it is larger than the window."""
        answer = self._search(where, offset=0, count=0, ascending=True)
        total = search_page(answer)[1]
        if total <= self._window:
            self._read(where, total)
            return
        for place, (field, names) in enumerate(ways):
            values = [value for value in facet(answer, *names) if '"' not in value]
            if values:
                rest = ways[place + 1 :]
                for value in values:
                    self._part(f'{where} AND {field} = "{value}"', rest)
                listed = ", ".join(f'"{value}"' for value in values)
                self._part(f"{where} AND NOT {field} IN ({listed})", rest)
                return
        self._read(where, total)

    def _read(self, where: str, total: int) -> None:
        """Read every page of one part; once more, from the end, when fewer came than there are."""
        if total == 0:
            return
        came: set[str] = set()
        failed = len(self.failures)
        for ascending in (True, False):
            self._read_pages(where, min(total, self._window), ascending, came)
            if len(came) >= total or len(self.failures) > failed:
                break
        self.is_whole = self.is_whole and len(came) >= total

    def _read_pages(self, where: str, last: int, ascending: bool, came: set[str]) -> None:
        offset = 0
        while offset < last:
            count = min(AT_ONCE, last - offset)
            urns = self._page(where, offset, count, ascending)
            came.update(urns)
            self._urns.update(dict.fromkeys(urns))
            if not urns:
                return
            offset += len(urns)

    def _page(self, where: str, offset: int, count: int, ascending: bool) -> list[str]:
        """The URNs of one page; of one that the server fails on, those of its halves, down to the culprit."""
        try:
            return search_page(self._search(where, offset=offset, count=count, ascending=ascending))[0]
        except (ToolFailed, ValueError) as error:
            if count == 1:
                self.failures.append(Failed(f"listing, place {offset} of {where}", str(error)))
                self.is_whole = False
                return []
            half = count // 2
            return [
                *self._page(where, offset, half, ascending),
                *self._page(where, offset + half, count - half, ascending),
            ]
