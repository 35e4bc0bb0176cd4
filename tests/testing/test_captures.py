"""The double answers what DataHub's own programs sent, request by request as captured, in the documented shapes."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from palimpsest.testing.gms import GmsDouble
from tests.testing.asking import MONDAY

pytestmark = pytest.mark.needs_shared("replays captured requests of DataHub's programs")


def replay(gms: GmsDouble, captured: dict[str, Any]) -> tuple[int, Any]:
    """Send a captured request unchanged but for the token; the status and body of the answer."""
    body = captured["request_body"]
    request = urllib.request.Request(
        gms.url + captured["path"],
        None if body is None else json.dumps(body).encode(),
        {**captured["headers"], "Authorization": f"Bearer {gms.token}"},
        method=captured["method"],
    )
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.loads(error.read())


def shape(value: Any, depth: int = 3) -> Any:
    """The keys of an answer, down to a depth; lists by their first member."""
    if isinstance(value, dict) and depth:
        return {name: shape(part, depth - 1) for name, part in value.items()}
    if isinstance(value, list) and value and depth:
        return [shape(value[0], depth - 1)]
    return None


def captured(folder: Path) -> list[dict[str, Any]]:
    found = [json.loads(path.read_text("utf-8")) for path in sorted(folder.glob("*.json"))]
    assert found
    return found


def test_requests_of_the_real_server(shared: Path) -> None:
    with GmsDouble.serving(load=[MONDAY]) as gms:
        for request in captured(shared / "datahub" / "captures" / "gms"):
            status, body = replay(gms, request)

            assert status == 200, request["path"]
            assert "errors" not in body, body
            if "errors" in request["response"]:  # the capture's own stand-in failed there
                continue
            expected = request["response"].get("data", request["response"])
            answered = body.get("data", body)
            assert shape(expected, 2).items() <= shape(answered, 2).items()
            assert (
                gms.requests[-1].operation == request["request_body"]["operationName"]
                if (request["request_body"] or {}).get("operationName")
                else True
            )


def test_requests_of_the_real_emitter_and_sdk(shared: Path) -> None:
    with GmsDouble.serving(load=[MONDAY]) as gms:
        for request in captured(shared / "datahub" / "captures" / "emitter"):
            status, body = replay(gms, request)

            assert status == request["status"], (request["path"], body)
            if status == 412:
                assert body == {"error": "Precondition Error", "message": "Expected version 99, actual version 1"}
            elif request["path"] == "/api/graphql":
                assert "errors" not in body
            elif isinstance(body, dict):
                assert set(request["response"]) <= set(body)
            else:
                assert set(request["response"][0]) <= set(body[0])

        orders = "urn:li:dataset:(urn:li:dataPlatform:snowflake,shop.public.orders,PROD)"
        assert [link["url"] for link in gms.store.links(orders)] == [
            "https://p/1",
            "https://palimpsest.local/d/orders",
            "https://p/3",
        ]
        # The emitter's RESTLI mode escapes a URN beyond ASCII twice: it writes to another entity.
        odd = [urn for urn in gms.store.urns("dataset") if "cket/" in urn]
        assert odd == [
            r"urn:li:dataset:(urn:li:dataPlatform:s3,b\u00fccket/\u00fcn\u00ef-\u1f600,PROD)",
            "urn:li:dataset:(urn:li:dataPlatform:s3,bücket/ünï-😀,PROD)",
        ]
