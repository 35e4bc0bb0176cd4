"""verify counts every rule on the live database, and names the one that is broken and no other."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import pytest

from palimpsest.core.moment import parse
from palimpsest.jobs.verify import VerifyReport, verify
from palimpsest.store.engine import open_store
from palimpsest.testing import FixedClock, NoProgress
from tests.robustness import breaking

COUNTED = [f"R{number}" for number in range(1, 15) if number != 10]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a store in which every rule has something to hold for."""
    folder = tmp_path_factory.mktemp("sound")
    breaking.rich_memory(folder)
    return folder / "memory.db"


def verified(file: Path) -> VerifyReport:
    """What verify counts there."""
    store = open_store(f"sqlite:///{file}", writing=False)
    report = verify(store, clock=FixedClock(parse("2026-03-09")), progress=NoProgress())
    store.dispose()
    return report


def test_a_sound_store_breaks_nothing_and_every_rule_has_something_to_check(sound: Path) -> None:
    report = verified(sound)
    assert [(rule.rule, rule.broken, rule.examples) for rule in report.rules if rule.broken] == []
    assert [rule.rule for rule in report.rules if rule.checked] == COUNTED
    assert report.checked > 50


def test_the_rule_that_no_row_can_break_says_what_holds_it(sound: Path) -> None:
    (rule,) = (rule for rule in verified(sound).rules if rule.rule == "R10")
    assert (rule.checked, rule.broken, rule.note) == (None, 0, "import contract")


def test_an_empty_store_breaks_nothing(tmp_path: Path) -> None:
    from tests.building import Memory

    Memory(tmp_path).store.dispose()
    assert verified(tmp_path / "memory.db").broken == 0


def test_every_rule_that_is_counted_is_broken_here() -> None:
    assert {case.rule for case in breaking.BREAKS.values()} == set(COUNTED)


@pytest.mark.parametrize("case", breaking.BREAKS)
def test_a_broken_rule_is_named_and_no_other(sound: Path, tmp_path: Path, case: str) -> None:
    broken = shutil.copyfile(sound, tmp_path / "broken.db")
    breaking.do(case, broken)
    found = {rule.rule: rule for rule in verified(broken).rules if rule.broken}
    expected = breaking.BREAKS[case]
    assert {name: rule.broken for name, rule in found.items()} == {expected.rule: expected.rows}
    assert len(found[expected.rule].examples) == min(5, expected.rows)
    assert all(found[expected.rule].examples)


def test_no_more_than_five_examples_are_named(sound: Path, tmp_path: Path) -> None:
    broken = shutil.copyfile(sound, tmp_path / "broken.db")
    db = sqlite3.connect(broken)
    db.execute("UPDATE cell SET last = last + 1")
    db.commit()
    db.close()
    (rule,) = (rule for rule in verified(broken).rules if rule.broken)
    assert (rule.rule, rule.broken > 5, len(rule.examples)) == ("R13", True, 5)
