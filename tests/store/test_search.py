"""Searching by words on PostgreSQL: each search is planned for its own words, and reads no list of new entries."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from palimpsest.store import search
from palimpsest.store.engine import Connection
from tests import building, servers
from tests.building import Memory, dataset, mcp, owners

_PLANS = "SELECT coalesce(sum(generic_plans), 0) FROM pg_prepared_statements WHERE statement LIKE '%TSQUERY%'"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    """A memory with passages, on PostgreSQL."""
    try:
        with servers.places("postgresql") as place, building.placed(place):
            memory = Memory(tmp_path)
            memory.remember([mcp(dataset("orders"), "ownership", owners("jonas"))], at="2026-03-02T08:00:00Z")
            memory.index()
            yield memory
            memory.store.dispose()
    except servers.MissingServer as error:
        pytest.skip(str(error))


def test_every_search_of_a_transaction_is_planned_for_its_words(memory: Memory) -> None:
    def work(connection: Connection) -> tuple[int, int]:
        search.begin(connection)
        found = [search.find(connection, [(word,)], 10, past=False) for word in ["jona", *("nothing",) * 20]]
        return len(found[0]), int(connection.scalar(sa.text(_PLANS)) or 0)

    assert memory.store.read(work) == (1, 0)


def test_other_transactions_keep_the_plans_that_they_made(memory: Memory) -> None:
    def mode(connection: Connection) -> str:
        return str(connection.scalar(sa.text("SHOW plan_cache_mode")))

    memory.store.read(search.begin)
    assert memory.store.read(mode) == "auto"


def test_after_a_pass_no_search_goes_through_entries_that_wait(memory: Memory) -> None:
    cleared = sa.text("SELECT gin_clean_pending_list('ix_passage_terms')")
    assert memory.store.write(lambda connection: connection.scalar(cleared)) == 0
