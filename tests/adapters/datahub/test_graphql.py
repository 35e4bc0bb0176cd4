"""The GraphQL source against the double: complete listings, odd names, wide tables, and what each fault costs."""

from __future__ import annotations

import json
import threading
from itertools import islice

import pytest
import stamina

from palimpsest.adapters.datahub.graphql import GraphqlReader
from palimpsest.core.errors import CatalogError
from palimpsest.core.jsontext import loads
from palimpsest.core.observation import Failed, RawAspect
from palimpsest.testing.gms import GmsDouble
from tests.building import dataset, lineage, owners, schema, tags, text

ODD_NAMES = [
    "a,b",
    "a(b)",
    "with space",
    "a/b/c",
    "a+b",
    "100%",
    "a%2Cb",
    "Größe.テーブル",
    "🦆.emoji",
    "a'b\"c",
    "x\\y",
]


@pytest.fixture
def gms():
    with GmsDouble.serving() as double:
        yield double


def fill(gms, count, **aspects):
    urns = [dataset(f"t{place:05}") for place in range(count)]
    for urn in urns:
        for part, value in (aspects or {"ownership": owners("mira")}).items():
            gms.store.put(urn, part, value)
    gms.refresh()
    return urns


def read(reader):
    """URN → raw aspect → value, and what failed."""
    found, failures = {}, []
    for each in reader.records():
        if isinstance(each, RawAspect):
            found.setdefault(each.urn, {})[each.part] = loads(each.payload)
        elif isinstance(each, Failed):
            failures.append(each)
    return found, failures


def test_a_thousand_datasets_cost_no_more_than_sixty_requests(gms, graphql):
    urns = fill(gms, 1_000)
    reader = graphql(gms)
    found, failures = read(reader)
    assert (set(found), failures, reader.is_complete) == (set(urns), [], True)
    assert reader.requests == len(gms.requests) <= 60
    assert f"1,000 datasets cost {reader.requests} requests" in " ".join(_docs().split())


def _docs():
    from tests.adapters.datahub.seeing import DOCS

    return DOCS.read_text(encoding="utf-8")


@pytest.mark.long
def test_twelve_thousand_datasets_are_listed_beyond_the_window_of_search(gms, graphql):
    urns = fill(gms, 12_000)
    reader = graphql(gms)
    found, failures = read(reader)
    assert (set(found), failures, reader.is_complete) == (set(urns), [], True)
    assert reader.requests <= 12 * 60


@pytest.mark.parametrize("name", ODD_NAMES)
def test_an_odd_name_comes_as_it_is(gms, graphql, name):
    urn, other = dataset(name), dataset("plain")
    gms.store.put(urn, "ownership", owners("mira"))
    gms.store.put(other, "upstreamLineage", lineage([urn]))
    found, failures = read(graphql(gms))
    assert failures == []
    assert found[urn]["ownership"] == owners("mira")
    assert found[other]["upstreamLineage"] == lineage([urn])


def test_a_wide_table_and_a_wide_lineage_come_whole(gms, graphql):
    columns = [(f"[version=2.0].[type=struct].a.[type=string].c{place}", "text", "d" * 300) for place in range(5_000)]
    upstreams = [dataset(f"u{place}") for place in range(400)]
    urn = dataset("wide")
    gms.store.put(urn, "schemaMetadata", schema(*columns))
    gms.store.put(urn, "upstreamLineage", lineage(upstreams))
    found, _ = read(graphql(gms))
    assert [field["fieldPath"] for field in found[urn]["schemaMetadata"]["fields"]] == [path for path, *_ in columns]
    assert found[urn]["schemaMetadata"]["fields"][0]["description"] == "d" * 300
    assert [entry["dataset"] for entry in found[urn]["upstreamLineage"]["upstreams"]] == upstreams


def test_soft_deleted_entities_are_listed_as_removed(gms, graphql):
    kept, gone = fill(gms, 2)
    gms.store.remove(gone)
    found, _ = read(graphql(gms))
    assert found[kept]["status"] == {"removed": False}
    assert found[gone]["status"] == {"removed": True}


def test_the_last_owner_and_the_last_tag_removed_are_stated_as_none(gms, graphql):
    (urn,) = fill(gms, 1, ownership=owners("mira"), globalTags=tags("PII"))
    gms.store.put(urn, "ownership", owners())
    gms.store.drop(urn, "globalTags")
    found, _ = read(graphql(gms))
    assert (found[urn]["ownership"], found[urn]["globalTags"]) == ({"owners": []}, {"tags": []})


# --- confirming ---------------------------------------------------------------------------------------------------


def test_held_raw_aspects_are_confirmed_as_they_are_or_as_empty(gms, graphql):
    (urn,) = fill(gms, 1, siblings={"siblings": [dataset("x")]})
    gone = dataset("gone")
    confirmed = list(graphql(gms).confirm([(urn, "siblings"), (urn, "viewProperties"), (gone, "siblings")]))
    assert [(raw.urn, raw.part, loads(raw.payload)) for raw in confirmed] == [
        (urn, "siblings", {"siblings": [dataset("x")]}),
        (urn, "viewProperties", {}),
    ]


def test_an_entity_that_a_listing_lacks_is_told_from_one_that_is_gone(gms, graphql):
    kept, removed = fill(gms, 2)
    gms.store.remove(removed)
    gone, tag = dataset("gone"), "urn:li:tag:gone"
    found = {raw.urn: loads(raw.payload) for raw in graphql(gms).confirm_gone([kept, removed, gone, tag])}
    assert found == {
        kept: {"removed": False},
        removed: {"removed": True},
        gone: {"removed": True},
        tag: {"removed": True},
    }


def test_a_broken_entity_is_not_taken_for_gone(gms, graphql):
    urn, other = fill(gms, 2)
    gms.faults.broken.add(urn)
    found = list(graphql(gms).confirm_gone([urn, other]))
    assert [type(each) for each in found] == [Failed, RawAspect]


# --- faults -------------------------------------------------------------------------------------------------------


def test_an_error_in_one_entity_costs_that_entity(gms, graphql):
    urns = fill(gms, 30)
    gms.faults.broken.add(urns[7])
    found, failures = read(graphql(gms))
    assert set(found) == set(urns) - {urns[7]}
    assert [failed.where for failed in failures] == [urns[7]]


@pytest.mark.parametrize("break_it", ["error", "fail", "cut"])
def test_an_entity_over_which_its_whole_batch_breaks_is_found_and_named(gms, graphql, break_it):
    urns = fill(gms, 30)
    match = f'"{urns[7]}"'[1:-1]
    strike = {
        "error": lambda: gms.faults.error("boom", match=match),
        "fail": lambda: gms.faults.fail(500, match=match),
        "cut": lambda: gms.faults.cut(match=match),
    }
    strike[break_it]()
    found, failures = read(graphql(gms))
    assert set(found) == set(urns) - {urns[7]}
    assert [failed.where for failed in failures] == [urns[7]]


@pytest.mark.parametrize("status", [429, 500, 502, 503])
def test_what_passes_is_tried_again(gms, graphql, status):
    urns = fill(gms, 5)
    gms.faults.fail(status, match="palimpsestEntities", times=2)
    found, failures = read(graphql(gms))
    assert (set(found), failures) == (set(urns), [])


def test_an_error_in_the_listing_that_passes_costs_nothing(gms, graphql):
    urns = fill(gms, 5)
    gms.faults.error("all shards failed", match="palimpsestScroll", times=2)
    assert set(read(graphql(gms))[0]) == set(urns)
    gms.faults.error("all shards failed", match="palimpsestScroll")
    with pytest.raises(CatalogError, match="all shards failed"):
        read(graphql(gms))


@pytest.mark.parametrize("within", [True, False])
def test_a_connection_that_breaks_is_made_again(gms, graphql, within):
    urns = fill(gms, 5)
    gms.faults.cut(match="palimpsestEntities", times=1, within=within)
    found, failures = read(graphql(gms))
    assert (set(found), failures) == (set(urns), [])


def test_the_server_is_waited_for_as_long_as_it_asks(gms):
    fill(gms, 1)
    gms.faults.fail(429, match="palimpsestScroll", times=1, retry_after="1")
    waits = []
    before = stamina.instrumentation.get_on_retry_hooks()
    stamina.instrumentation.set_on_retry_hooks([lambda details: waits.append(details.wait_for)])
    try:
        with GraphqlReader(gms.url, gms.token) as reader:
            read(reader)
    finally:
        stamina.instrumentation.set_on_retry_hooks(before)  # of the whole process: others must stay silent
    assert waits == [1.0]


@pytest.mark.parametrize("status", [401, 403])
@pytest.mark.parametrize("match", ["palimpsestScroll", "palimpsestEntities"])
def test_a_refused_token_ends_the_reading(gms, graphql, status, match):
    fill(gms, 3)
    gms.faults.fail(status, match=match)
    with pytest.raises(CatalogError, match=str(status)) as refused:
        read(graphql(gms))
    assert "DATAHUB_GMS_TOKEN" in refused.value.hint


def test_a_wrong_token_ends_the_reading_and_is_not_shown(gms, graphql):
    with pytest.raises(CatalogError, match="401") as refused:
        read(graphql(gms, token="not-the-token"))
    assert "not-the-token" not in f"{refused.value} {refused.value.hint}"


def test_a_server_that_goes_away_ends_the_reading(gms, graphql):
    fill(gms, 100)
    records = graphql(gms, page_size=10, concurrency=1).records()
    list(islice(records, 10))
    gms.stop()
    with pytest.raises(CatalogError, match="gives no answer"):
        list(records)


def test_nobody_at_the_address():
    with GraphqlReader("http://127.0.0.1:9", "t") as reader, pytest.raises(CatalogError, match="gives no answer"):
        read(reader)


def test_another_server_at_the_address_is_no_gms(gms):
    with (
        GraphqlReader(gms.url + "/elsewhere", gms.token) as reader,
        pytest.raises(CatalogError, match="no DataHub GMS"),
    ):
        read(reader)


def test_a_hang_is_cut_off_and_costs_what_hangs(gms, graphql):
    urns = fill(gms, 4)
    reader = graphql(gms, timeout=1.5)
    reader.count()
    gms.faults.delay(30, match=urns[1])
    found, failures = read(reader)
    assert set(found) == set(urns) - {urns[1]}
    assert [failed.where for failed in failures] == [urns[1]]


def test_a_server_that_fails_on_everything_is_given_up(gms, graphql):
    fill(gms, 200)
    gms.faults.error("boom", match="palimpsestEntities")
    with pytest.raises(CatalogError, match="one entity after the other"):
        read(graphql(gms))


def test_a_page_that_comes_short_makes_the_listing_incomplete(gms, graphql):
    fill(gms, 20)
    gms.faults.shorten()
    reader = graphql(gms)
    found, failures = read(reader)
    assert (len(found), failures, reader.is_complete) == (19, [], False)


def test_an_entity_that_the_index_still_lists_is_not_stated(gms, graphql):
    kept, gone = fill(gms, 2)
    gms.faults.search_lags = True
    gms.store.delete(gone)
    found, failures = read(graphql(gms))
    assert (set(found), failures) == ({kept}, [])


@pytest.mark.parametrize(
    ("message", "match"),
    [
        ("Validation error (FieldUndefined): includeSoftDeleted is not a field", "includeSoftDeleted"),
        ("Validation error: enum value 'APPLICATION' is not defined in EntityType", "APPLICATION"),
        ("Validation error (WrongType): input field aspectNames is not defined", "aspectNames"),
    ],
)
def test_an_older_server_is_asked_without_what_it_does_not_know(gms, graphql, message, match):
    kept, gone = fill(gms, 2)
    gms.store.remove(gone)
    gms.faults.error(message, match=match)
    reader = graphql(gms)
    found, failures = read(reader)
    assert (set(found), failures, reader.is_complete) == ({kept, gone}, [], True)
    assert found[gone]["status"] == {"removed": True}


def test_a_reading_that_is_left_early_leaves_no_thread(gms, graphql):
    fill(gms, 200)
    records = graphql(gms, page_size=5).records()
    next(records)
    records.close()
    for thread in threading.enumerate():
        if thread.name.startswith("datahub"):
            thread.join(5)
            assert not thread.is_alive()


def test_the_token_is_in_no_request_body(gms, graphql):
    fill(gms, 1)
    read(graphql(gms))
    assert gms.token not in json.dumps([request.body for request in gms.requests])


def test_counting_costs_two_requests(gms, graphql):
    fill(gms, 70, datasetProperties=text("d"))
    reader = graphql(gms)
    assert (reader.count(), reader.requests) == (70, 2)
