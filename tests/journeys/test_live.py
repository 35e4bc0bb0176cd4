"""A running DataHub read again and again: what differs is written, and no fault of DataHub ends anything (R8)."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import stamina

from palimpsest.adapters.datahub.credentials import Credentials
from palimpsest.adapters.datahub.graphql import GraphqlReader
from palimpsest.adapters.datahub.mcp_source import McpReader
from palimpsest.core.errors import CatalogError
from palimpsest.jobs.consolidate import consolidate
from palimpsest.jobs.scan import ScanReport, ScanRequest, scan
from palimpsest.jobs.verify import verify
from palimpsest.ports import CatalogReader
from palimpsest.queries.changes import ChangesRequest, changes
from palimpsest.queries.held import When
from palimpsest.queries.show import show
from palimpsest.store import migrate
from palimpsest.store.engine import Store, open_store
from palimpsest.testing import FixedClock, NoProgress
from palimpsest.testing.gms import GmsDouble
from tests.building import owners
from tests.testing.second import datahub_environment

SAMPLE = Path(__file__).resolve().parents[2] / "demo" / "catalog" / "2026-03-02-monday.json"
ORDERS = "urn:li:dataset:(urn:li:dataPlatform:postgres,shop.public.orders,PROD)"


class Live:
    """One store, one double, and a clock that goes on."""

    def __init__(self, store: Store, gms: GmsDouble) -> None:
        self.store, self.gms = store, gms
        self.clock = FixedClock(1_772_500_000_000, step=1_000)  # type: ignore[arg-type]

    def graphql(self, token: str = "") -> GraphqlReader:
        """A reader over GraphQL."""
        return GraphqlReader(self.gms.url, token or self.gms.token, timeout=5)

    def scan(self, reader: CatalogReader) -> ScanReport:
        """Scan and consolidate; every rule holds afterwards."""
        try:
            report = scan(
                self.store,
                reader,
                ScanRequest(source=reader.kind),
                clock=self.clock,
                progress=NoProgress(),
                holder="test",
            )
        finally:
            reader.close()
            consolidate(self.store, clock=self.clock, progress=NoProgress(), holder="test")
            assert verify(self.store, clock=self.clock, progress=NoProgress()).broken == 0
        return report

    def changes(self) -> list[str]:
        """The lines of everything that changed so far."""
        view = changes(self.store, ChangesRequest(since="2020-01-01"), When(now=self.clock.now()))
        return [line.partition(", ")[0] for line in view.lines]


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    """The sample catalog behind a double, and an empty store. No retry waits."""
    store = open_store(f"sqlite:///{tmp_path / 'memory.db'}")
    migrate.upgrade(store, now=1)  # type: ignore[arg-type]
    with GmsDouble.serving(load=[SAMPLE]) as gms, stamina.set_testing(True, attempts=2):
        yield Live(store, gms)
    store.dispose()


def test_a_changed_owner_is_the_one_thing_that_is_written(live: Live) -> None:
    assert live.scan(live.graphql()).changes == {}
    assert live.scan(live.graphql()).written == 0
    live.gms.store.put(ORDERS, "ownership", owners("lena"))
    third = live.scan(live.graphql())
    assert (third.written, third.contradicting, third.complete) == (1, 1, True)
    assert live.changes() == ["orders: owner was jonas"]


def test_the_last_tag_and_the_last_owner_removed_are_seen(live: Live) -> None:
    live.scan(live.graphql())
    live.gms.store.drop(ORDERS, "ownership")
    live.gms.store.put(ORDERS, "globalTags", {"tags": []})
    assert live.scan(live.graphql()).written == 2
    assert live.changes() == ["orders: owner jonas removed", "orders: tag gold removed"]


def test_a_soft_delete_a_return_and_a_hard_delete_are_seen(live: Live) -> None:
    live.scan(live.graphql())
    live.gms.store.remove(ORDERS)
    assert live.scan(live.graphql()).by_aspect == {"existence": 1}
    live.gms.store.put(ORDERS, "status", {"removed": False})
    assert live.scan(live.graphql()).by_aspect == {"existence": 1}
    live.gms.store.delete(ORDERS)
    assert live.scan(live.graphql()).by_aspect == {"existence": 1}
    assert live.scan(live.graphql()).written == 0


@pytest.mark.parametrize("status", [401, 403, 500])
def test_a_datahub_that_refuses_ends_nothing_and_the_next_run_completes(live: Live, status: int) -> None:
    live.scan(live.graphql())
    live.gms.store.put(ORDERS, "ownership", owners("lena"))
    live.gms.faults.fail(status)
    with pytest.raises(CatalogError):
        live.scan(live.graphql())
    live.gms.faults.clear()
    assert live.scan(live.graphql()).written == 1


def test_a_broken_entity_costs_that_entity_and_ends_nothing(live: Live) -> None:
    live.scan(live.graphql())
    live.gms.faults.broken.add(ORDERS)
    report = live.scan(live.graphql())
    assert (report.written, report.complete, report.records_failed > 0) == (0, False, True)
    assert any(ORDERS in failure for failure in report.failures)
    live.gms.faults.broken.clear()
    assert (live.scan(live.graphql()).written, live.changes()) == (0, [])


def test_a_search_that_lags_is_no_deletion(live: Live) -> None:
    live.scan(live.graphql())
    live.gms.faults.search_lags = True
    fresh = ORDERS.replace("orders", "orders_new")
    live.gms.store.put(fresh, "status", {"removed": False})
    assert live.scan(live.graphql()).written == 0
    live.gms.faults.search_lags = False
    live.gms.refresh()
    assert live.scan(live.graphql()).changes == {"minor": 1}


@pytest.fixture
def mcp(live: Live) -> Callable[[], McpReader]:
    """Makes readers through DataHub's real MCP server."""
    command = [str(datahub_environment() / "bin" / "mcp-server-datahub")]

    def make() -> McpReader:
        credentials = Credentials(url=live.gms.url, token=live.gms.token)
        return McpReader(credentials, command=command, environ=dict(os.environ))

    return make


@pytest.mark.long
def test_two_sources_of_one_catalog_contradict_nothing_and_are_shown_side_by_side(
    live: Live, mcp: Callable[[], McpReader]
) -> None:
    assert live.scan(mcp()).changes == {}
    assert live.scan(mcp()).written == 0
    live.gms.store.put(ORDERS, "ownership", owners("lena"))
    changed = live.scan(mcp())
    assert (changed.written, changed.contradicting) == (1, 1)
    over = live.scan(live.graphql())
    assert (over.changes, over.contradicting) == ({}, 0)
    view: Any = show(live.store, ORDERS, When(now=live.clock.now()))
    assert "datahub-mcp" in json.dumps(view, default=str)
    assert live.changes() == ["orders: owner was jonas"]
