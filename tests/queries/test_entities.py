"""Entities are found by URN, name, last part or any part; else candidates or the nearest are named."""

from __future__ import annotations

from pathlib import Path

import pytest

from palimpsest.core.errors import UsageError
from palimpsest.queries.entities import find
from tests.building import Memory, dataset, mcp, status

pytestmark = pytest.mark.usefixtures("dialect")

ORDERS = dataset("shop.public.orders")
DBT, SNOWFLAKE = dataset("shop.order_facts", "dbt"), dataset("shop.order_facts", "snowflake")
UMLAUT = dataset("shop.Umsätze")


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    memory = Memory(tmp_path)
    urns = [ORDERS, DBT, SNOWFLAKE, UMLAUT, dataset("shop.public.orders_archive"), dataset("shop.a%b")]
    memory.remember([mcp(urn, "status", status()) for urn in urns], at="2026-03-02T08:00:00Z")
    return memory


@pytest.mark.parametrize(
    ("text", "urn"),
    [
        (ORDERS, ORDERS),
        ("shop.public.orders", ORDERS),
        ("orders", ORDERS),
        ("ORDERS", ORDERS),
        ("public.orders", ORDERS),
        ("dbt,shop.order", DBT),
        ("UMSÄTZE", UMLAUT),
        ("a%b", dataset("shop.a%b")),
        ("archive", dataset("shop.public.orders_archive")),
    ],
)
def test_a_part_that_only_one_has_is_enough(memory: Memory, text: str, urn: str) -> None:
    assert find(memory.store, text).urn == urn


def test_an_ambiguous_part_lists_the_candidates(memory: Memory) -> None:
    with pytest.raises(UsageError) as error:
        find(memory.store, "order_facts")
    assert error.value.message == f"'order_facts' can mean any of 2: {DBT}, {SNOWFLAKE}"


@pytest.mark.parametrize("text", ["ordrs", "oders", ORDERS.replace("orders", "ordesr")])
def test_a_misspelt_one_names_the_nearest(memory: Memory, text: str) -> None:
    with pytest.raises(UsageError, match="nothing is remembered of") as error:
        find(memory.store, text)
    assert error.value.hint.startswith("the nearest: ")
    assert "orders" in error.value.hint


def test_an_empty_memory_says_how_to_fill_it(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as error:
        find(Memory(tmp_path).store, "orders")
    assert error.value.hint == "palimpsest scan file:PATH reads a catalog"
