"""overview: totals that rows give, before the index pass and after it; days that readings changed something on."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
import sqlalchemy as sa

from palimpsest.core.moment import parse
from palimpsest.jobs.note import note
from palimpsest.queries.held import When
from palimpsest.queries.overview import DayView, OverviewView, overview
from palimpsest.store.schema import episode, version
from tests.building import Memory, dataset, mcp, owners, schema, status
from tests.queries.plans import planned, walked

pytestmark = pytest.mark.usefixtures("dialect")

ORDERS, USERS = dataset("shop.public.orders"), dataset("users", "kafka")
NOW = When(now=parse("2026-03-20"))


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    """Two readings of a column's type and an owner that were changed, and of an entity that went."""
    memory = Memory(tmp_path)
    first = [
        mcp(ORDERS, "status", status()),
        mcp(ORDERS, "ownership", owners("jonas")),
        mcp(ORDERS, "schemaMetadata", schema(("id", "BIGINT"))),
        mcp(USERS, "status", status()),
    ]
    memory.remember(first, at="2026-03-02T08:00:00Z")
    memory.remember([mcp(ORDERS, "ownership", owners("ana"))], at="2026-03-04T08:00:00Z")
    last = [mcp(ORDERS, "ownership", owners()), mcp(USERS, "status", status(removed=True))]
    memory.remember(last, at="2026-03-06T08:00:00Z")
    return memory


def test_an_empty_memory_has_no_days(tmp_path: Path) -> None:
    view = overview(Memory(tmp_path).store, NOW)
    assert (view.entities, view.beliefs, view.episodes, view.days, view.kinds) == (0, 0, 0, (), ())


def test_totals_are_the_same_before_the_pass_and_after_it(memory: Memory) -> None:
    before = overview(memory.store, NOW)
    memory.index()
    after = overview(memory.store, NOW)
    assert (before.waiting, after.waiting) == (2, 0)
    assert numbers(after) == numbers(before)
    assert [(one.value, one.entities) for one in after.platforms] == [("kafka", 1), ("postgres", 1)]
    assert [(one.value, one.entities) for one in after.kinds] == [("dataset", 2)]


def numbers(view: OverviewView) -> OverviewView:
    return replace(view, waiting=0, runs=())


def test_totals_count_revisions_and_versions_by_state(memory: Memory) -> None:
    """Revised: an owner twice, existence once; so much is held no more."""
    memory.index()
    view = overview(memory.store, NOW)
    assert (view.entities, view.changes, view.earlier, view.beside, view.pending) == (2, 3, 3, 0, 0)
    assert view.episodes == rows(memory, sa.select(episode.c.cell_id))
    assert view.beliefs == rows(memory, sa.select(version.c.belief_id).where(version.c.state == "current"))


def rows(memory: Memory, statement: sa.Select[tuple[bytes]]) -> int:
    return memory.store.read(lambda connection: len(connection.execute(statement).all()))


def test_what_an_agent_alone_decided_is_counted_beside(memory: Memory) -> None:
    words = "Orders are kept for ten years."
    said = {"urn": ORDERS, "text": words, "observer": "agent:helper", "kind": "decision"}
    note(memory.store, **said, clock=memory.clock, holder="test:1:")
    memory.consolidate()
    memory.index()
    view = overview(memory.store, NOW)
    assert (view.beside, view.earlier) == (1, 3)


def test_a_day_counts_what_its_readings_changed_by_weight(memory: Memory) -> None:
    days = {one.day: one for one in overview(memory.store, NOW).days}
    assert len(days) == 28
    assert min(days) == date(2026, 2, 7)
    assert days[date(2026, 3, 2)] == DayView(day=date(2026, 3, 2), readings=1, breaking=0, notable=0, minor=0)
    assert days[date(2026, 3, 4)] == DayView(day=date(2026, 3, 4), readings=1, breaking=0, notable=1, minor=0)
    assert days[date(2026, 3, 5)].readings == 0
    assert days[date(2026, 3, 6)] == DayView(day=date(2026, 3, 6), readings=1, breaking=1, notable=1, minor=0)


def test_no_statement_walks_what_was_seen_or_is_held(memory: Memory, dialect: str) -> None:
    """Once all is indexed; before, the current versions are counted."""
    if dialect != "sqlite":
        return
    memory.index()
    steps = planned(memory.store, lambda: overview(memory.store, NOW))
    assert len(steps) > 8
    assert walked(steps) == []
