"""An agent's two sessions: what it noted became a belief, the catalog changed meanwhile, and it is told both."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from palimpsest.surfaces.cli.app import main
from tests.building import dataset, mcp, owners, schema, status
from tests.surfaces.mcp.clienting import calls, over_stdio, text_of

ORDERS = dataset("shop.public.orders")
NOTE = "Rows of before 2020 are test data: leave them out of revenue."


def catalog(folder: Path, owner: str, *columns: tuple[str, str], day: int) -> Path:
    """The catalog as a file of that day of November 2026."""
    seen = {"lastObserved": 1_793_520_000_000 + day * 86_400_000, "runId": f"run-{day}"}
    stated = [
        mcp(ORDERS, "status", status()),
        mcp(ORDERS, "schemaMetadata", schema(*columns)),
        mcp(ORDERS, "ownership", owners(owner, by="mira", at=f"2026-11-0{day + 1}T06:20:00Z")),
    ]
    path = folder / "catalog.json"
    path.write_text(json.dumps([{**record, "systemMetadata": seen} for record in stated]))
    return path


@pytest.fixture
def cli(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    """Runs a command on the agent's store; gives back what it printed."""

    def run(*arguments: str) -> str:
        assert main(["--store", f"sqlite:///{tmp_path / 'memory.db'}", *arguments]) == 0
        return capsys.readouterr().out

    return run


def test_session_two_is_told_what_was_superseded_and_why(tmp_path: Path, cli: Any) -> None:
    url = f"sqlite:///{tmp_path / 'memory.db'}"
    cli("run", f"file:{catalog(tmp_path, 'jonas', ('id', 'bigint'), ('discount', 'numeric'), day=0)}")

    first, before, noted = over_stdio(
        url,
        tmp_path,
        calls(
            ("brief", {"session": True}),
            ("brief", {"entities": ["shop.public.orders"]}),
            ("note", {"entity": ORDERS, "text": NOTE, "kind": "quality"}),
        ),
    )
    assert text_of(first) == "no earlier session of codex is remembered: nothing to compare with"
    assert '"owner: jonas"' in text_of(before)
    assert text_of(noted).startswith("taken down as agent:codex at ")

    cli("consolidate")
    cli("run", f"file:{catalog(tmp_path, 'lena', ('id', 'bigint'), day=3)}")

    (second,) = over_stdio(url, tmp_path, calls(("brief", {"session": True})))
    told = text_of(second)
    assert '- "orders": now "owner: lena", was "owner: jonas"; since 2026-11-04 06:20 by mira;' in told
    assert "the catalog says otherwise now" in told
    assert 'gone: "column discount numeric, nullable"' in told
    assert NOTE in told
    assert "by agent codex" in told
    refs = {ref for one in second.structured_content["items"] for ref in one["refs"]}  # type: ignore[index]
    assert len(refs) == 3

    (again, other) = (
        over_stdio(url, tmp_path, calls(("brief", {"session": True})), name=name) for name in ("codex", "cursor")
    )
    assert text_of(again[0]).startswith("nothing changed in 1 entity that you work with")
    assert text_of(other[0]).startswith("no earlier session of cursor is remembered")
    assert "0 broken" in cli("verify") or "broken:" not in cli("verify")


def test_the_command_line_tells_the_same(tmp_path: Path, cli: Any) -> None:
    cli("run", f"file:{catalog(tmp_path, 'jonas', ('id', 'bigint'), day=0)}")
    assert cli("brief", "--session", "--agent", "codex").startswith("no earlier session of codex")
    cli("brief", "shop.public.orders", "--agent", "codex")
    cli("run", f"file:{catalog(tmp_path, 'lena', ('id', 'bigint'), day=3)}")
    told = json.loads(cli("brief", "--session", "--agent", "codex", "--json"))
    assert told["kind"] == "session"
    assert [one["urn"] for one in told["data"]["news"]] == [ORDERS]
    assert main(["--store", f"sqlite:///{tmp_path / 'memory.db'}", "brief", "--session"]) == 2
    assert main(["--store", f"sqlite:///{tmp_path / 'memory.db'}", "brief"]) == 2
