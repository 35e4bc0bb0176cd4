"""`palimpsest consolidate`: what it prints; nothing pending writes nothing."""

from __future__ import annotations

import json
import re
import sqlite3
from pathlib import Path

import pytest

from palimpsest.adapters.models.recording import Recording
from palimpsest.surfaces.cli.app import main
from palimpsest.testing.model import ScriptedModel
from tests.building import Memory, dataset, mcp, owners, schema, text
from tests.jobs.judging.matters import judging

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


REWRITTEN = ("One row per order.", "One row per order line.")


def recorded(folder: Path, name: str) -> None:
    """Write down what a model answers to the one text that is rewritten."""
    memory = Memory(folder, name=f"{name}.db")
    memory.remember([mcp(ORDERS, "datasetProperties", text(REWRITTEN[0]))], at="2026-03-02")
    memory.scan([mcp(ORDERS, "datasetProperties", text(REWRITTEN[1]))], at="2026-03-03")
    model = Recording(ScriptedModel(name="ollama:llama3.1:8b"), folder / name)
    memory.consolidate(judging=judging(model))
    memory.store.dispose()


@pytest.fixture
def judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Memory:
    """A store with one rewritten text that waits, and settings that name a recorded model."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    recorded(tmp_path, "answers.jsonl")
    monkeypatch.setenv("PALIMPSEST_MODEL__PROVIDER", "ollama")
    monkeypatch.setenv("PALIMPSEST_MODEL__REPLAY", "answers.jsonl")
    memory = Memory(tmp_path)
    memory.remember([mcp(ORDERS, "datasetProperties", text(REWRITTEN[0]))], at="2026-03-02")
    memory.scan([mcp(ORDERS, "datasetProperties", text(REWRITTEN[1]))], at="2026-03-03")
    return memory


def judge_of(memory: Memory) -> str:
    """Who judged the newest version of the description."""
    db = sqlite3.connect(memory.folder / "memory.db")
    (judge,) = db.execute("SELECT judge FROM version ORDER BY recorded_at DESC, number DESC").fetchone()
    db.close()
    return str(judge)


def test_the_model_of_the_settings_judges_text(judged: Memory, capsys: pytest.CaptureFixture[str]) -> None:
    assert consolidate(judged) == 0
    out, err = capsys.readouterr()
    first, second = out.splitlines()
    assert (first, err) == ("1 episodes of 1 entities consolidated: 1 supersede", "")
    assert re.fullmatch(
        r"ollama:llama3\.1:8b answered on 1 of 1 texts: 1 request, \d+ tokens read and \d+ written, \$0\.0100", second
    )
    assert re.fullmatch(r"ollama:llama3\.1:8b restated@1:[0-9a-f]{8}", judge_of(judged))


def test_judge_rules_asks_no_model(judged: Memory, capsys: pytest.CaptureFixture[str]) -> None:
    (judged.folder / "answers.jsonl").unlink()
    assert consolidate(judged, "--judge", "rules") == 0
    assert capsys.readouterr().out == "1 episodes of 1 entities consolidated: 1 supersede\n"
    assert judge_of(judged) == "rules"


def test_a_dry_run_tells_what_a_model_would_be_asked(judged: Memory, capsys: pytest.CaptureFixture[str]) -> None:
    before = runs(judged)
    assert consolidate(judged, "--dry-run") == 0
    (told,) = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"ollama:llama3\.1:8b would be asked about 1 texts, in 1 request of [\d,]+ tokens", told)
    assert runs(judged) == before


def test_a_model_that_cannot_be_used_exits_5_and_the_rest_is_done(
    judged: Memory, capsys: pytest.CaptureFixture[str]
) -> None:
    (judged.folder / "answers.jsonl").write_text("")
    judged.scan([mcp(ORDERS, "ownership", owners("ana"))], at="2026-03-04")
    assert consolidate(judged) == 5
    out, err = capsys.readouterr()
    assert out.splitlines()[0] == "1 episodes of 1 entities consolidated: 1 open"
    assert out.splitlines()[-2:] == ["left to the next time: 1 not asked", "1 episodes are still pending"]
    assert err.startswith("warning: answers.jsonl holds no answer of ollama:llama3.1:8b to restated@1:")
    assert consolidate(judged, before=("--quiet",)) == 5
    assert capsys.readouterr().err.startswith("warning: ")


def test_a_judge_that_is_none_or_not_set_is_a_wrong_request(memory: Memory, capsys: pytest.CaptureFixture[str]) -> None:
    assert consolidate(memory, "--judge", "jury") == 2
    assert capsys.readouterr().err.startswith("error: --judge 'jury' is no judge\n")
    assert consolidate(memory, "--judge", "model") == 2
    assert capsys.readouterr().err.startswith("error: --judge model: no model is set\n")


def test_prompts_of_ones_own_are_named_by_their_hash(
    judged: Memory, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PALIMPSEST_MODEL__PROMPTS", "mine")
    assert consolidate(judged) == 2
    assert capsys.readouterr().err.startswith("error: mine: no folder of prompts\n")
    (judged.folder / "mine").mkdir()
    (judged.folder / "mine" / "restated.md").write_text("Compare.")
    assert consolidate(judged) == 2
    assert capsys.readouterr().err.startswith("error: mine/restated.md: the prompt has no head\n")
    (judged.folder / "mine" / "restated.md").write_text("---\nname: restated\nversion: 7\n---\nCompare.\n")
    assert consolidate(judged) == 5  # the recording is of the other prompt
    assert "restated@7:" in capsys.readouterr().err
