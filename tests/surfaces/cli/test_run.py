"""`palimpsest run`: scan, consolidate, verify and publish as configured, under one lease, with one report."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from palimpsest.surfaces.cli.app import main
from tests.building import Record, dataset, mcp, owners, status, text
from tests.robustness import breaking
from tests.robustness.catalogs import write

ORDERS = dataset("shop.orders")
MONDAY = [mcp(ORDERS, "status", status()), mcp(ORDERS, "ownership", owners("jonas"))]
FRIDAY = [mcp(ORDERS, "status", status()), mcp(ORDERS, "ownership", owners("ana"))]
SETTINGS = """
[run]
source = "file:catalog.json"
source_name = "warehouse"
publish = {publish}
fail_on = "change"

[publish]
to = "links.json"
"""

Run = Callable[..., tuple[int, list[str], list[str]]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs on records with options; the exit code, the lines on stdout, those on stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))

    def go(records: list[Record], *options: str, before: tuple[str, ...] = ()) -> tuple[int, list[str], list[str]]:
        write(tmp_path, "catalog.json", records)
        code = main(["--store", f"sqlite:///{tmp_path}/memory.db", *before, "run", *options])
        out, err = capsys.readouterr()
        return code, [line for line in out.splitlines() if not re.fullmatch(r"in \d+\.\d s", line)], err.splitlines()

    return go


def test_one_report_of_every_step(run: Run) -> None:
    code, out, err = run(MONDAY, "file:catalog.json", "--at", "2026-03-02T08:00:00Z")
    assert (code, err) == (0, [])
    assert out == [
        "file: 1 entities, 2 observations, not a complete listing, as of 2026-03-02 08:00",
        "2 written, 0 skipped (0 %): a first reading is no change",
        "2 episodes of 1 entities consolidated: 2 open",
        out[-1],
    ]
    assert re.fullmatch(r"verify: \d+ checks, 0 broken", out[-1])


def test_one_lease_and_one_row_of_a_run(run: Run, tmp_path: Path) -> None:
    run(MONDAY, "file:catalog.json", "--at", "2026-03-02")
    db = sqlite3.connect(tmp_path / "memory.db")
    rows = db.execute("SELECT job, source, state, written, founded FROM run").fetchall()
    db.close()
    assert rows == [("run", "file", "done", 2, 2)]


def test_settings_say_what_runs(run: Run, tmp_path: Path) -> None:
    (tmp_path / "palimpsest.toml").write_text(SETTINGS.format(publish="false"))
    assert run(MONDAY, "--at", "2026-03-02")[1][0].startswith("warehouse: 1 entities")
    code, out, err = run(FRIDAY, "--at", "2026-03-06", "--json")
    data = json.loads(out[0])["data"]
    assert (code, err) == (6, [])
    assert data["run"]["scan"]["changes"] == {"notable": 1}
    assert data["run"]["consolidate"]["verdicts"] == {"supersede": 1}
    assert all(rule["broken"] == 0 for rule in data["run"]["verify"]["rules"])
    assert data["publish"] is None


def test_steps_can_be_left_out(run: Run, tmp_path: Path) -> None:
    (tmp_path / "palimpsest.toml").write_text("[run]\nconsolidate = false\nverify = false\n")
    code, out, _ = run(MONDAY, "file:catalog.json", "--at", "2026-03-02", "--json")
    data = json.loads(out[0])["data"]
    assert (code, data["run"]["consolidate"], data["run"]["verify"]) == (0, None, None)


def test_a_rule_that_is_broken_is_named_and_exits_1(run: Run, tmp_path: Path) -> None:
    breaking.rich_memory(tmp_path)
    breaking.do("a cell's last episode is another", tmp_path / "memory.db")
    code, out, err = run(MONDAY, "file:catalog.json", "--source", "new", "--at", "2026-03-04", before=("-q",))
    assert (code, err) == (1, [])
    assert any(line.startswith("R13 broken: cell ") for line in out)


def test_publishing_that_fails_comes_after_the_report_of_what_was_done(run: Run, tmp_path: Path) -> None:
    (tmp_path / "palimpsest.toml").write_text(SETTINGS.format(publish="true"))
    code, out, err = run(MONDAY, "--at", "2026-03-02")
    assert (code, err[0]) == (2, "error: console.public_url is not set: a link needs an address that people reach")
    assert out[1].startswith("2 written")


def test_a_bad_catalog_ends_the_run_as_failed(run: Run, tmp_path: Path) -> None:
    code, out, err = run([{"a": 1}], "file:catalog.json")
    assert (code, out, len(err)) == (3, [], 2)
    db = sqlite3.connect(tmp_path / "memory.db")
    (state, counts) = db.execute("SELECT state, counts FROM run").fetchone()
    db.close()
    assert (state, "is not DataHub metadata" in counts) == ("failed", True)


def test_a_model_that_cannot_be_used_exits_5_when_all_else_is_done(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    described = [[*MONDAY, mcp(ORDERS, "datasetProperties", text(words))] for words in ("One order.", "Two orders.")]
    run(described[0], "file:catalog.json", "--at", "2026-03-02")
    (tmp_path / "answers.jsonl").write_text("")
    monkeypatch.setenv("PALIMPSEST_MODEL__PROVIDER", "anthropic")
    monkeypatch.setenv("PALIMPSEST_MODEL__REPLAY", "answers.jsonl")
    code, out, err = run(described[1], "file:catalog.json", "--at", "2026-03-03")
    assert (code, out[-2]) == (5, "1 episodes are still pending")
    assert re.fullmatch(r"verify: \d+ checks, 0 broken", out[-1])
    assert err[0].startswith("warning: answers.jsonl holds no answer of anthropic:")
    assert run(described[1], "file:catalog.json", "--at", "2026-03-04", "--judge", "rules")[0] == 0
