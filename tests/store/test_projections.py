"""A projection that is made anew is what the jobs had kept."""

from __future__ import annotations

from pathlib import Path

import pytest
import sqlalchemy as sa

from palimpsest.store import projections
from palimpsest.store.engine import Store
from palimpsest.store.schema import edge
from tests.building import Memory, dataset, lineage, mcp

TABLES = [dataset(f"t{number}") for number in range(9)]


def edges(store: Store) -> list[tuple[object, ...]]:
    """Every edge."""
    statement = sa.select(edge).order_by(*edge.primary_key.columns)
    return store.read(lambda connection: [tuple(row) for row in connection.execute(statement)])


@pytest.mark.usefixtures("dialect")
def test_edges_made_anew_are_those_that_the_consolidator_kept(tmp_path: Path) -> None:
    """Of current versions only: lineage that was superseded or ended leaves none."""
    memory = Memory(tmp_path)
    for day in (2, 3, 4):
        records = [
            mcp(urn, "upstreamLineage", lineage(TABLES[at : at + day], [(TABLES[0], f"c{day}", "id")], urn))
            for at, urn in enumerate(TABLES)
            if at != day
        ]
        memory.remember([*records, mcp(TABLES[day], "upstreamLineage", lineage([]))], at=f"2026-03-0{day}")
    kept = edges(memory.store)
    assert len(kept) > 20
    memory.store.write(lambda connection: connection.execute(sa.delete(edge).where(edge.c.column == "")))
    assert edges(memory.store) != kept
    told: list[int] = []
    assert projections.rebuild_edges(memory.store, told.append) == len(kept) == sum(told)
    assert edges(memory.store) == kept


def test_without_beliefs_there_are_no_edges(tmp_path: Path) -> None:
    assert projections.rebuild_edges(Memory(tmp_path).store) == 0
