"""Whatever is read, said, recalled, forgotten and erased, in any order: what is current has living evidence, `why`
answers for each belief, every rule holds, and a name that was erased stands nowhere.
"""

from __future__ import annotations

import shutil
import tempfile
from functools import cache
from pathlib import Path

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from palimpsest.core.ids import BeliefId
from palimpsest.core.moment import Moment, text
from palimpsest.jobs.erase import erase
from palimpsest.jobs.forget import ForgetRequest, forget
from palimpsest.jobs.note import note
from palimpsest.jobs.reinforce import Recalled, reinforce
from palimpsest.jobs.verify import verify
from palimpsest.queries.held import When
from palimpsest.queries.history import history, why
from palimpsest.testing import NoProgress
from tests.building import Memory, Record, dataset, mcp, owners, status
from tests.building import text as described

URNS = (dataset("orders"), dataset("items"))
NAMES = ("alice", "mira", "d.smith")
WORDS = (
    "All rows of the shop, one for each order",
    "All rows of the shop; one for each order.",
    "All rows of the shop: one for each order!",
    "Refunds only. Ask Alice",
    "Refunds only: ask alice!",
    "Kept by urn:li:corpuser:mira, or d.smith@shop.org",
    "",
)
SAID = (
    "The loader runs late on Mondays, Alice says.",
    "The loader runs late on mondays, alice says",
    "The loader runs early on Mondays, mira says.",
    "Do not count refunds twice.",
)
OBSERVERS = ("person:alice", "person:Mira", "agent:scout", "document:runbook.md")
DAY = 86_400_000


@cache
def _empty() -> bytes:
    folder = Path(tempfile.mkdtemp())
    memory = Memory(folder)
    memory.store.use_write_ahead_log()
    memory.store.dispose()
    data = (folder / "memory.db").read_bytes()
    shutil.rmtree(folder)
    return data


class Histories(RuleBasedStateMachine):
    """One memory, and what may happen to it."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        (self.folder / "memory.db").write_bytes(_empty())
        self.memory = Memory(self.folder)
        self.erased: set[str] = set()

    def teardown(self) -> None:
        self.memory.store.dispose()
        shutil.rmtree(self.folder)

    def ago(self, days: int) -> Moment:
        """So many days before the clock."""
        return Moment(self.memory.clock.at - days * DAY)

    @property
    def at_work(self) -> dict[str, object]:
        """What a job is given."""
        return {"clock": self.memory._tick(), "progress": NoProgress(), "holder": "test:1:"}

    @rule(
        words=st.tuples(st.sampled_from(WORDS), st.sampled_from(WORDS)),
        owned=st.tuples(*[st.sets(st.sampled_from(NAMES))] * 2),
        gone=st.sampled_from([None, None, None, 0, 1]),
        days=st.integers(1, 40),
    )
    def scan(self, words: tuple[str, str], owned: tuple[set[str], set[str]], gone: int | None, days: int) -> None:
        """A reading some days later."""
        self.memory.clock.at = Moment(self.memory.clock.at + days * DAY)
        records: list[Record] = []
        for place, urn in enumerate(URNS):
            stated = [
                mcp(urn, "status", status(removed=gone == place)),
                mcp(urn, "datasetProperties", described(words[place])),
                mcp(urn, "ownership", owners(*sorted(owned[place]), at=text(self.ago(1)), by="alice")),
            ]
            records += stated
        at = text(self.memory.clock.at)
        self.memory.scan(records, at=at)
        assert self.memory.scan(records, at=at).written == 0

    @rule()
    def consolidate(self) -> None:
        """Choose and judge what is pending."""
        self.memory.consolidate()

    @rule()
    def index(self) -> None:
        """Bring what is searched up to date."""
        self.memory.index()

    @rule(words=st.sampled_from(SAID), by=st.sampled_from(OBSERVERS), about=st.sampled_from(URNS))
    def say(self, words: str, by: str, about: str) -> None:
        """Somebody says something of what is held."""
        if about in self._column("SELECT urn FROM entity"):
            clock = self.memory._tick()
            note(self.memory.store, urn=about, text=words, observer=by, kind="usage", clock=clock, holder="test:1:")

    @rule(place=st.integers(0, 50))
    def recall(self, place: int) -> None:
        """A belief answers a question."""
        beliefs = self._column("SELECT DISTINCT belief_id FROM version ORDER BY belief_id")
        if beliefs:
            versions = [(BeliefId(bytes(beliefs[place % len(beliefs)])), 1)]
            told = Recalled(question="who, alice?", surface="t", answer="weak", versions=versions, scores=[1.0])
            reinforce(self.memory.store, told, clock=self.memory._tick(), holder="test:1:")

    @rule(below=st.sampled_from([0.1, 0.3, 1.0]), days=st.sampled_from([0, 30, 400]))
    def forget(self, below: float, days: int) -> None:
        """Drop what is weak by then."""
        self.memory.clock.at = Moment(self.memory.clock.at + days * DAY)
        forget(self.memory.store, ForgetRequest(below=below, rewrite=False), **self.at_work)  # type: ignore[arg-type]
        again = forget(self.memory.store, ForgetRequest(below=below, rewrite=False), **self.at_work)  # type: ignore[arg-type]
        assert again.forgotten == 0

    @rule(days=st.sampled_from([0, 10, 100]))
    def compact(self, days: int) -> None:
        """Forget the texts of what was closed so many days ago."""
        request = ForgetRequest(superseded_before=self.ago(days), rewrite=False)
        forget(self.memory.store, request, **self.at_work)  # type: ignore[arg-type]
        assert forget(self.memory.store, request, **self.at_work).forgotten == 0  # type: ignore[arg-type]

    @rule(name=st.sampled_from(NAMES))
    def erase(self, name: str) -> None:
        """Erase a person."""
        salt = f"{len(self.erased)}abc"
        erase(self.memory.store, f"urn:li:corpuser:{name}", salt=lambda: salt, **self.at_work)  # type: ignore[arg-type]
        self.erased.add(name)

    @invariant()
    def every_rule_holds(self) -> None:
        report = verify(self.memory.store, clock=self.memory.clock, progress=NoProgress())
        assert [(rule.rule, rule.examples) for rule in report.rules if rule.broken] == []

    @invariant()
    def what_is_current_has_living_evidence(self) -> None:
        lost = (
            "SELECT count(*) FROM version v LEFT JOIN episode e ON e.cell_id = v.cell_id AND e.number = v.episode "
            "WHERE v.state IN ('current', 'contested', 'proposed') "
            "AND (e.cell_id IS NULL OR e.forgotten_at IS NOT NULL OR e.value IS NULL)"
        )
        assert self._column(lost) == [0]

    @invariant()
    def why_answers_for_each_belief(self) -> None:
        when = When(now=self.memory.clock.at)
        for belief in self._column("SELECT DISTINCT belief_id FROM version"):
            view = why(self.memory.store, bytes(belief).hex(), when)
            assert [one.number for one in view.belief.versions][-1] <= 1
        for urn in self._column("SELECT urn FROM entity"):
            history(self.memory.store, str(urn), None, None, when)

    @invariant()
    def who_was_erased_stands_nowhere(self) -> None:
        for name in self.erased:
            for table, column in (("episode", "value"), ("episode", "actor"), ("cell", "observer"), ("cell", "key")):
                held = self._column(f"SELECT {column} FROM {table} WHERE lower({column}) LIKE '%{name}%'")
                assert held == [], f"{table}.{column}"

    def _column(self, statement: str) -> list[object]:
        return list(self.memory.store.read(lambda c: c.execute(sa.text(statement)).scalars().all()))


Histories.TestCase.settings = settings(
    max_examples=12, stateful_step_count=14, suppress_health_check=list(HealthCheck), deadline=None
)


class TestHistories(Histories.TestCase):  # type: ignore[name-defined, misc]
    """A few of them."""


class LongHistories(Histories):
    """The same."""


LongHistories.TestCase.settings = settings(
    max_examples=120, stateful_step_count=25, suppress_health_check=list(HealthCheck), deadline=None
)
TestLongHistories = pytest.mark.long(LongHistories.TestCase)
