"""Protocols for what has several implementations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

from palimpsest.core.belief import Version
from palimpsest.core.choosing import Candidates, Choice
from palimpsest.core.cluster import Cluster
from palimpsest.core.language import Answer, Ask, Usage
from palimpsest.core.link_list import LinkOutcome, WantedLink
from palimpsest.core.moment import Moment
from palimpsest.core.notice import Message
from palimpsest.core.observation import EntityHistory, Failed, Patch, RawAspect, Seen, Skipped
from palimpsest.core.patience import Failure

if TYPE_CHECKING:
    from palimpsest.core.vector import Vector, Vectors
from palimpsest.core.reconcile import Judged


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


class Kept(Protocol):
    """What a reading keeps of itself till it is written down, so that after a break the next need not ask again."""

    @property
    def taken(self) -> int:
        """How many entities were taken from the reading that broke."""

    def begin(self, *, kind: str, origin: str, source: str, since: Moment | None) -> None:
        """Take up what a broken reading of this source left, but nothing that was read before `since`."""

    def end(self) -> None:
        """Forget everything: it is written down."""


class NoProgress:
    """Progress that nobody looks at: shows nothing."""

    def start(self, what: str, total: int | None = None) -> None:
        """A stage begins."""

    def advance(self, count: int = 1) -> None:
        """So many steps are done."""

    def done(self) -> None:
        """The stage ends."""


class Judge(Protocol):
    """Gives verdicts on what is pending."""

    @property
    def name(self) -> str:
        """Who judges, as versions name it."""

    def judge(self, clusters: Sequence[tuple[Cluster, Sequence[Version]]]) -> list[Judged]:
        """The verdicts on clusters, each given with the versions of its belief so far, by number.

        A cluster that is not among them could not be judged: it stays pending.
        """


class Chooser(Protocol):
    """Chooses what notes are about, among numbered candidates."""

    @property
    def name(self) -> str:
        """Who chooses, as choices name it."""

    def choose(self, waiting: Sequence[Candidates]) -> Sequence[Choice | None]:
        """A choice for each note, in order; None for one that was not answered: it waits."""


class LanguageModel(Protocol):
    """Answers a request with JSON of a given schema. Wrappers add patience, a budget, and recording."""

    @property
    def name(self) -> str:
        """The provider and the model, as verdicts name them: `anthropic:claude-sonnet-4-5`."""

    @property
    def used(self) -> Usage:
        """What was used so far, answers that were no use included."""

    def answer(self, ask: Ask) -> Answer:
        """Ask once. Raises BadAnswerError when this answer is none, BudgetError, or ModelError when it cannot be used.

        The text of an Answer is one JSON object; whether it is of the schema is for the caller to check.
        """

    def close(self) -> None:
        """Give back connections."""


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

    @property
    def kept(self) -> Kept | None:
        """What the reading keeps of itself; None for a source that costs nothing to read again."""

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


class HistoryReader(Protocol):
    """Reads the versions that a catalog keeps of its raw aspects."""

    @property
    def kind(self) -> str:
        """The kind of source whose testimony they are."""

    @property
    def origin(self) -> str:
        """Which server stands behind it."""

    def urns(self) -> list[str]:
        """Every entity of the catalog, soft-deleted ones too. Raises CatalogError."""

    def histories(self, urns: Iterable[str]) -> Iterator[EntityHistory | Failed]:
        """What the catalog keeps of each entity, in order, with flat memory. Raises CatalogError."""

    def observe(self, urn: str, part: str, payload: bytes) -> Seen:
        """The cells that a raw aspect states, and its stamp. Raises ValueError when it is not of the expected form."""

    def close(self) -> None:
        """Give back the connections."""


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


class Embedder(Protocol):
    """Turns texts into vectors of `core.vector.DIMENSION` numbers and length one; near means alike.

    Both methods raise ModelError when the model cannot be used, RefusedTextError when it does not take a text.
    """

    @property
    def name(self) -> str:
        """The provider, the model and what tells its versions apart: vectors of two names are never compared."""

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """One row for each text, in their order. Patient: tries again what may pass."""

    def embed_question(self, text: str) -> Vector:
        """The vector that passages are compared with. In haste: somebody waits for it."""

    def close(self) -> None:
        """Give back connections and memory."""


class Notifier(Protocol):
    """Sends messages by one way: mail, a chat, a webhook."""

    def send(self, message: Message, address: str) -> Failure | None:
        """Send a message to an address; None when the receiver accepted it. Patient: tries again what may pass.

        A failure never holds a secret.
        """

    def close(self) -> None:
        """Give back connections."""


class DumpWriter(Protocol):
    """Where a dump goes."""

    def start(self) -> None:
        """Begin with nothing written, again where a transaction is run again. Raises PalimpsestError if it cannot."""

    def write(self, data: bytes) -> None:
        """Write some lines. Raises PalimpsestError when they cannot be written."""
