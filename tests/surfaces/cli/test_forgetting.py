"""`forget`, `erase` and `task`: lines, one JSON document, exit codes; a dry run writes nothing."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from palimpsest.jobs.reinforce import Recalled, reinforce
from palimpsest.surfaces.cli.app import main
from tests.building import Memory, dataset, mcp, owners, status, text

ORDERS = dataset("shop.orders")
Asked = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty home folder as the current one, and no variable of ours."""
    for variable in [name for name in os.environ if name.startswith(("PALIMPSEST_", "XDG_"))]:
        monkeypatch.delenv(variable)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("LOGNAME", "mira")
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    """Orders, reworded twice in 2022 and rewritten since; owned by alice."""
    memory = Memory(tmp_path)
    said = ["All orders, one row for each", "All orders; one row for each", "All orders, one row for each!", "Refunds"]
    for day, words in enumerate(said, start=1):
        stated = [
            mcp(ORDERS, "status", status()),
            mcp(ORDERS, "ownership", owners("alice")),
            mcp(ORDERS, "datasetProperties", text(words)),
        ]
        memory.remember(stated, at=f"2022-03-0{day}T08:00:00Z")
    memory.index()
    return memory


@pytest.fixture
def asked(memory: Memory, capsys: pytest.CaptureFixture[str]) -> Asked:
    """Runs a command on the memory: exit code, stdout, stderr; pseudonyms made alike."""

    def ask(*arguments: str) -> tuple[int, str, str]:
        code = main(["--store", memory.url, *arguments])
        out, err = capsys.readouterr()
        return code, re.sub(r"erased-[0-9a-f]{16}", "erased-X", out), err

    return ask


def data(out: str) -> dict[str, object]:
    """The data of a JSON document."""
    found = json.loads(out)["data"]
    assert isinstance(found, dict)
    return found


def test_forget_counts_in_a_dry_run_then_drops_then_has_nothing_to_do(asked: Asked) -> None:
    would = "weak episodes to drop: 1\n  description: 1\n"
    assert asked("forget", "--dry-run") == (0, would, "")
    assert asked("forget", "--dry-run") == (0, would, "")
    assert asked("forget") == (0, "weak episodes dropped: 1\n  description: 1\n", "")
    assert asked("forget") == (0, "nothing to forget\n", "")
    assert asked("forget", "--below", "7")[0] == 2


def test_forget_superseded_before_empties_old_versions_and_history_says_so(asked: Asked) -> None:
    code, out, _ = asked("forget", "--superseded-before", "2023-01-01", "--json")
    assert code == 0
    assert {name: data(out)[name] for name in ("emptied", "dropped", "rewritten", "by_aspect")} == {
        "emptied": 3,
        "dropped": 0,
        "rewritten": True,
        "by_aspect": {"description": 3},
    }
    history = asked("history", "orders", "description")[1]
    assert "was description: its text was forgotten on 20" in history
    assert "All orders" not in history
    assert asked("verify")[0] == 0
    assert asked("forget", "--superseded-before", "someday")[0] == 2


def test_the_file_is_left_as_it_is_when_that_is_wanted(asked: Asked) -> None:
    _, out, _ = asked("forget", "--superseded-before", "2023-01-01", "--keep-file", "--json")
    assert (data(out)["emptied"], data(out)["rewritten"]) == (3, None)


def test_erase_counts_by_place_then_replaces_and_names_the_dumps(asked: Asked, tmp_path: Path) -> None:
    assert asked("erase", "urn:li:corpuser:alice", "--dry-run") == (
        0,
        "erased-… would stand for the person from now on; places where the name stood: 2\n  passages: 1\n  values: 1\n",
        "",
    )
    assert asked("-q", "dump", str(tmp_path / "old.jsonl"))[0] == 0
    code, out, _ = asked("erase", "urn:li:corpuser:alice")
    lines = out.splitlines()
    assert (code, lines[:4]) == (
        0,
        [
            "erased-X stands for the person from now on; places where the name stood: 2",
            "  passages: 1",
            "  values: 1",
            "these dumps were made before, and may hold the name still:",
        ],
    )
    assert lines[4].startswith(f"  {tmp_path / 'old.jsonl'}, 20")
    shown = asked("show", "orders")[1]
    assert "erased-X" in shown
    assert "alice" not in shown
    assert asked("verify")[0] == 0
    assert asked("erase", "alice")[0] == 2


def test_a_task_is_started_put_into_read_listed_and_ended(asked: Asked) -> None:
    code, out, _ = asked("task", "start", "triage", "--about", "late orders", "--by", "agent:scout")
    assert (code, out.startswith("triage is kept until 20")) == (0, True)
    assert asked("task", "put", "triage", "suspect", "the loader")[0] == 0
    assert asked("task", "get", "triage", "suspect") == (0, "the loader\n", "")
    assert asked("task", "get", "triage")[1].splitlines()[1:] == ["suspect: the loader"]
    _, out, _ = asked("task", "get", "triage", "--json")
    (item,) = data(out)["items"]  # type: ignore[misc]
    assert (item["key"], item["value"], item["observer"]) == ("suspect", "the loader", "person:mira")
    assert asked("task", "list")[1].splitlines()[1].startswith("triage     1  20")
    assert asked("task", "end", "triage") == (0, "triage has ended; keys that went with it: 1\n", "")
    assert asked("task", "list") == (0, "no task\n", "")
    code, _, err = asked("task", "get", "triage")
    assert (code, err.splitlines()[0]) == (2, "error: no task 'triage', or it has expired")


def test_a_secret_is_refused_and_not_repeated(asked: Asked) -> None:
    asked("task", "start", "triage")
    code, _, err = asked("task", "put", "triage", "key", "AKIA" + "IOSFODNN7EXAMPLE")
    assert code == 2
    assert "holds an AWS access key" in err
    assert "IOSFODNN7" not in err


def test_a_value_comes_by_standard_input_too(memory: Memory) -> None:
    program = [sys.executable, "-m", "palimpsest.surfaces.cli.app", "--store", memory.url, "task"]
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[3])}
    subprocess.run([*program, "start", "triage"], env=env, check=True, capture_output=True)
    put = [*program, "put", "triage", "notes", "-"]
    subprocess.run(put, env=env, check=True, capture_output=True, input=b"two\nlines")
    got = subprocess.run([*program, "get", "triage", "notes"], env=env, check=True, capture_output=True)
    assert got.stdout == b"two\nlines\n"


def test_what_was_recalled_is_kept_by_forget(asked: Asked, memory: Memory) -> None:
    from palimpsest.adapters.clock import SystemClock
    from palimpsest.core.ids import BeliefId

    belief = BeliefId(memory.store.ids.belief(memory.store.ids.entity(ORDERS), "file", "description", "source"))
    told = Recalled(question="orders?", surface="test", answer="confident", versions=[(belief, 1)], scores=[1.0])
    reinforce(memory.store, told, clock=SystemClock(), holder="test:1:")
    assert asked("forget") == (
        0,
        "nothing to forget\nnothing rests on these either, and they are not weak yet: 1\n",
        "",
    )
