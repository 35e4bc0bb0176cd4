"""Search, scroll and lineage of the double promise what DataHub's do, traps included."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

from palimpsest.testing.gms import GmsDouble
from tests.testing.asking import FRIDAY, MONDAY, ORDERS, data, dataset, graphql

SEARCH = """query search($input: SearchAcrossEntitiesInput!) { searchAcrossEntities(input: $input) {
  start count total searchResults { entity { urn type } }
  facets { field aggregations { value count entity { urn } } } } }"""
SCROLL = """query scroll($input: ScrollAcrossEntitiesInput!) { scrollAcrossEntities(input: $input) {
  nextScrollId count total searchResults { entity { urn } } } }"""
LINEAGE = """query lineage($input: SearchAcrossLineageInput!) { searchAcrossLineage(input: $input) {
  total searchResults { degree entity { urn } paths { path { urn } } } } }"""


@pytest.fixture
def gms() -> Iterator[GmsDouble]:
    with GmsDouble.serving(load=[MONDAY]) as double:
        yield double


def search(gms: GmsDouble, *rules: dict[str, Any], **given: Any) -> dict[str, Any]:
    asked = {"query": "*", "start": 0, "count": 100, **given}
    if rules:
        asked["orFilters"] = [{"and": list(rules)}]
    found = data(gms, SEARCH, input=asked)["searchAcrossEntities"]
    assert isinstance(found, dict)
    return found


def urns(found: dict[str, Any]) -> list[str]:
    return [hit["entity"]["urn"] for hit in found["searchResults"]]


def alive(gms: GmsDouble) -> list[str]:
    return [urn for urn in gms.store.urns("dataset") if not gms.store.is_removed(urn)]


def rule(field: str, *values: str, **more: Any) -> dict[str, Any]:
    return {"field": field, "values": list(values), **more}


def test_a_page_is_told_by_start_count_and_total(gms: GmsDouble) -> None:
    first = search(gms, types=["DATASET"], count=3)
    second = search(gms, types=["DATASET"], start=3, count=100)
    past = search(gms, types=["DATASET"], start=500, count=3)

    assert (first["start"], first["count"], first["total"]) == (0, 3, 8)
    assert urns(first) + urns(second) == alive(gms)
    assert (past["count"], past["total"], past["searchResults"]) == (0, 8, [])


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ([rule("platform", "urn:li:dataPlatform:postgres")], {"orders", "customers", "legacy_carts"}),
        ([rule("platform.keyword", "urn:li:dataPlatform:kafka"), rule("origin", "PROD")], {"checkout_events"}),
        ([rule("origin", "DEV")], set()),
        ([rule("owners", "urn:li:corpuser:jonas"), rule("urn", ORDERS)], {"orders"}),
        ([rule("urn", ORDERS, "urn:li:dataset:(urn:li:dataPlatform:x,none,PROD)")], {"orders"}),
        ([rule("fieldPaths", "placed_at")], {"orders"}),
        ([rule("name", "cart", condition="CONTAIN")], {"legacy_carts"}),
        (
            [rule("browsePathV2", "urn:li:container:shop-public", condition="CONTAIN")],
            {"orders", "customers", "legacy_carts"},
        ),
        ([rule("container", condition="EXISTS", negated=True)], {"checkout_events", "order_facts"}),
    ],
)
def test_filters(gms: GmsDouble, rules: list[dict[str, Any]], expected: set[str]) -> None:
    found = search(gms, *rules, types=["DATASET"])
    names = {urn.split(",")[1].rsplit(".", 1)[-1] for urn in urns(found)}
    assert names == expected
    assert found["total"] == len(expected)


def test_alternatives_of_filters(gms: GmsDouble) -> None:
    either = [
        {"and": [rule("platform", "urn:li:dataPlatform:kafka")]},
        {"and": [rule("urn", ORDERS), rule("removed", "true", negated=True)]},
    ]
    assert urns(search(gms, types=["DATASET"], orFilters=either)) == [
        "urn:li:dataset:(urn:li:dataPlatform:kafka,shop.checkout_events,PROD)",
        ORDERS,
    ]


def test_soft_deleted_entities_are_hidden_unless_they_are_asked_for(gms: GmsDouble) -> None:
    gms.store.remove(ORDERS)

    def has_orders(*rules: dict[str, Any], **given: Any) -> bool:
        return ORDERS in urns(search(gms, *rules, **given))

    assert not has_orders()
    assert not has_orders(rule("removed", "true", negated=True))
    assert not has_orders(rule("urn", condition="EXISTS")), "what the official server sends for `status = ALL`"
    assert has_orders(searchFlags={"includeSoftDeleted": True})
    assert urns(search(gms, rule("removed", "true"))) == sorted(set(gms.store.urns("dataset")) - set(alive(gms)))
    assert ORDERS not in alive(gms)
    gms.store.remove(ORDERS, removed=False)
    assert has_orders()


def test_the_order_asked_for(gms: GmsDouble) -> None:
    criterion = {"field": "urn", "sortOrder": "DESCENDING"}
    found = urns(search(gms, types=["DATASET"], sortInput={"sortCriterion": criterion}))
    assert found == sorted(alive(gms), reverse=True)


def test_facets_count_every_hit_but_name_only_the_commonest(gms: GmsDouble) -> None:
    found = search(gms, types=["DATASET"], count=0, searchFlags={"maxAggValues": 2})
    platforms = next(facet for facet in found["facets"] if facet["field"] == "platform")

    assert found["searchResults"] == []
    assert [(entry["value"], entry["count"]) for entry in platforms["aggregations"]] == [
        ("urn:li:dataPlatform:postgres", 3),
        ("urn:li:dataPlatform:snowflake", 3),
    ]
    assert search(gms, searchFlags={"skipAggregates": True})["facets"] == []


def test_a_page_beyond_ten_thousand_is_an_error_and_scrolling_goes_on(gms: GmsDouble) -> None:
    for number in range(10_050):
        gms.store.put(dataset(f"many.t{number:05}", "hive"), "status", {"removed": False})

    body = graphql(gms, SEARCH, input={"query": "*", "types": ["DATASET"], "start": 9_990, "count": 11})
    assert body["data"]["searchAcrossEntities"] is None
    assert "Result window is too large" in body["errors"][0]["message"]
    assert search(gms, types=["DATASET"], start=9_990, count=10)["total"] == 10_058

    seen: list[str] = []
    scroll_id = None
    while True:
        asked = {"query": "*", "types": ["DATASET"], "count": 1_000, "scrollId": scroll_id}
        page = data(gms, SCROLL, input=asked)["scrollAcrossEntities"]
        seen += urns(page)
        scroll_id = page["nextScrollId"]
        if scroll_id is None:
            break
    assert seen == alive(gms)
    assert page["total"] == 10_058


def test_a_full_last_page_of_a_scroll_is_followed_by_an_empty_one(gms: GmsDouble) -> None:
    page = data(gms, SCROLL, input={"query": "*", "types": ["DATASET"], "count": 8})["scrollAcrossEntities"]
    assert len(page["searchResults"]) == 8
    scroll_id = page["nextScrollId"]
    last = data(gms, SCROLL, input={"query": "*", "types": ["DATASET"], "count": 8, "scrollId": scroll_id})
    assert last["scrollAcrossEntities"] == {"nextScrollId": None, "count": 0, "total": 8, "searchResults": []}


def test_a_scroll_whose_id_is_no_longer_known_is_an_error(gms: GmsDouble) -> None:
    body = graphql(gms, SCROLL, input={"query": "*", "count": 8, "scrollId": "nonsense"})
    assert "scrollId" in body["errors"][0]["message"]


def test_a_lagging_index_shows_writes_after_a_refresh(gms: GmsDouble) -> None:
    gms.faults.search_lags = True
    new = dataset("new")
    gms.store.put(new, "status", {"removed": False})

    assert new not in urns(search(gms))
    assert data(gms, "query q($u: String!) { dataset(urn: $u) { exists } }", u=new) == {"dataset": {"exists": True}}
    gms.refresh()
    assert new in urns(search(gms))


# --- lineage ------------------------------------------------------------------------------------------------------


def reach(gms: GmsDouble, urn: str, direction: str = "DOWNSTREAM", **given: Any) -> list[tuple[str, int]]:
    asked = {"urn": urn, "direction": direction, "query": "*", "start": 0, "count": 1000, **given}
    found = data(gms, LINEAGE, input=asked)["searchAcrossLineage"]
    return [(hit["entity"]["urn"], hit["degree"]) for hit in found["searchResults"]]


def chain(gms: GmsDouble, length: int = 5) -> list[str]:
    made = [dataset(f"chain.t{number}") for number in range(length)]
    for upstream, downstream in pairwise(made):
        gms.store.put(downstream, "upstreamLineage", {"upstreams": [{"dataset": upstream, "type": "TRANSFORMED"}]})
    gms.store.put(made[0], "status", {"removed": False})
    return made


def degree(*values: str) -> list[dict[str, Any]]:
    return [{"and": [rule("degree", *values)]}]


def test_lineage_by_degree(gms: GmsDouble) -> None:
    made = chain(gms)

    assert reach(gms, made[0]) == [(made[at], at) for at in range(1, 5)]
    assert reach(gms, made[4], "UPSTREAM", orFilters=degree("1")) == [(made[3], 1)]
    assert reach(gms, made[0], orFilters=degree("1", "2")) == [(made[1], 1), (made[2], 2)]
    assert len(reach(gms, made[0], orFilters=degree("1", "2", "3+"))) == 4
    assert reach(gms, dataset("nobody")) == []


def test_lineage_counts_all_and_shows_a_page(gms: GmsDouble) -> None:
    for number in range(130):
        upstreams = {"upstreams": [{"dataset": ORDERS, "type": "COPY"}]}
        gms.store.put(dataset(f"down.t{number:03}"), "upstreamLineage", upstreams)
    asked = {"urn": ORDERS, "direction": "DOWNSTREAM", "query": "*", "start": 0, "count": 30}
    found = data(gms, LINEAGE, input={**asked, "orFilters": degree("1")})["searchAcrossLineage"]

    assert found["total"] > 130
    assert len(found["searchResults"]) == 30


def test_lineage_leaves_out_what_is_removed(gms: GmsDouble) -> None:
    made = chain(gms, 3)
    gms.store.remove(made[1])
    assert reach(gms, made[0]) == [(made[2], 2)]


def test_lineage_of_a_column_names_datasets_and_the_ways_to_their_columns(gms: GmsDouble) -> None:
    source, target = f"urn:li:schemaField:({ORDERS},total)", dataset("sums")
    column = f"urn:li:schemaField:({target},sum)"
    pair = {"upstreamType": "FIELD_SET", "upstreams": [source], "downstreamType": "FIELD", "downstreams": [column]}
    gms.store.put(target, "upstreamLineage", {"upstreams": [], "fineGrainedLineages": [pair]})
    asked = {"urn": source, "direction": "DOWNSTREAM", "query": "*", "start": 0, "count": 1000}
    found = data(gms, LINEAGE, input=asked)["searchAcrossLineage"]["searchResults"]

    assert {"degree": 1, "entity": {"urn": target}, "paths": [{"path": [{"urn": source}, {"urn": column}]}]} in found


def test_a_stale_lineage_cache_answers_what_it_knew(gms: GmsDouble) -> None:
    made = chain(gms, 2)
    gms.faults.stale_lineage = True
    assert reach(gms, made[0]) == [(made[1], 1)]
    gms.store.put(dataset("late"), "upstreamLineage", {"upstreams": [{"dataset": made[0], "type": "COPY"}]})

    assert reach(gms, made[0]) == [(made[1], 1)]
    assert len(reach(gms, made[0], searchFlags={"skipCache": True})) == 2
    gms.faults.clear()
    assert len(reach(gms, made[0])) == 2


def test_a_whole_catalog_changes_what_is_found(gms: GmsDouble) -> None:
    before = urns(search(gms))
    gms.load(FRIDAY)
    assert urns(search(gms)) != before
