"""A running DataHub read again and again: what differs is written, and no fault of DataHub ends anything (R8)."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from palimpsest.adapters.datahub.mcp_source import McpReader
from palimpsest.core.errors import CatalogError
from palimpsest.queries.held import When
from palimpsest.queries.show import show
from tests.building import owners
from tests.journeys.living import ORDERS, Live


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
