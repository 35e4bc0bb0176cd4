"""Odd and large catalogs through a running DataHub: right values, or a counted failure with the name."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable

import pytest

from palimpsest.adapters.datahub.mcp_source import McpReader
from palimpsest.ports import CatalogReader
from tests.adapters.datahub.test_graphql import ODD_NAMES
from tests.adapters.datahub.test_mcp import REFUSED_NAMES
from tests.building import dataset, lineage, owners, schema, tags
from tests.journeys.living import Live

Make = Callable[[], CatalogReader]
TWIN = dataset("twin").replace("PROD", "DEV")
V2 = "[version=2.0].[type=struct].a.[type=array].[type=string].c"


@pytest.fixture(params=["datahub-graphql", pytest.param("datahub-mcp", marks=pytest.mark.long)])
def make(request: pytest.FixtureRequest, live: Live) -> Make:
    """Makes readers of one of the sources."""
    if request.param == "datahub-graphql":
        return live.graphql
    return request.getfixturevalue("mcp")  # type: ignore[no-any-return]


def held(live: Live, aspect: str) -> dict[str, object]:
    """URN → value of an aspect without a key."""
    return {
        str(urn): json.loads(str(value)) for urn, _, name, key, value in live.beliefs() if (name, key) == (aspect, "")
    }


def test_odd_names_are_held_or_counted_with_the_name_and_a_second_scan_writes_nothing(live: Live, make: Make) -> None:
    urns = {name: dataset(name) for name in ODD_NAMES}
    for name, urn in urns.items():
        live.gms.store.put(urn, "ownership", owners("mira"))
        live.gms.store.put(urn, "schemaMetadata", schema((f"{V2}.{name}", "text"), ("plain", "text")))
        live.gms.store.put(urn, "upstreamLineage", lineage([dataset("source")]))
    live.gms.store.put(dataset("source"), "ownership", owners("mira"))
    first = live.scan(make())
    refused = {urns[name] for name in REFUSED_NAMES} if first.source == "datahub-mcp" else set()
    assert first.records_failed == len(refused) == len(first.failures)
    assert all(any(urn in failure for failure in first.failures) for urn in refused)
    kept = set(urns.values()) - refused
    owned, fed = held(live, "ownership"), held(live, "upstreams")
    assert all("mira" in str(owned[urn]) and "source" in str(fed[urn]) for urn in kept)
    columns = Counter(urn for urn, _, aspect, *_ in live.beliefs() if aspect == "column")
    assert {urn: columns[urn] for urn in kept} == dict.fromkeys(kept, 2)
    second = live.scan(make())
    assert (second.written, second.records_failed) == (0, len(refused))


@pytest.mark.parametrize("count", [130, pytest.param(400, marks=pytest.mark.long)])
def test_a_table_with_many_downstreams_and_one_with_5_000_columns(live: Live, make: Make, count: int) -> None:
    hub, wide = dataset("hub"), dataset("wide")
    downstream = {dataset(f"t{place:03}") for place in range(count)}
    for urn in downstream:
        live.gms.store.put(urn, "upstreamLineage", lineage([hub]))
    live.gms.store.put(hub, "ownership", owners("mira"))
    live.gms.store.put(wide, "schemaMetadata", schema(*((f"{V2}{place}", "text") for place in range(5_000))))
    report = live.scan(make())
    assert (report.records_failed, report.complete) == (0, True)
    assert {urn for urn, value in held(live, "upstreams").items() if hub in str(value)} == downstream
    assert sum((urn, aspect) == (wide, "column") for urn, _, aspect, *_ in live.beliefs()) == 5_000


def test_what_goes_and_comes_back_is_told_from_what_was_not_read(live: Live, make: Make) -> None:
    soft, back, hard, bare = (dataset(name) for name in ("soft", "back", "hard", "bare"))
    for urn in (soft, back, hard, bare, dataset("twin"), TWIN):
        live.gms.store.put(urn, "ownership", owners("mira"))
        live.gms.store.put(urn, "globalTags", tags("gold"))
    live.scan(make())
    live.gms.store.remove(soft)
    live.gms.store.remove(back)
    live.gms.store.delete(hard)
    live.gms.store.drop(bare, "ownership")
    live.gms.store.put(bare, "globalTags", {"tags": []})
    live.gms.store.put(TWIN, "ownership", owners("lena"))
    second = live.scan(make())
    assert (second.by_aspect, second.complete) == ({"existence": 3, "ownership": 2, "tags": 1}, True)
    owned, existing = held(live, "ownership"), held(live, "existence")
    assert "mira" in str(owned[dataset("twin")])
    assert "lena" in str(owned[TWIN])
    assert (owned[bare], held(live, "tags")[bare], bare in existing) == ([], [], True)
    live.gms.store.remove(back, removed=False)
    assert live.scan(make()).by_aspect == {"existence": 1}
    assert live.scan(make()).written == 0


@pytest.mark.long
def test_twelve_thousand_datasets_through_the_real_server(live: Live, mcp: Callable[..., McpReader]) -> None:
    """Most are alike in all that a listing can be parted by, so that the part of them is larger than the window."""
    urns = [dataset(f"t{place:05}", "postgres" if place < 11_000 else "hive") for place in range(12_000)]
    for place, urn in enumerate(urns):
        live.gms.store.put(urn, "ownership", owners("mira"))
        if place % 10:
            live.gms.store.put(urn, "upstreamLineage", lineage([urns[place - place % 10]]))
    live.gms.refresh()
    report = live.scan(mcp())
    assert (report.complete, report.records_failed) == (True, 0)
    assert {urn for urn in held(live, "existence") if urn.startswith("urn:li:dataset:") and ",t" in urn} == set(urns)
    asked = Counter(str(_variables(request.body).get("urn")) for request in live.gms.asked("GetEntity"))
    assert {urn: asked[urn] for urn in urns} == dict.fromkeys(urns, 1)
    owned, fed = held(live, "ownership"), held(live, "upstreams")
    assert all("mira" in str(owned[urn]) for urn in urns)
    assert sum(urn in fed for urn in urns) == 10_800


def _variables(body: object) -> dict[str, object]:
    told = body.get("variables") if isinstance(body, dict) else None
    return told if isinstance(told, dict) else {}
