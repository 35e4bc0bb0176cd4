"""Where a page leads: to paths of the server, or to files beside it in a static export. Templates ask here only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol
from urllib.parse import quote, urlencode

from palimpsest.core.ids import Ids

Question = Mapping[str, object]


class Links(Protocol):
    """The addresses that a page needs. A text that is empty: there is no such page here."""

    @property
    def is_static(self) -> bool:
        """Whether nobody answers forms."""

    def page(self, path: str, **asked: object) -> str:
        """A page by its path within the console, with what is asked of it; empty values ask nothing."""

    def entity(self, urn: str) -> str:
        """The page of an entity."""

    def belief(self, belief: str, *, changed: bool = True) -> str:
        """The page of a belief. `changed`: whether it was ever revised."""

    def static(self, name: str) -> str:
        """A file that pages load."""


class ServerLinks:
    """Addresses on the server, which lives below `root`. `asked` are the times that every link carries on."""

    is_static = False

    def __init__(self, ids: Ids | None, root: str, stamp: str, asked: Question) -> None:
        self._ids, self._root, self._stamp, self._asked = ids, root, stamp, asked

    def page(self, path: str, **asked: object) -> str:
        """The path below the root, quoted."""
        query = {name: value for name, value in {**self._asked, **asked}.items() if value not in ("", None)}
        return self._root + quote(path) + (f"?{urlencode(query)}" if query else "")

    def entity(self, urn: str) -> str:
        """Its permalink."""
        assert self._ids is not None, "a page that names no entity"
        return self.page(f"/entity/{entity_id(self._ids, urn)}")

    def belief(self, belief: str, *, changed: bool = True) -> str:
        """Its permalink."""
        return self.page(f"/belief/{belief}")

    def static(self, name: str) -> str:
        """With a stamp that changes with the file."""
        return f"{self._root}/static/{quote(name)}?{self._stamp}"


class StaticLinks:
    """Addresses in an export: relative ones, each to a file, so that they work from disk and below any path.

    `here` is the folder of the page, such as `entity/0123456789abcdef`, empty for the first page; `next` the folder of
    the page that goes on with this one, for links that carry a key.
    """

    is_static = True

    def __init__(self, ids: Ids, here: str, next: str = "") -> None:
        self._ids, self._next = ids, next
        self._up = "../" * (here.count("/") + 1) if here else "./"

    def page(self, path: str, **asked: object) -> str:
        """The file of a page. What would be asked of it is left out, but for the page that comes next."""
        if asked.get("after") or asked.get("before"):
            return self._file(self._next)
        return "" if asked.get("since") else self._file(path.strip("/"))

    def entity(self, urn: str) -> str:
        """Its file."""
        return self._file(f"entity/{entity_id(self._ids, urn)}")

    def belief(self, belief: str, *, changed: bool = True) -> str:
        """Its file; what never changed has none, and is told of on the page of its entity."""
        return self._file(f"belief/{belief}") if changed else ""

    def static(self, name: str) -> str:
        """Beside the pages."""
        return f"{self._up}static/{quote(name)}"

    def _file(self, folder: str) -> str:
        return f"{self._up}{quote(folder)}/index.html" if folder else f"{self._up}index.html"


def entity_id(ids: Ids, urn: str) -> str:
    """The 16 hexadecimal digits of an entity's permalink."""
    return ids.entity(urn)[:8].hex()
