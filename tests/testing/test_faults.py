"""Each fault of the double happens when, where and as often as it was asked for."""

from __future__ import annotations

import http.client
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from palimpsest.testing.gms import AspectStore, GmsDouble
from tests.testing.asking import MONDAY, ORDERS, aspect_path, call, data, dataset, element, graphql

STATUS = aspect_path(ORDERS, "status")
PAGE = """query page($c: Int!, $s: String) {
  scrollAcrossEntities(input: {query: "*", types: [DATASET], count: $c, scrollId: $s}) {
    nextScrollId total count searchResults { entity { urn ... on Dataset { properties { name } } } } } }"""


@pytest.fixture
def gms() -> Iterator[GmsDouble]:
    with GmsDouble.serving(load=[MONDAY]) as double:
        yield double


@pytest.mark.parametrize("status", [401, 403, 429, 500, 503])
def test_a_status_so_many_times(gms: GmsDouble, status: int) -> None:
    gms.faults.fail(status, after=1, times=2)
    assert [call(gms, "GET", STATUS)[0] for _ in range(4)] == [200, status, status, 200]
    assert [request.status for request in gms.requests] == [200, status, status, 200]


def test_retry_after_is_a_header(gms: GmsDouble) -> None:
    gms.faults.fail(429, retry_after="7")
    request = urllib.request.Request(gms.url + STATUS, headers={"Authorization": f"Bearer {gms.token}"})
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(request, timeout=10)
    with caught.value as error:
        assert error.headers["Retry-After"] == "7"


def test_only_the_requests_that_match(gms: GmsDouble) -> None:
    gms.faults.fail(500, match="page")
    assert call(gms, "GET", STATUS)[0] == 200
    assert call(gms, "POST", "/api/graphql", {"query": PAGE, "variables": {"c": 1}})[0] == 500
    gms.faults.clear()
    gms.faults.fail(500, match=ORDERS)
    assert call(gms, "POST", "/openapi/v3/entity/dataset/batchGet", [{"urn": ORDERS}])[0] == 500
    assert call(gms, "POST", "/openapi/v3/entity/dataset/batchGet", [{"urn": dataset("other")}])[0] == 200


def test_answers_come_late(gms: GmsDouble) -> None:
    gms.faults.delay(0.2, times=1)
    started = time.monotonic()
    assert call(gms, "GET", STATUS)[0] == 200
    assert time.monotonic() - started >= 0.2
    assert gms.requests[-1].status == 200


def test_a_hanging_answer_ends_with_the_double() -> None:
    with GmsDouble.serving(load=[MONDAY]) as gms:
        gms.faults.delay(60)
        with pytest.raises((TimeoutError, urllib.error.URLError)):
            call(gms, "GET", STATUS, timeout=0.2)
        started = time.monotonic()
    assert time.monotonic() - started < 5


@pytest.mark.parametrize("within", [False, True])
def test_the_connection_breaks(gms: GmsDouble, within: bool) -> None:
    gms.faults.cut(times=1, within=within)
    with pytest.raises((http.client.HTTPException, urllib.error.URLError, ConnectionError)):
        call(gms, "POST", "/openapi/v3/entity/dataset/batchGet", [{"urn": ORDERS}])
    assert call(gms, "GET", STATUS)[0] == 200


def test_an_error_of_graphql(gms: GmsDouble) -> None:
    gms.faults.error("it broke", match="page", times=1)
    assert graphql(gms, PAGE, c=1)["errors"][0]["message"] == "it broke"
    assert data(gms, PAGE, c=1)["scrollAcrossEntities"]["count"] == 1


def test_an_error_in_one_entity_of_a_page_leaves_the_others(gms: GmsDouble) -> None:
    gms.faults.broken.add(ORDERS)
    body = graphql(gms, PAGE, c=100)

    hits = {
        hit["entity"]["urn"]: hit["entity"]["properties"]
        for hit in body["data"]["scrollAcrossEntities"]["searchResults"]
    }
    assert hits.pop(ORDERS) is None
    assert all(hits.values())
    (error,) = body["errors"]
    assert error["path"][-1] == "properties"
    assert error["extensions"]["code"] == 500


def test_a_page_comes_short_and_does_not_say_so(gms: GmsDouble) -> None:
    gms.faults.shorten(2, after=1)
    pages: list[dict[str, Any]] = []
    scroll_id = None
    while not pages or scroll_id is not None:
        page = data(gms, PAGE, c=3, s=scroll_id)["scrollAcrossEntities"]
        pages.append(page)
        scroll_id = page["nextScrollId"]

    assert [page["count"] for page in pages] == [3, 1, 2]
    assert {page["total"] for page in pages} == {8}


def test_if_version_match_is_ignored(gms: GmsDouble) -> None:
    gms.faults.ignores_version_match = True
    part = {"value": {"elements": [element("https://ours")]}, "headers": {"If-Version-Match": "99"}}
    assert call(gms, "POST", "/openapi/v3/entity/dataset", [{"urn": ORDERS, "institutionalMemory": part}])[0] == 200


def other_writer(store: AspectStore, urn: str, aspect: str) -> None:
    store.put(urn, aspect, {"elements": [element("https://theirs")]}, actor="urn:li:corpuser:mira")


def test_another_writer_comes_first(gms: GmsDouble) -> None:
    gms.faults.before_write(other_writer, match="institutionalMemory")
    there = str(gms.store.version_of(ORDERS, "institutionalMemory"))
    part = {"value": {"elements": [element("https://ours")]}, "headers": {"If-Version-Match": there}}
    body = [{"urn": ORDERS, "institutionalMemory": part}]

    assert call(gms, "POST", "/openapi/v3/entity/dataset", body)[0] == 412
    assert [link["url"] for link in gms.store.links(ORDERS)] == ["https://theirs"]
    assert gms.writes == []


def test_another_writer_comes_right_after(gms: GmsDouble) -> None:
    gms.faults.after_write(other_writer)
    body = [{"urn": ORDERS, "institutionalMemory": {"value": {"elements": [element("https://ours")]}}}]
    assert call(gms, "POST", "/openapi/v3/entity/dataset", body)[0] == 200
    assert [link["url"] for link in gms.store.links(ORDERS)] == ["https://theirs"]
    assert len(gms.writes) == 1
