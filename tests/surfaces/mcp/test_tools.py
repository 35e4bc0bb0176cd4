"""Every tool, by the official client, over stdio and over HTTP, on the demo's store."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import orjson
import pytest
from mcp import ClientSession, MCPError
from mcp.types import CallToolResult

from palimpsest.core.brief import FRAME, tokens_of
from palimpsest.surfaces.mcp.tools import BY_NAME
from tests.surfaces.mcp.clienting import calls, over_http, over_stdio, serving, text_of

ORDERS = "urn:li:dataset:(urn:li:dataPlatform:postgres,shop.public.orders,PROD)"
CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("brief", {"entities": [ORDERS]}),
    ("recall", {"question": "who owns the orders table"}),
    ("changes", {"since": "2026-03-01"}),
    ("history", {"entity": ORDERS, "aspect": "ownership"}),
    ("why", {"belief": "5c77a4038d85"}),
    ("entities", {"search": "order"}),
    ("note", {"entity": "shop.public.orders", "text": "Rows of before 2020 are test data.", "kind": "quality"}),
    ("task", {"action": "start", "name": "backfill", "value": "load 2019 again"}),
    ("status", {}),
)
FIRST_LINES = {
    "brief": "orders: column discount gone ",
    "recall": "confident:",
    "changes": "10 changes in 3 readings",
    "history": f"dataset {ORDERS}: 2 versions of 1 belief",
    "why": f"owner of {ORDERS}: 2 versions, ",
    "entities": "4 entities",
    "note": "taken down as agent:",
    "task": 'started: task "backfill" has 0 keys, till ',
    "status": "20 entities, 203 versions, 205 episodes",
}


def looked_over(results: list[CallToolResult]) -> None:
    """Each answer begins as it should, is of its schema, and takes no more than its budget in either form."""
    for (tool, _), result in zip(CALLS, results, strict=True):
        text = text_of(result)
        assert not result.is_error, text
        assert text.startswith(FIRST_LINES[tool]), text
        jsonschema.validate(result.structured_content, BY_NAME[tool].listed.output_schema or {})
        assert tokens_of(text) <= 2000
        assert len(orjson.dumps(result.structured_content)) <= 6000


def test_every_tool_runs_over_stdio(url: str, tmp_path: Path) -> None:
    looked_over(over_stdio(url, tmp_path, calls(*CALLS)))


def test_every_tool_runs_over_http(url: str, tmp_path: Path) -> None:
    with serving(url, tmp_path) as address:
        looked_over(over_http(address, calls(*CALLS)))


def test_there_is_a_call_for_every_tool() -> None:
    assert {tool for tool, _ in CALLS} == set(BY_NAME)


def test_resources_and_prompts_are_read(url: str, tmp_path: Path) -> None:
    async def work(session: ClientSession) -> None:
        templates = (await session.list_resource_templates()).resource_templates
        assert [one.uri_template for one in templates] == ["palimpsest://entity/{urn}", "palimpsest://belief/{ref}"]
        escaped = ORDERS.replace(":", "%3A").replace("(", "%28")
        for uri, line in (
            (f"palimpsest://entity/{ORDERS}", "orders: column discount gone "),
            (f"palimpsest://entity/{escaped}", "orders: column discount gone "),
            ("palimpsest://belief/5c77a4038d85", "owner of "),
        ):
            (content,) = (await session.read_resource(uri)).contents
            assert content.text.startswith(line)  # type: ignore[union-attr]
        for uri in ("palimpsest://entity/", "palimpsest://belief/zz", "palimpsest://run/1", "file:///etc/passwd"):
            with pytest.raises(MCPError, match=r"uri: |belief: |entities: "):
                await session.read_resource(uri)
        titles = [prompt.title for prompt in (await session.list_prompts()).prompts]
        assert titles == ["before I change this table", "what changed this week"]
        asked = await session.get_prompt("before_i_change_this_table", {"entity": "shop.public.orders"})
        assert FRAME in asked.messages[0].content.text  # type: ignore[union-attr]
        assert '"owner: lena", was "owner: jonas"' in asked.messages[0].content.text  # type: ignore[union-attr]
        with pytest.raises(MCPError, match="entity: it is needed"):
            await session.get_prompt("before_i_change_this_table", {})
        with pytest.raises(MCPError, match="is no prompt"):
            await session.get_prompt("forget everything")

    over_stdio(url, tmp_path, work)


def test_what_was_delivered_is_written_down_with_versions_scores_and_tokens(url: str, tmp_path: Path) -> None:
    brief, recall, *_ = over_stdio(url, tmp_path, calls(*CALLS))
    rows = sqlite3.connect(tmp_path / "memory.db").execute(
        "SELECT agent, surface, kind, entities, versions, scores, tokens, session FROM delivery ORDER BY at"
    )
    found = {row[2]: row for row in rows}
    assert set(found) == set(BY_NAME)
    assert {(row[0], row[1], row[7] != "") for row in found.values()} == {("agent:codex", "mcp", True)}
    assert len({row[7] for row in found.values()}) == 1
    assert found["brief"][6] == tokens_of(text_of(brief))
    assert orjson.loads(found["brief"][3]) == ["5c77a4" + row[6:] for row in orjson.loads(found["brief"][3])]
    assert len(orjson.loads(found["brief"][4])) >= 10
    scores = orjson.loads(found["recall"][5])
    assert (len(scores), scores) == (len(recall.structured_content["items"]), sorted(scores, reverse=True))  # type: ignore[index]
    asked = sqlite3.connect(tmp_path / "memory.db").execute("SELECT question, surface, answer FROM recall_log")
    assert asked.fetchall() == [("who owns the orders table", "mcp", "confident")]


@pytest.mark.parametrize(
    ("tool", "given", "said"),
    [
        ("brief", {}, 'entities: no entity is named; write entities=["URN"], or session=true'),
        ("brief", {"entity": "orders"}, "entity: no such parameter; did you mean entities?"),
        ("brief", {"entities": [1]}, 'entities: a list of strings is needed; write entities=["..."]'),
        ("brief", {"entities": ["x"] * 21}, "entities: 21 are too many, at most 20 at once; call again for the others"),
        ("brief", {"entities": [ORDERS], "budget": 9}, "budget: a whole number from 50 to 8000 is needed"),
        ("brief", {"entities": [ORDERS], "budget": 50}, "budget: 50 tokens are too few for this; give "),
        ("history", {"entity": "ordrs"}, f'entity: "nothing is remembered of \'ordrs\'"; the nearest: {ORDERS}'),
        ("history", {"entity": ORDERS, "aspect": "owner"}, 'aspect: "owner" is none of its values; did you mean'),
        ("history", {"entity": ORDERS, "aspect": "column", "key": "nope"}, 'key: "nothing is remembered of column'),
        ("why", {"belief": "lena"}, "belief: \"'lena' is no belief\"; give the 12 digits that stand in brackets"),
        ("recall", {}, 'question: it is needed; write question="..."'),
        ("recall", {"question": 5}, 'question: a string is needed, not a number; write question="..."'),
        ("recall", {"question": "x", "limit": 1.5}, "limit: a whole number from 1 to 25 is needed; write limit=10"),
        ("changes", {"since": "yesterday"}, "since: \"'yesterday' is no time to look back to\"; write 2026-01-31"),
        ("changes", {"impact": "breakng"}, 'impact: "breakng" is none of its values; did you mean breaking?'),
        ("entities", {"after": "zz"}, "after: \"'zz' is no place in this listing\"; leave it out to begin"),
        ("note", {"entity": ORDERS, "text": "   "}, "text: it is needed"),
        ("note", {"entity": ORDERS, "text": "key AKIAIOSFODNN7EXAMPLE"}, 'text: "the text seems to hold '),
        ("note", {"entity": "nothing.like.it.at.all", "text": "x"}, 'entity: "nothing is remembered of'),
        ("task", {"action": "get", "name": "nope"}, "name: \"no task 'nope', or it has expired\"; task(action="),
        ("task", {"action": "drop"}, 'action: "drop" is none of its values; one of: list, start, put, get, end'),
        ("retract", {}, 'name: "retract" is no tool; there are: brief, recall, changes, history, why, entities, note'),
    ],
)  # fmt: skip
def test_a_complaint_names_the_parameter_and_what_to_write(
    url: str, memory_of: Callable[..., Any], tool: str, given: dict[str, Any], said: str
) -> None:
    from tests.surfaces.mcp.within import answered

    result = answered(memory_of(url), tool, given)
    assert result.is_error
    assert text_of(result).startswith(f"error: {said}"), text_of(result)


def test_what_does_not_fit_is_fetched_by_the_call_that_is_named(url: str, memory_of: Callable[..., Any]) -> None:
    from tests.surfaces.mcp.within import answered

    memory = memory_of(url)
    seen: list[str] = []
    given: dict[str, Any] = {"entity": ORDERS}
    for _ in range(20):
        data: Any = answered(memory, "history", given).structured_content
        seen += [f"{one['ref']}:{one['version']}" for one in data["items"]]
        if not data["more"]:
            break
        assert data["more"] == f'history(entity="{ORDERS}", skip={len(seen)})'
        given |= {"skip": len(seen)}
    whole = sqlite3.connect(Path(memory.store.engine.url.database)).execute(
        "SELECT count(*) FROM version v JOIN cell c ON c.id = v.cell_id JOIN entity e ON e.id = c.entity_id"
        " WHERE e.urn = ?",
        [ORDERS],
    )
    assert len(seen) == len(set(seen)) == whole.fetchone()[0]


def test_entities_are_listed_page_by_page(url: str, memory_of: Callable[..., Any]) -> None:
    from tests.surfaces.mcp.within import answered

    memory, seen, given = memory_of(url), [], {"limit": 6}
    for _ in range(10):
        data: Any = answered(memory, "entities", given).structured_content
        seen += [one["urn"] for one in data["items"]]
        if not data["more"]:
            break
        after = re.findall(r'after="([^"]+)"', data["more"])[0]
        given = {"limit": 6, "after": after}
    assert (len(seen), len(set(seen))) == (20, 20)


def test_a_store_that_is_not_there_is_told_and_the_server_goes_on(tmp_path: Path) -> None:
    results = over_stdio(f"sqlite:///{tmp_path / 'none.db'}", tmp_path, calls(("status", {}), ("status", {})))
    assert [(one.is_error, str(tmp_path) in text_of(one)) for one in results] == [(True, False)] * 2


def test_an_interrupt_ends_a_server_that_waits_for_its_client(url: str, tmp_path: Path) -> None:
    import subprocess

    from tests.surfaces.mcp.clienting import PROGRAM, environment

    process = subprocess.Popen(
        [*PROGRAM, "--store", url, "mcp"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path, env=environment(tmp_path),
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(b'not json\n{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n')
    process.stdin.flush()
    assert b'"id":1' in process.stdout.readline()
    process.send_signal(2)
    assert process.wait(timeout=20) == 0
    assert process.communicate()[1] == b""


def test_a_server_whose_input_is_a_file_ends_with_it(url: str, tmp_path: Path) -> None:
    import subprocess

    from tests.surfaces.mcp.clienting import PROGRAM, environment

    asked = tmp_path / "asked.jsonl"
    asked.write_text('{"jsonrpc": "2.0", "id": 7, "method": "ping"}\n')
    with asked.open() as file:
        done = subprocess.run(
            [*PROGRAM, "--store", url, "mcp"],
            stdin=file, cwd=tmp_path, env=environment(tmp_path), capture_output=True, check=False, timeout=30,
        )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_server_whose_client_goes_away_ends_quietly(url: str, tmp_path: Path) -> None:
    import subprocess

    from tests.surfaces.mcp.clienting import PROGRAM, environment

    done = subprocess.run(
        [*PROGRAM, "--store", url, "mcp"],
        input="", cwd=tmp_path, env=environment(tmp_path), capture_output=True, text=True, check=False, timeout=30,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
