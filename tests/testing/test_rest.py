"""The double's REST endpoints: reading aspects and versions, proposals, conditional writes, patches, tokens."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import quote

import pytest

from palimpsest.core.moment import Moment
from palimpsest.testing.gms import READER_TOKEN, GmsDouble
from tests.testing.asking import FRIDAY, MONDAY, ORDERS, aspect_path, call, dataset, element

LINKS = "institutionalMemory"


@pytest.fixture
def gms() -> Iterator[GmsDouble]:
    with GmsDouble.serving(load=[MONDAY]) as double:
        yield double


def write(
    gms: GmsDouble, value: Any, *, method: str = "POST", match: str | None = None, urn: str = ORDERS
) -> tuple[int, Any]:
    part: dict[str, Any] = {"value": value}
    if match is not None:
        part["headers"] = {"If-Version-Match": match}
    return call(gms, method, "/openapi/v3/entity/dataset?async=false", [{"urn": urn, LINKS: part}])


def links(*urls: str) -> dict[str, Any]:
    return {"elements": [element(url) for url in urls]}


def version(gms: GmsDouble, aspect: str = LINKS, number: str = "0") -> Any:
    body = [{"urn": ORDERS, aspect: {"headers": {"If-Version-Match": number}}}]
    status, found = call(gms, "POST", "/openapi/v3/entity/dataset/batchGet?systemMetadata=true", body)
    assert status == 200
    return found[0].get(aspect)


def test_config_says_an_open_source_server_and_asks_no_token(gms: GmsDouble) -> None:
    status, body = call(gms, "GET", "/config", token="")
    assert status == 200
    assert body["noCode"] == "true"
    assert body["versions"]["acryldata/datahub"]["version"] == "v1.4.0"
    assert body["datahub"]["serverEnv"] == "core"
    assert "baseUrl" not in body


def test_an_aspect_comes_under_the_name_of_its_class(gms: GmsDouble) -> None:
    status, body = call(gms, "GET", aspect_path(ORDERS, "datasetKey"))
    assert status == 200
    assert body["aspect"] == {
        "com.linkedin.metadata.key.DatasetKey": {
            "platform": "urn:li:dataPlatform:postgres",
            "name": "shop.public.orders",
            "origin": "PROD",
        }
    }
    assert call(gms, "GET", aspect_path(ORDERS, "deprecation"))[0] == 404
    assert call(gms, "GET", aspect_path(dataset("gone"), "datasetKey"))[0] == 404


def test_old_versions_by_number(gms: GmsDouble) -> None:
    gms.load(FRIDAY, at=Moment(1_000))
    current, first = version(gms, "ownership"), version(gms, "ownership", "1")

    assert current["systemMetadata"]["version"] == "2"
    assert current["auditStamp"] == {"time": 1_000, "actor": "urn:li:corpuser:datahub"}
    assert first["systemMetadata"]["version"] == "1"
    assert first["value"] != current["value"]
    assert version(gms, "ownership", "2") is None
    status, body = call(gms, "GET", aspect_path(ORDERS, "ownership", 1))
    assert (status, body["version"]) == (200, 1)
    assert body["aspect"]["com.linkedin.common.Ownership"] == first["value"]


def test_an_entity_with_all_or_some_aspects(gms: GmsDouble) -> None:
    path = f"/entitiesV2/{quote(ORDERS, safe='')}"
    _, everything = call(gms, "GET", path)
    _, some = call(gms, "GET", path + "?aspects=List(ownership,status)")
    _, missing = call(gms, "GET", f"/entitiesV2/{quote(dataset('gone'), safe='')}")

    assert sorted(everything["aspects"]) == gms.store.aspects(ORDERS)
    assert sorted(some["aspects"]) == ["ownership", "status"]
    assert some["aspects"]["ownership"]["value"] == gms.store.value(ORDERS, "ownership")
    assert list(missing["aspects"]) == ["datasetKey"], "an entity that is not there has its key all the same"
    assert call(gms, "HEAD", f"/openapi/v3/entity/dataset/{quote(ORDERS, safe='')}")[0] == 204
    assert call(gms, "HEAD", f"/openapi/v3/entity/dataset/{quote(dataset('gone'), safe='')}")[0] == 404


def test_a_conditional_write_needs_the_version_that_is_there(gms: GmsDouble) -> None:
    new = dataset("new")
    gms.store.put(new, "status", {"removed": False})
    assert write(gms, links("a"), match="1", urn=new)[0] == 412
    assert write(gms, links("a"), match="-1", urn=new)[0] == 200
    assert write(gms, links("a", "b"), match="1", urn=new)[0] == 200
    status, body = write(gms, links("lost"), match="1", urn=new)

    assert (status, body) == (
        412,
        {"error": "Precondition Error", "message": "Expected version 1, actual version 2"},
    )
    assert [link["url"] for link in gms.store.links(new)] == ["a", "b"]
    assert [found.made for found in gms.writes] == [True, True]


def test_a_refused_condition_refuses_the_whole_request(gms: GmsDouble) -> None:
    body = [
        {"urn": ORDERS, LINKS: {"value": links("a")}},
        {"urn": dataset("b"), LINKS: {"value": links("b"), "headers": {"If-Version-Match": "7"}}},
    ]
    before = gms.store.links(ORDERS)
    assert call(gms, "POST", "/openapi/v3/entity/dataset?async=false", body)[0] == 412
    assert gms.store.links(ORDERS) == before
    assert not gms.store.exists(dataset("b"))


def test_of_many_conditional_writers_none_is_lost(gms: GmsDouble) -> None:
    def add(number: int) -> int:
        for attempt in range(1, 200):
            held = version(gms)
            number_there = held["systemMetadata"]["version"] if held else "-1"
            elements = held["value"]["elements"] if held else []
            if write(gms, {"elements": [*elements, element(f"https://w/{number}")]}, match=number_there)[0] == 200:
                return attempt
        return 0

    before = len(gms.store.links(ORDERS))
    with ThreadPoolExecutor(12) as pool:
        attempts = list(pool.map(add, range(12)))

    assert all(attempts)
    assert len(gms.store.links(ORDERS)) == before + 12


def test_a_patch_needs_its_keys(gms: GmsDouble) -> None:
    write(gms, links("https://a"))
    operation = {"op": "add", "path": "/elements/https:~1~1b", "value": element("https://b")}
    keyed = {"arrayPrimaryKeys": {"elements": ["url"]}, "patch": [operation]}

    assert write(gms, [operation], method="PATCH")[0] == 500
    assert write(gms, keyed, method="PATCH")[0] == 200
    assert write(gms, keyed, method="PATCH")[0] == 200
    assert [link["url"] for link in gms.store.links(ORDERS)] == ["https://a", "https://b"]
    assert [(found.change, found.made) for found in gms.writes] == [("UPSERT", True), ("PATCH", True), ("PATCH", False)]


def proposal(change: str, value: Any, aspect: str = LINKS, **more: Any) -> dict[str, Any]:
    aspect_value = {"value": json.dumps(value), "contentType": "application/json"}
    return {
        "entityType": "dataset", "entityUrn": ORDERS, "changeType": change, "aspectName": aspect,
        "aspect": aspect_value, **more,
    }  # fmt: skip


def test_proposals(gms: GmsDouble) -> None:
    def propose(*given: Any, **more: Any) -> int:
        return call(gms, "POST", "/aspects?action=ingestProposal", {"proposal": proposal(*given, **more)})[0]

    assert propose("UPSERT", links("https://a")) == 200
    assert propose("UPSERT", links("https://b"), headers={"If-Version-Match": "9"}) == 422
    assert propose("CREATE", links("https://b")) == 422
    assert propose("CREATE", {"deprecated": True}, "deprecation") == 200
    assert [link["url"] for link in gms.store.links(ORDERS)] == ["https://a"]
    assert propose("DELETE", {}, "deprecation") == 200
    assert gms.store.get(ORDERS, "deprecation") is None
    batch = {"proposals": [proposal("UPSERT", links("https://c")), proposal("UPSERT", {"removed": False}, "status")]}
    assert call(gms, "POST", "/aspects?action=ingestProposalBatch", batch) == (200, {"value": "success"})
    assert {(found.aspect, found.change) for found in gms.writes} >= {(LINKS, "UPSERT"), ("deprecation", "DELETE")}


def test_a_write_keeps_its_system_metadata(gms: GmsDouble) -> None:
    system = {"lastObserved": 42, "runId": "palimpsest-1"}
    body = [{"urn": ORDERS, LINKS: {"value": links("https://a"), "systemMetadata": system}}]
    call(gms, "POST", "/openapi/v3/entity/dataset?async=false", body)
    found = version(gms)["systemMetadata"]
    assert (found["lastObserved"], found["runId"], found["lastRunId"]) == (42, "palimpsest-1", "palimpsest-1")


def test_a_single_aspect_by_its_own_route(gms: GmsDouble) -> None:
    path = f"/openapi/v3/entity/dataset/{quote(ORDERS, safe='')}/{LINKS}"
    there = str(gms.store.version_of(ORDERS, LINKS))
    status, _ = call(gms, "POST", path, {"value": links("https://a")}, If_Version_Match="99")
    assert status == 412
    assert call(gms, "POST", path, {"value": links("https://a")}, If_Version_Match=there)[0] == 200
    assert call(gms, "GET", path)[1]["value"] == links("https://a")


def test_hard_deletion(gms: GmsDouble) -> None:
    assert call(gms, "POST", "/entities?action=delete", {"urn": ORDERS})[0] == 200
    assert not gms.store.exists(ORDERS)
    assert call(gms, "GET", aspect_path(ORDERS, "datasetKey"))[0] == 404


def test_tokens(gms: GmsDouble) -> None:
    gms.tokens["mine"] = "urn:li:corpuser:mira"
    assert call(gms, "GET", aspect_path(ORDERS, "status"), token="")[0] == 401
    assert call(gms, "GET", aspect_path(ORDERS, "status"), token="wrong")[0] == 401
    assert call(gms, "POST", "/api/graphql", {"query": "{ me { corpUser { urn } } }"}, token="")[0] == 401
    assert call(gms, "GET", aspect_path(ORDERS, "status"), token=READER_TOKEN)[0] == 200
    body = [{"urn": ORDERS, LINKS: {"value": links("https://a")}}]
    assert call(gms, "POST", "/openapi/v3/entity/dataset", body, token=READER_TOKEN)[0] == 403
    assert call(gms, "POST", "/openapi/v3/entity/dataset", body, token="mine")[0] == 200
    assert gms.writes[-1].actor == "urn:li:corpuser:mira"
    assert version(gms)["auditStamp"]["actor"] == "urn:li:corpuser:mira"


def test_a_double_without_tokens_asks_for_none() -> None:
    with GmsDouble.serving(load=[MONDAY], tokens={}) as gms:
        assert gms.token == ""
        assert call(gms, "GET", aspect_path(ORDERS, "status"), token="")[0] == 200


def test_an_endpoint_that_is_not_there(gms: GmsDouble) -> None:
    assert call(gms, "GET", "/nowhere")[0] == 404
    assert call(gms, "POST", "/openapi/v3/entity/dataset/a/b/c", {})[0] == 404
