"""`palimpsest consolidate`: what it prints; nothing pending writes nothing."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from palimpsest.surfaces.cli.app import main
from tests.building import Memory, dataset, mcp, owners, schema

ORDERS = dataset("shop.orders")


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Memory:
    """A store with pending episodes: an owner and two columns, then another owner and a column less."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    memory = Memory(tmp_path)
    first = [
        mcp(ORDERS, "ownership", owners("jonas")),
        mcp(ORDERS, "schemaMetadata", schema(("id", "INT"), ("a", "INT"))),
    ]
    memory.remember(first, at="2026-03-02")
    second = [mcp(ORDERS, "ownership", owners("ana")), mcp(ORDERS, "schemaMetadata", schema(("id", "INT")))]
    memory.scan(second, at="2026-03-03")
    return memory


def consolidate(memory: Memory, *options: str, before: tuple[str, ...] = ()) -> int:
    """Run the command."""
    return main(["--store", memory.url, *before, "consolidate", *options])


def runs(memory: Memory) -> int:
    """How many runs there are."""
    db = sqlite3.connect(memory.folder / "memory.db")
    (count,) = db.execute("SELECT count(*) FROM run").fetchone()
    db.close()
    return int(count)


def test_verdicts_are_counted_by_kind(memory: Memory, capsys: pytest.CaptureFixture[str]) -> None:
    assert consolidate(memory) == 0
    assert capsys.readouterr() == ("2 episodes of 1 entities consolidated: 1 retract, 1 supersede\n", "")


def test_nothing_pending_writes_nothing_not_even_a_run(memory: Memory, capsys: pytest.CaptureFixture[str]) -> None:
    consolidate(memory)
    before = runs(memory)
    capsys.readouterr()
    assert consolidate(memory) == 0
    assert capsys.readouterr() == ("nothing to consolidate\n", "")
    assert runs(memory) == before


def test_a_dry_run_shows_the_verdicts_and_writes_nothing(memory: Memory, capsys: pytest.CaptureFixture[str]) -> None:
    before = runs(memory)
    assert consolidate(memory, "--dry-run") == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert sorted(out.splitlines()) == [
        "  orders: column a gone (retract)",
        "  orders: owner was jonas, now ana (supersede)",
        "2 episodes of 1 entities would be consolidated: 1 retract, 1 supersede",
    ]
    assert runs(memory) == before
    assert consolidate(memory, "--json") == 0
    assert json.loads(capsys.readouterr().out)["data"]["episodes"] == 2


def test_quiet_says_nothing(memory: Memory, capsys: pytest.CaptureFixture[str]) -> None:
    assert consolidate(memory, before=("--quiet",)) == 0
    assert capsys.readouterr() == ("", "")
