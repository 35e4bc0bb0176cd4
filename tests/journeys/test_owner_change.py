"""One change of owner from end to end by the command line: exactly one thing is written, and its history is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from palimpsest.surfaces.cli.app import main
from tests.building import dataset, mcp, owners, schema

ORDERS = dataset("shop.public.orders")


def records(owner: str, day: int) -> list[dict[str, Any]]:
    """The catalog on a day of March 2026: everything stamped anew, one owner."""
    seen = {"lastObserved": 1772438400000 + day * 86_400_000, "runId": f"run-{day}"}
    stated = [
        mcp(ORDERS, "status", {"removed": False}),
        mcp(ORDERS, "schemaMetadata", schema(("id", "bigint"), ("total", "numeric(12,2)"))),
        mcp(ORDERS, "ownership", owners(owner, at=f"2026-03-0{day + 1}T14:20:00Z" if day else "", by="mira")),
    ]
    return [{**record, "systemMetadata": seen} for record in stated]


@pytest.fixture
def told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    """Runs one command on a store of its own and gives back its JSON."""

    def run(*arguments: str) -> Any:
        assert main(["--store", f"sqlite:///{tmp_path / 'memory.db'}", *arguments, "--json"]) == 0
        return json.loads(capsys.readouterr().out)["data"]

    return run


def test_an_owner_change_writes_one_episode_and_its_history_shows_both_owners(tmp_path: Path, told: Any) -> None:
    file = tmp_path / "catalog.json"
    file.write_text(json.dumps(records("ann", 0)))
    first = told("run", f"file:{file}")
    assert first["run"]["scan"]["changes"] == {}
    assert told("changes", "--since", "2020-01-01")["changes"] == []

    file.write_text(json.dumps(records("bob", 3)))
    second = told("run", f"file:{file}")["run"]["scan"]
    assert (second["written"], second["contradicting"]) == (1, 1)

    (belief,) = told("history", "orders", "ownership")["beliefs"]
    newest, oldest = belief["versions"]
    assert (newest["statement"], newest["state"]) == ("owner: bob", "current")
    assert (oldest["statement"], oldest["state"]) == ("owner: ann", "superseded")
    assert oldest["successor"] == newest["number"]
    assert oldest["ended_reason"] == newest["reason"] == "the catalog says otherwise now"
    assert newest["evidence"]["actor"] == "urn:li:corpuser:mira"
    assert newest["since"] == "2026-03-04T14:20:00Z"

    (change,) = told("changes", "--since", "last")["changes"]
    assert change["line"] == "orders: owner was ann, now bob, since 2026-03-04 14:20, by mira"
