"""`palimpsest calibrate`: the report, its document, the plot, and too little history."""

from __future__ import annotations

import json
import os
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import pytest

from palimpsest.surfaces.cli.app import main
from tests.building import Memory, dataset, mcp, owners, status, tags

ORDERS, CARTS = dataset("shop.public.orders"), dataset("shop.carts")
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
    """Two datasets read five times, ten days apart: an owner changes once, a tag never, one dataset goes away."""
    memory = Memory(tmp_path)
    for day, owner in (("01", "jonas"), ("11", "jonas"), ("21", "lena"), ("26", "lena"), ("31", "lena")):
        is_gone = day == "31"
        carts = [mcp(CARTS, "status", status(is_gone)), mcp(CARTS, "globalTags", tags("gold"))]
        orders = [mcp(ORDERS, "status", status()), mcp(ORDERS, "ownership", owners(owner))]
        memory.remember([*orders, *(carts[:1] if is_gone else carts)], at=f"2026-03-{day}T08:00:00Z")
    return memory


@pytest.fixture
def asked(memory: Memory, capsys: pytest.CaptureFixture[str]) -> Asked:
    """Run a command on the memory: exit code, stdout, stderr."""

    def run(*arguments: str) -> tuple[int, str, str]:
        code = main(["--store", memory.url, *arguments])
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


def test_the_statements_that_were_looked_at_again_are_counted(asked: Asked) -> None:
    code, out, err = asked("calibrate", "--json")
    assert (code, err) == (0, "")
    document = json.loads(out)
    assert document["kind"] == "calibrate"
    data = document["data"]
    source = data["sources"][0]
    # Half of the time from the 1st to the 31st is the 16th: two readings before, three after, four cells.
    assert (source["trained"], source["scored"], source["cells"], source["cut"]) == (2, 3, 4, "2026-03-16T08:00:00Z")
    models = {one["model"]: one for one in data["models"]}
    assert list(models)[:3] == ["constant", "exponential", "learned"]
    assert data["default"] == "learned"
    # Four statements at each of three readings; not the same: the owner once; carts' existence, and its tag with it.
    assert {(one["statements"], one["same"]) for one in models.values()} == {(12, 0.75)}
    # All four were the same at the only reading before the cut that told something.
    assert models["constant"]["predicted"] == pytest.approx(5 / 6)
    assert models["constant"]["brier"] == pytest.approx((9 * (1 / 6) ** 2 + 3 * (5 / 6) ** 2) / 12)
    rates = {one["aspect"]: one for one in data["rates"]}
    assert [rates[aspect]["changes"] for aspect in ("ownership", "tags", "existence")] == [1, 0, 1]


def test_the_report_names_what_is_told(asked: Asked) -> None:
    code, out, err = asked("calibrate")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "file: 4 cells; 2 readings until 2026-03-16 08:00, 3 scored after it"
    assert [line.split()[0] for line in lines if line.startswith("learned *")] == ["learned"]
    assert "* what is told; of 12 statements 0.7500 were the same at the next reading" in lines
    assert sum(" to " in line and line[0].isdigit() for line in lines) == 10


def test_the_plot_is_one_svg_that_says_in_words_what_it_shows(asked: Asked, tmp_path: Path) -> None:
    code, _, err = asked("calibrate", "--plot", "reliability.svg")
    assert (code, err) == (0, "")
    svg = ET.fromstring((tmp_path / "reliability.svg").read_text())
    space = "{http://www.w3.org/2000/svg}"
    assert svg.get("role") == "img"
    text = svg.findtext(f"{space}desc") or ""
    assert text.startswith("constant: Brier score 0.1944")
    assert [name in text for name in ("exponential: ", "learned: ")] == [True, True]
    assert [one.text for one in svg.iter(f"{space}text") if one.get("class") == "t"] == [
        "constant", "exponential", "learned",
    ]  # fmt: skip


def test_a_plot_that_cannot_be_written_is_a_usage_error(asked: Asked) -> None:
    code, out, err = asked("calibrate", "--plot", "nowhere/reliability.svg")
    assert (code, out) == (2, "")
    assert "nowhere/reliability.svg cannot be written" in err


@pytest.mark.parametrize("share", ["0", "1", "x"])
def test_a_cut_outside_of_the_history_is_a_usage_error(asked: Asked, share: str) -> None:
    assert asked("calibrate", "--at-share", share)[0] == 2


def test_too_little_history_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    memory = Memory(tmp_path, name="young.db")
    assert main(["--store", memory.url, "calibrate"]) == 2
    memory.remember([mcp(ORDERS, "ownership", owners("jonas"))], at="2026-03-01T08:00:00Z")
    memory.remember([mcp(ORDERS, "ownership", owners("lena"))], at="2026-03-02T08:00:00Z")
    capsys.readouterr()
    assert main(["--store", memory.url, "calibrate"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "too little history to calibrate" in said.err
    memory.store.dispose()


def test_what_an_unread_part_would_have_been_is_not_scored(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    memory = Memory(tmp_path, name="partial.db")
    whole = [mcp(ORDERS, "status", status()), mcp(ORDERS, "ownership", owners("jonas"))]
    for day in ("01", "05", "09", "13", "17", "21"):
        memory.remember(whole if day in {"01", "05", "21"} else whole[:1], at=f"2026-03-{day}T08:00:00Z")
    assert main(["--store", memory.url, "calibrate", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)["data"]
    # After the 11th: the dataset is seen three times, its owner once, 16 days after the last time.
    assert data["models"][0]["statements"] == 4
    days = {one["aspect"]: one["days"] for one in data["rates"]}
    assert days["existence"] == pytest.approx(20, abs=0.5)
    memory.store.dispose()
