"""DataHub's own MCP server, run over stdio from the second environment, works on the double."""

from __future__ import annotations

import json
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import ClientSession, StdioServerParameters, stdio_client
from mcp.types import TextContent

from palimpsest.testing.gms import GmsDouble
from tests.testing.asking import FRIDAY, MONDAY, ORDERS, dataset
from tests.testing.second import datahub_environment, server_environment

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("real-server")]

Ask = Callable[..., Awaitable[Any]]


def with_server(gms: GmsDouble, home: Path, work: Callable[[Ask, list[str]], Awaitable[None]]) -> None:
    """Run some work with the tools of the official server; `Ask` calls one and gives its JSON, or the error's text."""
    command = datahub_environment() / "bin" / "mcp-server-datahub"

    async def main() -> None:
        given = StdioServerParameters(command=str(command), env=server_environment(home, gms.url, gms.token))
        with (home / "stderr.log").open("w") as errors, anyio.fail_after(120):
            async with stdio_client(given, errlog=errors) as (read, write), ClientSession(read, write) as session:
                await session.initialize()

                async def ask(tool: str, **arguments: Any) -> Any:
                    result = await session.call_tool(tool, arguments)
                    (content, *_) = result.content
                    assert isinstance(content, TextContent)
                    return content.text if result.is_error else json.loads(content.text)

                await work(ask, [tool.name for tool in (await session.list_tools()).tools])

    anyio.run(main)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    datahub_environment()
    return tmp_path


def test_the_official_servers_tools_work_on_the_double(home: Path) -> None:
    with GmsDouble.serving(load=[MONDAY, FRIDAY]) as gms:
        alive = [urn for urn in gms.store.urns("dataset") if not gms.store.is_removed(urn)]

        async def work(ask: Ask, tools: list[str]) -> None:
            assert {
                "search", "get_entities", "list_schema_fields", "get_lineage", "get_lineage_paths_between",
                "get_dataset_queries", "get_aspect_history",
            } == set(tools)  # fmt: skip

            found = await ask("search", filter="entity_type = dataset", num_results=50, sort_by="urn", sort_order="asc")
            assert [hit["entity"]["urn"] for hit in found["searchResults"]] == alive
            assert found["total"] == len(alive)
            removed = await ask("search", filter="status = ONLY_SOFT_DELETED AND entity_type = dataset", num_results=50)
            assert {hit["entity"]["urn"] for hit in removed["searchResults"]} == {
                urn for urn in gms.store.urns("dataset") if gms.store.is_removed(urn)
            }
            counted = await ask("search", filter="platform = postgres AND env = PROD", num_results=0)
            assert counted["total"] == sum("postgres" in urn for urn in alive)
            assert "Error calling tool" in await ask("search", offset=9_990, num_results=20)
            for rule in (
                "container = urn:li:container:shop-public",
                "NOT env = DEV AND platform IN (postgres, kafka)",
                "owner = urn:li:corpuser:jonas OR tag = urn:li:tag:pii",
                "subtype = Table",
            ):
                some = await ask("search", filter=f"entity_type = dataset AND ({rule})", num_results=50)
                assert 0 < some["total"] < len(alive), rule

            entities = await ask("get_entities", urns=[ORDERS, dataset("gone")])
            assert entities[0]["urn"] == ORDERS
            owners = gms.store.value(ORDERS, "ownership")["owners"]
            assert isinstance(owners, list)
            assert [owner["owner"]["urn"] for owner in entities[0]["ownership"]["owners"]] == [
                owner["owner"] for owner in owners if isinstance(owner, dict)
            ]
            assert "not found" in entities[1]["error"]

            columns = await ask("list_schema_fields", urn=ORDERS)
            held = gms.store.value(ORDERS, "schemaMetadata")["fields"]
            assert isinstance(held, list)
            assert {column["fieldPath"] for column in columns["fields"]} == {
                column["fieldPath"] for column in held if isinstance(column, dict)
            }
            assert columns["totalFields"] == len(held)

            down = await ask("get_lineage", urn=ORDERS, upstream=False, max_hops=3, max_results=100)
            assert {hit["entity"]["urn"] for hit in down["downstreams"]["searchResults"]} == {
                reached.urn
                for reached in gms.lineage.reach(ORDERS, "DOWNSTREAM")
                if gms.store.exists(reached.urn) and not gms.store.is_removed(reached.urn)
            }
            assert (await ask("get_lineage", urn=dataset("gone")))["upstreams"]["total"] == 0
            assert (await ask("get_dataset_queries", urn=ORDERS))["total"] == 0

            history = await ask("get_aspect_history", urns=[ORDERS], aspect_names=["ownership", "status"])
            by_aspect = {result["aspectName"]: result for result in history["results"]}
            versions = gms.store.versions(ORDERS, "ownership")
            assert by_aspect["ownership"]["current"]["value"] == versions[-1].value
            assert [entry["value"] for entry in by_aspect["ownership"]["history"]] == [
                version.value for version in reversed(versions[:-1])
            ]
            assert len(versions) > 1

            gms.faults.broken.add(ORDERS)
            entities = await ask("get_entities", urns=[alive[0], ORDERS])
            assert "error" in entities[1]
            assert "error" not in entities[0]
            assert "Error calling tool" in await ask("search", filter="entity_type = dataset", num_results=50)

        with_server(gms, home, work)
        assert gms.writes == []
        assert {request.status for request in gms.requests} == {200, 404}


def test_odd_names_and_wide_tables_come_through_the_official_server(home: Path) -> None:
    odd = [dataset(name) for name in ("a b/c", "plus+percent%2Cescaped%28x%29", "ü/日本/😀", "v.2:x")]
    column = {"nativeDataType": "text", "type": {"type": {"com.linkedin.schema.StringType": {}}}, "nullable": True}
    wide: list[Any] = [{"fieldPath": f"[version=2.0].[type=string].c{number:04}", **column} for number in range(400)]
    with GmsDouble.serving() as gms:
        for urn in odd:
            gms.store.put(urn, "datasetProperties", {"name": "n", "description": "ü 😀"})
        gms.store.put(odd[0], "schemaMetadata", {
            "schemaName": "t", "platform": "urn:li:dataPlatform:postgres", "version": 0, "hash": "",
            "platformSchema": {"com.linkedin.schema.OtherSchema": {"rawSchema": ""}}, "fields": wide,
        })  # fmt: skip

        async def work(ask: Ask, _: list[str]) -> None:
            entities = await ask("get_entities", urns=odd)
            assert [(entity["urn"], entity["properties"]["description"]) for entity in entities] == [
                (urn, "ü 😀") for urn in odd
            ]
            columns = await ask("list_schema_fields", urn=odd[0], limit=1000)
            assert columns["totalFields"] == 400
            assert columns["returned"] > 0
            legacy = await ask("get_entities", urns=[dataset("a,b"), odd[0]])
            assert "error" in legacy[0], "the server itself refuses a raw comma"

        with_server(gms, home, work)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def post(url: str, token: str, method: str, **params: Any) -> tuple[int, Any]:
    """One message to a stateless MCP server over HTTP: the status, and the result."""
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    request = urllib.request.Request(url, body, {**headers, "Authorization": f"Bearer {token}"})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            text = answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, None
    (event, *_) = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: ")] or [text]
    return 200, json.loads(event).get("result")


def test_the_official_http_server_checks_its_callers_tokens_with_the_double(home: Path) -> None:
    command = datahub_environment() / "bin" / "mcp-server-datahub-http"
    port = free_port()
    with GmsDouble.serving(load=[MONDAY]) as gms, (home / "stderr.log").open("w") as errors:
        given = server_environment(home, gms.url, "") | {"FASTMCP_PORT": str(port), "FASTMCP_HOST": "127.0.0.1"}
        del given["DATAHUB_GMS_TOKEN"]
        with subprocess.Popen([command], env=given, stdout=errors, stderr=errors) as process:
            try:
                wait_for(f"http://127.0.0.1:{port}/health")
                url = f"http://127.0.0.1:{port}/mcp"
                assert post(url, "wrong", "tools/list")[0] == 401
                status, result = post(url, gms.token, "tools/call", name="search", arguments={"num_results": 1})
                assert status == 200
                assert json.loads(result["content"][0]["text"])["total"] > 1
                assert gms.asked("getMe"), "the server asks DataHub whose token it is"
            finally:
                process.terminate()


def wait_for(url: str) -> None:
    """Until a server answers."""
    for _ in range(300):
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except OSError:
            time.sleep(0.1)
    raise AssertionError(f"nobody answers at {url}")
