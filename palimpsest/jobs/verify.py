"""verify: count every rule of the design on the live database. Reads only, and writes no run."""

from __future__ import annotations

from dataclasses import dataclass

from palimpsest.ports import Clock, Progress
from palimpsest.store import rules
from palimpsest.store.engine import Store
from palimpsest.store.rules import RuleCount


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyReport:
    """Every rule with what was checked and what is broken."""

    rules: tuple[RuleCount, ...]
    milliseconds: int

    @property
    def broken(self) -> int:
        """How many rows break a rule."""
        return sum(rule.broken for rule in self.rules)

    @property
    def checked(self) -> int:
        """How many checks were made."""
        return sum(rule.checked or 0 for rule in self.rules)


def verify(store: Store, *, clock: Clock, progress: Progress) -> VerifyReport:
    """Count every rule."""
    started = clock.now()
    progress.start("verifying", 14)
    counted = rules.count_rules(store, progress.advance)
    progress.done()
    return VerifyReport(rules=tuple(counted), milliseconds=clock.now() - started)
