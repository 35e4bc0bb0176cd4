"""impact: what lies downstream by level, with owners and the belief of each hop, now and at any date."""

from __future__ import annotations

from pathlib import Path

import pytest

from palimpsest.core.errors import UsageError
from palimpsest.core.moment import parse
from palimpsest.queries.changes import ChangesRequest, changes
from palimpsest.queries.held import When
from palimpsest.queries.impact import ImpactView, impact
from tests.building import Memory, column_of, dataset, lineage, mcp, owners, schema, status

pytestmark = pytest.mark.usefixtures("dialect")

ORDERS, FACTS, REPORT, BOARD = (dataset(f"shop.{name}") for name in ("orders", "facts", "report", "board"))
MONDAY, TUESDAY, FRIDAY = "2026-03-02T08:00:00Z", "2026-03-03T08:00:00Z", "2026-03-06T08:00:00Z"
NOW = When(now=parse("2026-03-07T08:00:00Z"))


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    memory = Memory(tmp_path)
    memory.remember(
        [
            mcp(ORDERS, "schemaMetadata", schema(("id", "int"), ("discount", "numeric"))),
            mcp(FACTS, "upstreamLineage", lineage([ORDERS], [(ORDERS, "discount", "net")], FACTS)),
            mcp(FACTS, "ownership", owners("mira")),
            mcp(REPORT, "upstreamLineage", lineage([FACTS, ORDERS], [(FACTS, "net", "sum")], REPORT)),
            mcp(REPORT, "ownership", owners("jonas", "mira")),
            mcp(BOARD, "upstreamLineage", lineage([REPORT])),
        ],
        at=MONDAY,
    )
    return memory


def told(view: ImpactView) -> list[list[str]]:
    """The levels: each entity with its columns, what it is reached through, and its owners."""
    return [
        [" ".join([one.name, *one.columns, "<", one.through.split(",")[1], *one.owners]) for one in level.reached]
        for level in view.levels
    ]


def test_levels_tell_owners_and_the_hop_by_which_each_is_reached_first(memory: Memory) -> None:
    view = impact(memory.store, "orders", NOW)
    assert told(view) == [
        ["shop.facts < shop.orders mira", "shop.report < shop.orders jonas mira"],
        ["shop.board < shop.report"],
    ]
    assert (view.count, view.owners, view.deeper, view.whole) == (3, ("jonas", "mira"), False, False)
    assert [level.owners for level in view.levels] == [("jonas", "mira"), ()]


def test_each_hop_names_the_belief_about_lineage_that_states_it(memory: Memory) -> None:
    ids = memory.store.ids
    view = impact(memory.store, "orders.discount", NOW)
    assert told(view) == [["shop.facts net < shop.orders mira"], ["shop.report sum < shop.facts jonas mira"]]
    beliefs = [one.belief for level in view.levels for one in level.reached]
    expected = [
        ids.belief(ids.entity(FACTS), "file", "column_upstreams", "net"),
        ids.belief(ids.entity(REPORT), "file", "column_upstreams", "sum"),
    ]
    assert beliefs == [one.hex() for one in expected]


def test_depth_and_most_bound_what_is_listed_and_not_what_is_counted(memory: Memory) -> None:
    view = impact(memory.store, "orders", NOW, depth=1, most=1)
    assert told(view) == [["shop.facts < shop.orders mira"]]
    assert (view.levels[0].count, view.deeper) == (2, True)
    assert impact(memory.store, "report", NOW, depth=1).deeper is False


def test_a_date_is_answered_from_the_lineage_and_the_owners_of_that_date(memory: Memory) -> None:
    memory.remember(
        [
            mcp(FACTS, "upstreamLineage", lineage([])),
            mcp(FACTS, "ownership", owners("lena")),
            mcp(BOARD, "upstreamLineage", lineage([ORDERS])),
        ],
        at=TUESDAY,
    )
    memory.remember([mcp(BOARD, "status", status(removed=True))], at=FRIDAY)
    assert told(impact(memory.store, "orders", NOW)) == [["shop.report < shop.orders jonas mira"]]

    def on(day: str) -> list[list[str]]:
        return told(impact(memory.store, "orders", When(now=NOW.now, as_of=parse(day, end_of_day=True))))

    assert on("2026-03-02") == [
        ["shop.facts < shop.orders mira", "shop.report < shop.orders jonas mira"],
        ["shop.board < shop.report"],
    ]
    assert on("2026-03-04") == [["shop.board < shop.orders", "shop.report < shop.orders jonas mira"]]
    assert on("2026-03-06") == [["shop.report < shop.orders jonas mira"]]
    assert on("2026-03-01") == []


def test_now_read_from_the_edges_is_now_read_from_the_versions(memory: Memory) -> None:
    as_of_now = When(now=NOW.now, as_of=NOW.now)
    for text in ("orders", "orders.discount", "orders.id", "facts", "board"):
        assert told(impact(memory.store, text, NOW)) == told(impact(memory.store, text, as_of_now))


def test_the_count_is_what_changes_counts_downstream(memory: Memory) -> None:
    column = impact(memory.store, "orders.discount", NOW).count
    table = impact(memory.store, "orders", NOW).count
    memory.remember([mcp(ORDERS, "schemaMetadata", schema(("id", "int")))], at=TUESDAY)
    memory.remember([mcp(ORDERS, "status", status(removed=True))], at=FRIDAY)
    view = changes(memory.store, ChangesRequest(since="2026-03-03"), NOW)
    assert {one.aspect: one.downstream for one in view.changes} == {"column": column, "existence": table}


def test_a_table_without_lineage_by_column_tells_its_direct_readers_and_says_so(memory: Memory) -> None:
    memory.remember([mcp(REPORT, "schemaMetadata", schema(("sum", "int")))], at=TUESDAY)
    view = impact(memory.store, "report.sum", NOW)
    assert (told(view), view.whole) == ([["shop.board < shop.report"]], True)


def test_lineage_that_goes_round_ends(memory: Memory) -> None:
    memory.remember([mcp(ORDERS, "upstreamLineage", lineage([BOARD]))], at=TUESDAY)
    assert impact(memory.store, "orders", NOW).count == 3
    assert told(impact(memory.store, "board", NOW))[0] == ["shop.orders < shop.board"]


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("orders", ""),
        ("shop.orders", ""),
        (ORDERS, ""),
        ("orders.discount", "discount"),
        ("shop.orders.DISCOUNT", "discount"),
        (f"{ORDERS}.discount", "discount"),
        (column_of(ORDERS, "discount"), "discount"),
    ],
)
def test_an_entity_and_a_column_are_named_in_every_way(memory: Memory, text: str, column: str) -> None:
    view = impact(memory.store, text, NOW)
    assert (view.entity.urn, view.column) == (ORDERS, column)


@pytest.mark.parametrize("text", [f"{ORDERS}.nothing", column_of(ORDERS, "nothing"), "nowhere", "nowhere.at.all"])
def test_what_is_not_held_is_a_usage_error(memory: Memory, text: str) -> None:
    with pytest.raises(UsageError):
        impact(memory.store, text, NOW)
