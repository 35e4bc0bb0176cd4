"""A console on a memory of a test, asked without a network: the application, its client, and what pages say."""

from __future__ import annotations

from collections.abc import Callable
from html.parser import HTMLParser
from typing import Any

from starlette.testclient import TestClient

from palimpsest.jobs.verify import VerifyReport, verify
from palimpsest.ports import NoProgress
from palimpsest.store.engine import Store, open_store
from palimpsest.store.limits import only_read
from palimpsest.surfaces.console.answering import Settled
from palimpsest.surfaces.console.app import create_app
from palimpsest.surfaces.console.pages import Desk
from palimpsest.surfaces.console.rules import RulesKeeper
from palimpsest.surfaces.console.security import Door
from palimpsest.testing import FixedClock
from tests.building import Memory, dataset, mcp, owners, schema, status, tags, text

ORDERS = dataset("shop.orders")
CARTS = dataset("shop.carts")
BOOK = dataset("shop.book", "snowflake")


def shop(memory: Memory) -> Memory:
    """Three datasets, read twice: between the readings an owner, a text, a column and a table changed."""
    memory.remember(
        [
            mcp(ORDERS, "ownership", owners("jonas", at="2026-01-05", by="mira")),
            mcp(ORDERS, "datasetProperties", text("One row for **each order**. Prices are in cents.")),
            mcp(ORDERS, "schemaMetadata", schema(("id", "bigint"), ("total", "numeric", "In cents"))),
            mcp(CARTS, "globalTags", tags("old")),
            mcp(CARTS, "status", status()),
            mcp(BOOK, "upstreamLineage", {"upstreams": [{"dataset": ORDERS, "type": "TRANSFORMED"}]}),
        ],
        at="2026-03-02T08:00:00Z",
    )
    memory.remember(
        [
            mcp(ORDERS, "ownership", owners("lena", at="2026-03-03T14:20:00Z", by="mira")),
            mcp(ORDERS, "datasetProperties", text("One row for **each order**. Prices are in euros.")),
            mcp(ORDERS, "schemaMetadata", schema(("id", "bigint"))),
            mcp(CARTS, "status", status(removed=True)),
        ],
        at="2026-03-04T08:00:00Z",
    )
    memory.index()
    return memory


def desk_of(memory: Memory, *, milliseconds: int = 5_000, count: Callable[[], VerifyReport] | None = None) -> Desk:
    """What pages are made from; the clock stands at the last job of the memory."""
    clock = FixedClock(memory.clock.at, step=0)

    def counted() -> VerifyReport:
        return verify(memory.store, clock=clock, progress=NoProgress())

    return Desk(
        store=reading(memory, milliseconds=milliseconds),
        clock=clock,
        rules=RulesKeeper(count or counted, clock),
        meaning=lambda question: None,
    )


def reading(memory: Memory, *, milliseconds: int = 5_000) -> Store:
    """The memory's store as the console opens it."""
    return only_read(open_store(memory.url, writing=False), milliseconds=milliseconds)


def client_of(
    desk: Desk, *, token: str = "", root: str = "", public_url: str = "", host: str = "localhost"
) -> TestClient:
    """A client of a console of that desk."""
    app = create_app(desk, Settled(root=root, door=Door(token, public_url)))
    return TestClient(app, base_url=f"http://{host}", raise_server_exceptions=False, follow_redirects=False)


def entity_path(store: Store, urn: str) -> str:
    """The path of an entity's page."""
    return f"/entity/{store.ids.entity(urn)[:8].hex()}"


def belief_path(store: Store, urn: str, aspect: str, key: str = "", source: str = "file") -> str:
    """The path of a belief's page."""
    return f"/belief/{store.ids.belief(store.ids.entity(urn), source, aspect, key).hex()}"


_INLINE = frozenset({"a", "code", "del", "em", "ins", "span", "strong", "time"})


class Seen(HTMLParser):
    """What is in a page: its elements with their attributes, and its text."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.said: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in _INLINE:
            self.said.append(" ")

    def handle_data(self, data: str) -> None:
        self.said.append(data)

    @property
    def text(self) -> str:
        """The text, white space made one."""
        return " ".join("".join(self.said).split())

    def all(self, tag: str) -> list[dict[str, Any]]:
        """The attributes of every element of that kind."""
        return [attributes for name, attributes in self.elements if name == tag]
