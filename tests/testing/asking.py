"""Asking the double over HTTP as any client would, with the standard library only."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any
from urllib.parse import quote

from palimpsest.testing.gms import GmsDouble

ROOT = Path(__file__).resolve().parents[2]
MONDAY = ROOT / "demo" / "catalog" / "2026-03-02-monday.json"
TUESDAY = ROOT / "demo" / "catalog" / "2026-03-03-tuesday.json"
FRIDAY = ROOT / "demo" / "catalog" / "2026-03-06-friday.json"
ORDERS = "urn:li:dataset:(urn:li:dataPlatform:postgres,shop.public.orders,PROD)"


def call(
    gms: GmsDouble,
    method: str,
    path: str,
    body: Any = None,
    *,
    token: str | None = None,
    timeout: float = 20.0,
    **headers: str,
) -> tuple[int, Any]:
    """The status and the JSON body of an answer."""
    given = {"Content-Type": "application/json", **{name.replace("_", "-"): value for name, value in headers.items()}}
    known = gms.token if token is None else token
    if known:
        given["Authorization"] = f"Bearer {known}"
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(gms.url + path, data, given, method=method)
    try:
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            raw = answer.read()
            return answer.status, json.loads(raw) if raw else None
    except urllib.error.HTTPError as error:
        with error:
            raw = error.read()
        return error.code, json.loads(raw) if raw else None


def graphql(gms: GmsDouble, query: str, *, token: str | None = None, **variables: Any) -> dict[str, Any]:
    """The JSON body that answers a query."""
    status, body = call(gms, "POST", "/api/graphql", {"query": query, "variables": variables}, token=token)
    assert status == 200, body
    assert isinstance(body, dict)
    return body


def data(gms: GmsDouble, query: str, **variables: Any) -> dict[str, Any]:
    """The data that answers a query, which must go without an error."""
    body = graphql(gms, query, **variables)
    assert "errors" not in body, body["errors"]
    found = body["data"]
    assert isinstance(found, dict)
    return found


def aspect_path(urn: str, aspect: str, version: int = 0) -> str:
    """The path of `GET /aspects`."""
    return f"/aspects/{quote(urn, safe='')}?aspect={aspect}&version={version}"


def element(url: str, label: str = "a label") -> dict[str, Any]:
    """One link, as `institutionalMemory` holds it."""
    return {"url": url, "description": label, "createStamp": {"time": 1, "actor": "urn:li:corpuser:a"}}


def dataset(name: str, platform: str = "postgres", environment: str = "PROD") -> str:
    """The URN of a dataset."""
    return f"urn:li:dataset:(urn:li:dataPlatform:{platform},{name},{environment})"
