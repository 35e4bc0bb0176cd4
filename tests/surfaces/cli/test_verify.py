"""`palimpsest verify`: one line a rule, the broken ones by name, exit 1 where one is."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from palimpsest.surfaces.cli.app import main
from tests.robustness import breaking


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a store that breaks no rule."""
    folder = tmp_path_factory.mktemp("sound")
    breaking.rich_memory(folder)
    return folder / "memory.db"


def verify(file: Path, *options: str, before: tuple[str, ...] = ()) -> int:
    """Run the command."""
    return main(["--store", f"sqlite:///{file}", *before, "verify", *options])


def test_a_sound_store_is_one_line_a_rule(sound: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert verify(sound) == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert err == ""
    assert lines[0].split() == ["RULE", "CHECKED", "BROKEN"]
    assert [line.split()[0] for line in lines[1:]] == [f"R{number}" for number in range(1, 15)]
    assert {line.split()[2] for line in lines[1:]} == {"0", "-"}
    assert (
        "R10         -       -  agents and people write episodes, never beliefs (not countable: import contract)"
        in lines
    )


@pytest.mark.parametrize("case", breaking.BREAKS)
def test_a_broken_rule_is_named_and_exits_1(
    sound: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], case: str
) -> None:
    broken = shutil.copyfile(sound, tmp_path / "broken.db")
    breaking.do(case, broken)
    assert verify(broken, before=("-q",)) == 1
    out, err = capsys.readouterr()
    named = {line.split()[0] for line in out.splitlines() if " broken: " in line}
    counted = {line.split()[0] for line in out.splitlines()[1:15] if line.split()[2] not in {"0", "-"}}
    assert (err, named, counted) == ("", {breaking.BREAKS[case].rule}, {breaking.BREAKS[case].rule})


def test_quiet_says_nothing_where_nothing_is_broken(sound: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert verify(sound, before=("-q",)) == 0
    assert capsys.readouterr() == ("", "")


def test_json_tells_every_rule(sound: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert verify(sound, "--json") == 0
    rules = json.loads(capsys.readouterr().out)["data"]["rules"]
    assert [rule["rule"] for rule in rules] == [f"R{number}" for number in range(1, 15)]
    assert [rule["checked"] for rule in rules if rule["rule"] == "R10"] == [None]
