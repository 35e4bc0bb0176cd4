"""`palimpsest note` and `palimpsest inbox`: what people read, who says it, and what is refused."""

from __future__ import annotations

import getpass
import io
from collections.abc import Callable
from pathlib import Path

import pytest

from palimpsest.surfaces.cli.app import main
from tests.building import Memory, dataset, mcp, owners

ORDERS = dataset("shop.public.orders")
Asked = Callable[..., tuple[int, str, str]]


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    memory = Memory(tmp_path)
    memory.remember([mcp(ORDERS, "ownership", owners("jonas"))], at="2026-03-02T08:00:00Z")
    return memory


@pytest.fixture
def asked(memory: Memory, capsys: pytest.CaptureFixture[str]) -> Asked:
    """Runs a command on the store: exit code, standard output, standard error."""

    def run(*arguments: str) -> tuple[int, str, str]:
        code = main(["--store", memory.url, *arguments])
        told = capsys.readouterr()
        return code, told.out, told.err

    return run


def test_a_note_is_told_with_its_id_its_observer_and_what_comes_next(asked: Asked) -> None:
    code, out, _ = asked("note", "orders", "Late on Mondays", "--kind", "quality", "--agent", "bot")
    first, last = out.splitlines()
    assert code == 0
    assert first.startswith("note ")
    assert first.endswith(f" by agent bot taken down as quality: {ORDERS}")
    assert last == "palimpsest consolidate takes it up"
    assert "taken down before, and still waiting" in asked("note", "orders", "Late on Mondays", "--agent", "bot")[1]


def test_who_runs_it_says_it_unless_another_is_named(asked: Asked) -> None:
    assert f" by {getpass.getuser()} taken down" in asked("note", "orders", "late")[1]
    assert " by document adr/7.md taken down" in asked("note", "orders", "late", "--document", "adr/7.md")[1]
    code, _, err = asked("note", "orders", "late", "--by", "mira", "--agent", "bot")
    assert (code, "two observers are named" in err) == (2, True)


def test_a_dash_reads_the_text_from_standard_input(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("Refunds are\nmissing before 2019.\n"))
    assert asked("note", "orders", "-", "--agent", "bot")[0] == 0
    assert "Refunds are missing before 2019." in asked("recall", "refunds missing")[1]


def test_the_inbox_lists_each_item_beside_what_is_current(memory: Memory, asked: Asked) -> None:
    assert asked("inbox")[1] == "nothing waits for a decision\n"
    memory.note(ORDERS, "Refreshed daily", by="person:mira", kind="quality", at="2026-03-03T08:00:00Z")
    memory.note(ORDERS, "Not refreshed daily", by="agent:bot", kind="quality", at="2026-03-04T08:00:00Z")
    memory.consolidate()
    (item,) = memory.inbox()
    _, out, _ = asked("inbox")
    assert out.splitlines() == [
        ORDERS,
        f"  {item.item}  quality: Not refreshed daily  since 2026-03-04 08:00, by agent bot  "
        "[contested: it contradicts one whose word goes first]",
        "    current: quality: Refreshed daily  since 2026-03-03 08:00, by mira",
    ]
    _, out, _ = asked("inbox", "edit", item.item, "Refreshed on working days", "--by", "jonas")
    assert out.splitlines() == [f"{item.item} edited by jonas: {ORDERS}", "palimpsest consolidate takes it up"]
    assert asked("inbox")[1].splitlines()[-1] == "    decided by jonas, not consolidated yet"
    code, _, err = asked("inbox", "accept", item.item, "--by", "mira")
    assert (code, "was decided by jonas" in err) == (2, True)


def test_to_edit_to_what_is_current_is_to_reject(memory: Memory, asked: Asked) -> None:
    memory.note(ORDERS, "Refreshed daily", by="person:mira", kind="quality", at="2026-03-03T08:00:00Z")
    memory.note(ORDERS, "Not refreshed daily", by="agent:bot", kind="quality", at="2026-03-04T08:00:00Z")
    memory.consolidate()
    (item,) = memory.inbox()
    assert asked("inbox", "edit", item.item, "Refreshed  daily", "--by", "jonas")[0] == 0
    assert memory.consolidate().verdicts == {"retract": 1}
    assert memory.inbox() == ()


def test_what_a_scan_reads_is_not_called_what_people_say(memory: Memory, asked: Asked, tmp_path: Path) -> None:
    (tmp_path / "catalog.json").write_text("[]")
    code, _, err = asked("scan", f"file:{tmp_path / 'catalog.json'}", "--source", "notes")
    assert (code, "what people and agents say" in err) == (2, True)
