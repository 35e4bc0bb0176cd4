"""Protocols for what has several implementations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from palimpsest.core.link_list import LinkOutcome, WantedLink
from palimpsest.core.moment import Moment
from palimpsest.core.observation import Failed, Patch, RawAspect, Seen, Skipped


class Clock(Protocol):
    """Tells the time."""

    def now(self) -> Moment:
        """The moment it is."""


class Progress(Protocol):
    """Shows a person how far a job is; the silent one does nothing."""

    def start(self, what: str, total: int | None = None) -> None:
        """A stage begins; `total` steps are expected, None when nobody knows."""

    def advance(self, count: int = 1) -> None:
        """So many steps are done."""

    def done(self) -> None:
        """The stage ends."""


class CatalogReader(Protocol):
    """One source of testimony about a catalog."""

    @property
    def kind(self) -> str:
        """The kind of source: `file`, `datahub-mcp`, `datahub-graphql`. Its name unless one is given."""

    @property
    def origin(self) -> str:
        """Which server or catalog stands behind it; a source refuses another one under its name."""

    @property
    def is_complete(self) -> bool:
        """Whether the reading lists every entity of the catalog."""

    @property
    def listing_is_proof(self) -> bool:
        """Whether an entity that a complete listing lacks is gone by that alone; else we ask again (R8)."""

    def records(self) -> Iterator[RawAspect | Skipped | Failed]:
        """Every record, in reading order, with flat memory. Raises CatalogError when the catalog cannot be read."""

    def observe(self, urn: str, part: str, payload: bytes) -> Seen:
        """The cells that a raw aspect states, and its stamp. Raises ValueError when it is not of the expected form."""

    def patches(self, urn: str, part: str, payload: bytes) -> tuple[list[Patch], list[str]]:
        """The member changes that a PATCH states, and the paths it cannot turn into any."""

    def confirm(self, wanted: Iterable[tuple[str, str]]) -> Iterator[RawAspect | Failed]:
        """What held raw aspects (URN, name) say that the reading did not state; nothing where nobody can tell."""

    def confirm_gone(self, urns: Iterable[str]) -> Iterator[RawAspect | Failed]:
        """The `status` of held entities that a complete listing lacks, read by URN; nothing where nobody can tell."""

    def close(self) -> None:
        """Give back connections and processes."""


class LinkWriter(Protocol):
    """Writes our links down for somebody else to apply; what becomes of them cannot be seen."""

    @property
    def target(self) -> str:
        """Where the links go: a file's path."""

    def write(self, links: Iterable[tuple[str, str, str, Moment]]) -> set[str]:
        """Write (URN, URL, label, time). Returns the URLs that a re-read found exactly once."""


class CatalogLinks(Protocol):
    """Our links in a running catalog, where they can be looked at, changed and taken away. One outcome for each link.

    Both raise CatalogError when the catalog cannot be used at all; a link that fails is an outcome.
    """

    @property
    def target(self) -> str:
        """Where the links go: a server's address."""

    def plan(self, links: Iterable[WantedLink]) -> Iterator[LinkOutcome]:
        """What would become of each link; writes nothing."""

    def apply(self, links: Iterable[WantedLink]) -> Iterator[LinkOutcome]:
        """Bring each link about, change no other, and look whether it stands there."""


class PageProbe(Protocol):
    """Looks whether a page is there before a link to it is published."""

    def check(self, url: str) -> None:
        """Fetch the page once. Raises CatalogError when it does not answer."""
