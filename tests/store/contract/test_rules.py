"""On servers too, verify finds nothing wrong where nothing is, and names each rule that is broken, and no other."""

from __future__ import annotations

from pathlib import Path

import pytest

from palimpsest.core.moment import parse
from palimpsest.jobs.verify import VerifyReport, verify
from palimpsest.testing import FixedClock, NoProgress
from tests import servers
from tests.building import Memory
from tests.robustness import breaking

COUNTED = {case.rule for case in breaking.BREAKS.values()}


def verified(memory: Memory) -> VerifyReport:
    """What verify counts."""
    return verify(memory.store, clock=FixedClock(parse("2026-03-09")), progress=NoProgress())


@pytest.mark.usefixtures("server")
def test_a_sound_store_breaks_nothing_and_every_rule_has_something_to_check(tmp_path: Path) -> None:
    report = verified(breaking.rich_memory(tmp_path))
    assert [(rule.rule, rule.broken, rule.examples) for rule in report.rules if rule.broken] == []
    assert {rule.rule for rule in report.rules if rule.checked} >= COUNTED


# In every run one case of each rule; the others in long runs, since each makes a database of its own.
FIRST_OF_RULE = {case.rule: name for name, case in reversed(breaking.BREAKS.items())}
CASES = [
    name if name in FIRST_OF_RULE.values() else pytest.param(name, marks=pytest.mark.long) for name in breaking.BREAKS
]


@pytest.mark.parametrize("case", CASES)
def test_a_broken_rule_is_named_and_no_other(server: str, tmp_path: Path, case: str) -> None:
    memory = breaking.rich_memory(tmp_path)
    breaking.do_on(case, servers.kind(server), memory.store.url.database or "")
    found = {rule.rule: rule for rule in verified(memory).rules if rule.broken}
    expected = breaking.BREAKS[case]
    assert {name: rule.broken for name, rule in found.items()} == {expected.rule: expected.rows}
    assert all(found[expected.rule].examples)
