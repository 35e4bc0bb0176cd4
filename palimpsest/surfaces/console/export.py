"""The pages as files: relative links, an index for searching without a server, and nothing else touched.

Written one by one as they are made, so that memory stays flat; what an export wrote is listed in a file of its own, and
only that is ever removed.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from palimpsest.core.errors import UsageError
from palimpsest.core.ids import EntityId
from palimpsest.ports import Progress
from palimpsest.queries.entity_page import EntityPageView
from palimpsest.store import answers_pages
from palimpsest.surfaces.console import rendering
from palimpsest.surfaces.console.links import StaticLinks
from palimpsest.surfaces.console.pages import (
    BY_NAME,
    Asked,
    BeliefAsked,
    ChangesAsked,
    Desk,
    EntitiesAsked,
    EntityAsked,
    RunsAsked,
    SearchAsked,
    Timed,
    context_of,
)

LIST = ".palimpsest-export"  # the paths that an export wrote, a line each
_AT_ONCE = 200  # entities
_COUNTING_S = 3_600.0
_MOST_CHANGES = 25  # pages of all changes; the older ones are on the pages of their runs
_SOUGHT = frozenset({"ownership", "tags", "terms", "domain", "description", "name", "sub_type"})
_MOST_SOUGHT = 400  # characters of an entity that can be searched


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportReport:
    """What an export wrote, and how many files of an earlier one it removed."""

    folder: str
    pages: int
    files: int
    bytes: int
    removed: int
    seconds: float


def export(desk: Desk, folder: Path, progress: Progress) -> ExportReport:
    """Write every page into a folder. Raises UsageError for one that holds what no export wrote."""
    began = time.monotonic()
    site = _Site(folder)
    writer = _Writer(desk, site)
    entities = desk.store.read(answers_pages.totals).entities
    progress.start("exporting", entities)
    for name in sorted(rendering.static_names()):
        site.write(f"static/{name}", rendering.static_file(name).read_bytes())
    site.write(".nojekyll", b"")
    writer.fixed()
    writer.entities(progress.advance)
    removed = site.finish()
    progress.done()
    return ExportReport(
        folder=str(folder),
        pages=writer.pages,
        files=len(site.written),
        bytes=site.bytes,
        removed=removed,
        seconds=round(time.monotonic() - began, 2),
    )


class _Site:
    """A folder that an export owns: it says what it is about to write, writes it, and at last removes what is old."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.bytes = folder, 0
        self.written: set[str] = set()
        self._old = self._claim()
        self._made: set[Path] = set()

    def _claim(self) -> set[str]:
        listed = self.folder / LIST
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            if listed.is_file():
                return set(listed.read_text("utf-8").splitlines())
            if any(self.folder.iterdir()):
                raise UsageError(
                    f"{self.folder} holds files that no export wrote", "name a new folder, or empty this one"
                )
            listed.touch()
        except OSError as error:
            raise UsageError(f"{self.folder} cannot be written: {error.strerror}", "name another folder") from error
        return set()

    def write(self, name: str, body: bytes) -> None:
        """Write one file, listed first: what is broken off is known to the next export."""
        if name not in self.written and name not in self._old:
            with (self.folder / LIST).open("a", encoding="utf-8") as listed:
                listed.write(f"{name}\n")
        path = self.folder / name
        if path.parent not in self._made:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._made.add(path.parent)
        path.write_bytes(body)
        self.written.add(name)
        self.bytes += len(body)

    def append(self, name: str, body: bytes) -> None:
        """Write on, at the end of a file that was written."""
        with (self.folder / name).open("ab") as file:
            file.write(body)
        self.bytes += len(body)

    def finish(self) -> int:
        """Remove what only an earlier export wrote, and list what is there. Gives how many files went."""
        removed = 0
        for name in sorted(self._old - self.written):
            path = self.folder / name
            if ".." in Path(name).parts or Path(name).is_absolute() or path.is_symlink() or not path.is_file():
                continue
            path.unlink()
            removed += 1
            for parent in path.relative_to(self.folder).parents:
                if parent == Path() or any((self.folder / parent).iterdir()):
                    break
                (self.folder / parent).rmdir()
        (self.folder / LIST).write_text("".join(f"{name}\n" for name in sorted(self.written)), "utf-8")
        return removed


class _Writer:
    """Makes the pages, in the order of the menu and then entity by entity."""

    def __init__(self, desk: Desk, site: _Site) -> None:
        self.desk, self.site, self.pages = desk, site, 0

    def fixed(self) -> None:
        """The pages that are not about one entity."""
        rules = self.desk.rules.view(patience=_COUNTING_S)
        self.one("overview", Asked(), "", "", extra={"rules": rules})
        self.one("search", SearchAsked(), "", "search")
        self.one("inbox", Timed(), "", "inbox")
        self.one("rules", Asked(), "", "rules", view=rules)
        self.paged("entities", "entities", lambda after: EntitiesAsked(after=after, page=200))
        self.paged("changes", "changes", lambda after: ChangesAsked(after=after, page=200), most=_MOST_CHANGES)
        for run in self.runs():
            self.paged("run", f"run/{run}", lambda after: RunsAsked(after=after, page=200), place=run)

    def runs(self) -> Iterator[str]:
        """Writes the list of runs; gives each run's id."""
        ids: list[str] = []
        self.paged("runs", "runs", lambda after: RunsAsked(after=after, page=100), seen=lambda view: ids.extend(
            one.id for one in view.runs
        ))  # fmt: skip
        return iter(ids)

    def entities(self, advance: Callable[[int], None]) -> None:
        """Each entity with its changed beliefs, and the index for searching."""
        index = _Index(self.site)
        after: EntityId | None = None
        while True:
            found = self.desk.store.read(
                lambda connection, after=after: answers_pages.entities_after(connection, after, _AT_ONCE)  # type: ignore[misc]
            )
            if not found:
                break
            for entity in found:
                name = entity[:8].hex()
                self.paged(
                    "entity", f"entity/{name}", lambda column: EntityAsked(after=column), place=name, seen=index.add
                )
                advance(1)
            changed = self.desk.store.read(
                lambda connection, found=found: answers_pages.changed_beliefs(connection, found[0], found[-1])  # type: ignore[misc]
            )
            for belief in changed:
                self.layers(belief.hex())
            after = found[-1]
        index.finish()

    def layers(self, belief: str) -> None:
        """The pages of a belief."""
        self.paged("belief", f"belief/{belief}", lambda before: BeliefAsked(before=int(before or 0)), place=belief)

    def paged(
        self,
        name: str,
        folder: str,
        asked: Callable[[str], Asked],
        *,
        place: str = "",
        seen: Callable[[Any], None] = lambda view: None,
        most: int = 0,
    ) -> None:
        """Pages that go on from key to key, in folders by number; at most so many, if any number is given."""
        after, number = "", 1
        while True:
            question = asked(after)
            view: Any = BY_NAME[name].view(self.desk, question, place)
            if view is None:  # gone since it was listed
                return
            after = _next(view)
            extra: dict[str, object] = {}
            if number == most and after:
                after, view, extra = "", replace(view, next=""), {"cut": True}
            here = folder if number == 1 else f"{folder}/{number}"
            number += 1
            self.one(name, question, place, here, view=view, next=f"{folder}/{number}", extra=extra)
            seen(view)
            if not after:
                return

    def one(
        self,
        name: str,
        asked: Asked,
        place: str,
        here: str,
        *,
        view: object | None = None,
        next: str = "",
        extra: dict[str, object] | None = None,
    ) -> None:
        """One page."""
        page = BY_NAME[name]
        shown = view if view is not None else page.view(self.desk, asked, place)
        links = StaticLinks(self.desk.store.ids, here, next)
        html = rendering.html(page.template, shown, links, context_of(page, asked, place) | (extra or {}))
        self.site.write(f"{here}/index.html" if here else "index.html", html.encode("utf-8"))
        self.pages += 1


def _next(view: object) -> str:
    """The key that the next page of a view begins after; empty at the end."""
    changes = getattr(view, "changes", None)
    for found in (view, changes):
        for name in ("next", "more_columns", "older"):
            value = getattr(found, name, "")
            if value:
                return str(value)
    return ""


class _Index:
    """What is searched without a server: one entry for each entity, as JSON and as a script that assigns it."""

    _FORMS = (
        ("static/search-index.json", "[\n", "\n]\n"),
        ("static/search-index.js", "window.PALIMPSEST_INDEX = [\n", "\n];\n"),
    )

    def __init__(self, site: _Site) -> None:
        self._site, self._last, self._waiting = site, "", list[str]()
        for name, head, _ in self._FORMS:
            site.write(name, head.encode())

    def add(self, view: EntityPageView) -> None:
        """An entity, when its first page comes by."""
        if view.id == self._last:
            return
        it = view.page.entity
        words = [it.urn, *(one.statement for one in view.page.beliefs if one.aspect in _SOUGHT)]
        entry = {
            "name": rendering.cut(it.name, 200),
            "platform": f"{it.platform} {it.kind}".strip(),
            "href": f"../entity/{view.id}/index.html",
            "text": " ".join(words)[:_MOST_SOUGHT].casefold(),
        }
        self._waiting.append((",\n" if self._last else "") + json.dumps(entry, ensure_ascii=True))
        self._last = view.id
        if len(self._waiting) >= _AT_ONCE:
            self._flush()

    def finish(self) -> None:
        """Write what waits, and the ends."""
        self._flush()
        for name, _, tail in self._FORMS:
            self._site.append(name, tail.encode())

    def _flush(self) -> None:
        body = "".join(self._waiting).encode()
        for name, _, _ in self._FORMS:
            self._site.append(name, body)
        self._waiting.clear()
