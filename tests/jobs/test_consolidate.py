"""Consolidating: every change founds one version, in order, whenever it is done, and once."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from palimpsest.store.schema import cell, episode, evidence, version
from tests.building import Memory, Record, dataset, mcp, owners, schema
from tests.robustness.stores import differing, tables

pytestmark = pytest.mark.usefixtures("dialect")

ORDERS = dataset("shop.orders")


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    """An empty store."""
    return Memory(tmp_path)


def reading(owner: str | None, *columns: str) -> list[Record]:
    """What the catalog says of one dataset."""
    body = owners(owner) if owner is not None else {"owners": []}
    return [mcp(ORDERS, "ownership", body), mcp(ORDERS, "schemaMetadata", schema(*[(name, "INT") for name in columns]))]


HISTORY = [
    reading("jonas", "id", "note"),
    reading("ana", "id"),
    reading("ana", "id", "note"),
    reading(None, "id", "note"),
    reading("jonas", "note"),
    reading("jonas", "note"),
]


def versions(memory: Memory, aspect: str, key: str = "") -> Sequence[Any]:
    """(number, state, value, successor, reverts to) of a belief's versions."""
    statement = (
        sa.select(version.c.number, version.c.state, episode.c.value, version.c.successor, version.c.reverts_to)
        .join(cell, cell.c.id == version.c.cell_id)
        .join(episode, sa.and_(episode.c.cell_id == version.c.cell_id, episode.c.number == version.c.episode))
        .where(cell.c.aspect == aspect, cell.c.key == key)
        .order_by(version.c.number)
    )
    return memory.store.read(lambda c: [tuple(row) for row in c.execute(statement)])


def day(number: int) -> str:
    """A day in March."""
    return f"2026-03-{number:02}T08:00:00Z"


def test_each_change_of_an_owner_founds_a_version_and_an_earlier_value_says_so(memory: Memory) -> None:
    for number, records in enumerate(HISTORY, start=2):
        memory.remember(records, at=day(number))
    jonas = '[["urn:li:corpuser:jonas","TECHNICAL_OWNER"]]'
    ana = '[["urn:li:corpuser:ana","TECHNICAL_OWNER"]]'
    assert versions(memory, "ownership") == [
        (1, "superseded", jonas, 2, None),
        (2, "superseded", ana, 3, None),
        (3, "superseded", "[]", 4, None),
        (4, "current", jonas, None, 1),
    ]


def test_a_column_that_goes_ends_its_version_and_one_that_returns_opens_another(memory: Memory) -> None:
    for number, records in enumerate(HISTORY, start=2):
        memory.remember(records, at=day(number))
    found = [
        (number, state, successor, reverts)
        for number, state, _, successor, reverts in versions(memory, "column", "note")
    ]
    assert found == [(1, "retracted", None, None), (2, "current", None, 1)]
    assert [row[1] for row in versions(memory, "column", "id")] == ["retracted"]
    roles = memory.store.read(lambda c: list(c.scalars(sa.select(evidence.c.role))))
    assert roles == ["ended", "ended"]


def test_consolidating_once_at_the_end_gives_the_same_versions(tmp_path: Path) -> None:
    often, once = (Memory(tmp_path, name=name) for name in ("often.db", "once.db"))
    for number, records in enumerate(HISTORY, start=2):
        often.remember(records, at=day(number))
        once.scan(records, at=day(number))
    once.consolidate()
    for memory in (often, once):
        memory.store.dispose()
    assert differing(tables(often.url), tables(once.url)) == []


def test_consolidating_again_changes_nothing(memory: Memory) -> None:
    for number, records in enumerate(HISTORY, start=2):
        memory.scan(records, at=day(number))
    first = memory.consolidate()
    before = tables(memory.url)
    again = memory.consolidate()
    assert (first.left, first.episodes > 8) == (0, True)
    assert (again.episodes, again.founded, again.run) == (0, 0, "")
    assert differing(tables(memory.url), before) == []


def test_a_store_of_more_entities_than_a_statement_takes_parameters(tmp_path: Path) -> None:
    """SQLite as python.org ships it takes 32,766; some distributions allow more."""

    def lower(connection: sqlite3.Connection, record: object) -> None:
        connection.setlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, 300)

    memory = Memory(tmp_path)
    memory.store.dispose()
    if memory.store.dialect.is_embedded:
        sa.event.listen(memory.store.engine, "connect", lower)
    records = [mcp(dataset(f"t{n}"), "status", {"removed": False}) for n in range(250)]
    memory.scan(records, at=day(2))
    report = memory.consolidate()
    assert (report.episodes, report.entities, report.left) == (250, 250, 0)
