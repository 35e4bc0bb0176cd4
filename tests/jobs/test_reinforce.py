"""reinforce and prune: recalls are written down, strengthen once a moment, and are forgotten when they are old."""

from __future__ import annotations

from pathlib import Path

import pytest
import sqlalchemy as sa

from palimpsest.core.ids import BeliefId
from palimpsest.core.moment import parse
from palimpsest.jobs.prune import prune
from palimpsest.jobs.reinforce import Recalled, reinforce
from palimpsest.jobs.verify import verify
from palimpsest.store.engine import Store
from palimpsest.store.schema import recall_log, run, strength
from palimpsest.testing import FixedClock, NoProgress
from tests.building import Memory, dataset, mcp, owners

pytestmark = pytest.mark.usefixtures("dialect")

BELIEF = BeliefId(b"12345678abcdefgh")
ASKED = Recalled(question="who\x00?", surface="cli", answer="confident", versions=[(BELIEF, 2)], scores=[0.75])


def at(when: str) -> FixedClock:
    return FixedClock(parse(when), step=0)


def strengths(store: Store) -> list[tuple[bytes, float, int]]:
    statement = sa.select(strength.c.belief_id, strength.c.base, strength.c.at)
    return [(bytes(row[0]), row[1], row[2]) for row in store.read(lambda c: c.execute(statement).all())]


def test_a_recall_is_written_down(tmp_path: Path) -> None:
    store = Memory(tmp_path).store
    reinforce(store, ASKED, clock=at("2026-03-09"), holder="test:1:")
    columns = (recall_log.c.question, recall_log.c.surface, recall_log.c.answer, recall_log.c.versions)
    row = store.read(lambda c: c.execute(sa.select(*columns, recall_log.c.scores)).one())
    assert tuple(row) == ("who ?", "cli", "confident", f'["{BELIEF.hex()}:2"]', "[0.75]")


def test_a_recall_at_the_same_moment_changes_nothing_and_a_later_one_strengthens(tmp_path: Path) -> None:
    store = Memory(tmp_path).store
    reinforce(store, ASKED, clock=at("2026-03-09"), holder="test:1:")
    once = strengths(store)
    reinforce(store, ASKED, clock=at("2026-03-09"), holder="test:2:")
    assert strengths(store) == once
    reinforce(store, ASKED, clock=at("2026-03-16"), holder="test:1:")
    ((_, base, when),) = strengths(store)
    assert (base > once[0][1], when) == (True, parse("2026-03-16"))


def test_records_are_forgotten_when_they_are_old_and_what_is_held_is_not(tmp_path: Path) -> None:
    memory = Memory(tmp_path)
    records = [mcp(dataset("orders"), "ownership", owners("jonas"))]
    for day in range(1, 6):
        memory.remember(records, at=f"2026-01-0{day}T08:00:00Z")
    reinforce(memory.store, ASKED, clock=at("2026-01-05"), holder="test:1:")
    reinforce(memory.store, ASKED, clock=at("2026-03-05"), holder="test:1:")

    def started() -> list[str]:
        statement = sa.select(run.c.read_at, run.c.written).order_by(run.c.started_at)
        return [f"{row[0]} {row[1]}" for row in memory.store.read(lambda c: c.execute(statement).all()) if row[0]]

    before = started()
    report = prune(memory.store, recalls_days=30, runs_days=30, clock=at("2026-03-06"))
    assert (report.recalls, report.runs) == (1, 3)
    assert started() == [before[0], before[-1]]
    assert prune(memory.store, recalls_days=0, runs_days=0, clock=at("2030-01-01")).recalls == 0
    assert verify(memory.store, clock=memory.clock, progress=NoProgress()).broken == 0
