"""`palimpsest recall`: what people read, one JSON document, recorded where the store may be written."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from palimpsest.surfaces.cli.app import main
from tests.building import Memory, dataset, mcp, owners
from tests.robustness.command import palimpsest

ORDERS = dataset("shop.public.orders")
Asked = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty home folder as the current one, and no variable of ours."""
    for variable in [name for name in os.environ if name.startswith(("PALIMPSEST_", "XDG_"))]:
        monkeypatch.delenv(variable)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    memory = Memory(tmp_path)
    memory.remember([mcp(ORDERS, "ownership", owners("jonas"))], at="2026-03-02T08:00:00Z")
    memory.remember([mcp(ORDERS, "ownership", owners("lena"))], at="2026-03-03T08:00:00Z")
    memory.index()
    memory.store.dispose()
    return memory


@pytest.fixture
def asked(memory: Memory, capsys: pytest.CaptureFixture[str]) -> Asked:
    """Run a command on the memory: exit code, stdout, stderr."""

    def run(*arguments: str) -> tuple[int, str, str]:
        code = main(["--store", memory.url, *arguments])
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


def logged(memory: Memory) -> list[tuple[str, str]]:
    db = sqlite3.connect(memory.folder / "memory.db")
    rows = db.execute("SELECT question, answer FROM recall_log ORDER BY at").fetchall()
    db.close()
    return rows


def test_an_answer_is_one_line_under_its_entity(asked: Asked, memory: Memory) -> None:
    code, out, err = asked("recall", "who owns orders", "--aspect", "ownership")
    ref = out.split()[2]
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "confident:",
        ORDERS,
        f"  {ref}  owner: lena  between 2026-03-02 08:00 and 2026-03-03 08:00  [has orders]",
    ]
    assert logged(memory) == [("who owns orders", "confident")]


def test_what_is_superseded_is_marked(asked: Asked) -> None:
    _, out, _ = asked("recall", "who owned orders", "--include-superseded", "--aspect", "ownership")
    assert [line.partition("  [")[0].split("  ", 2)[2] for line in out.splitlines()[2:]] == [
        "owner: lena  between 2026-03-02 08:00 and 2026-03-03 08:00",
        "owner: jonas  at least since 2026-03-02 08:00  (superseded until 2026-03-03 08:00)",
    ]


def test_nothing_is_said_to_be_held(asked: Asked, memory: Memory) -> None:
    assert asked("recall", "flux capacitor")[:2] == (0, "nothing is held that answers this\n")
    assert logged(memory) == [("flux capacitor", "nothing")]


def test_json_is_one_document(asked: Asked) -> None:
    _, out, _ = asked("recall", "who owns orders", "--json")
    document = json.loads(out)
    answer = document["data"]["recall"]["answers"][0]
    assert (document["kind"], document["data"]["unrecorded"]) == ("recall", "")
    assert (answer["belief"]["statement"], answer["sure"], answer["evidence"]["kind"]) == (
        "owner: lena",
        True,
        "changed",
    )


def test_a_store_that_may_only_be_read_answers_and_says_that_nothing_was_recorded(memory: Memory) -> None:
    folder = memory.folder / "readonly"
    folder.mkdir()
    file = folder / "memory.db"
    file.write_bytes((memory.folder / "memory.db").read_bytes())
    file.chmod(0o444)
    folder.chmod(0o555)
    try:
        done = palimpsest("recall", "who owns orders", store=file, folder=memory.folder, lowered=True)
    finally:
        folder.chmod(0o755)
    assert done.code == 0
    assert "owner: lena" in done.out
    assert done.err.splitlines() == [
        f"not recorded: the store is read-only: {done.err.partition('read-only: ')[2].strip()}"
    ]


def test_consolidating_makes_what_is_new_found(asked: Asked, memory: Memory, tmp_path: Path) -> None:
    memory.scan([mcp(dataset("shop.carts"), "ownership", owners("ana"))], at="2026-03-04")
    memory.store.dispose()
    _, out, _ = asked("recall", "who owns carts")
    assert out.splitlines()[1] == "not consolidated yet, so nobody has judged it:"
    assert asked("consolidate")[0] == 0
    assert asked("recall", "who owns carts")[1].startswith(f"confident:\n{dataset('shop.carts')}\n")
