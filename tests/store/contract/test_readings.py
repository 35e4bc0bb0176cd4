"""What a source holds is read page by page, each row once and by an index, whatever breaks in between."""

from __future__ import annotations

from pathlib import Path

import pytest
import sqlalchemy as sa

from palimpsest.core.ids import EntityId
from palimpsest.store import readings
from palimpsest.store.engine import Store
from palimpsest.store.readings import Batch
from tests.building import Memory
from tests.store.contract import injecting

PAGES = 2.5
Part = tuple[bytes, str, bytes, int, int]


def ident(number: int) -> bytes:
    """An id of 16 bytes; those that follow each other are far apart."""
    return (number * 7919 % 65536).to_bytes(8) + bytes(8)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """A store without rows."""
    return Memory(tmp_path).store


def hold(store: Store, source: str, count: int) -> list[Part]:
    """Let a source hold so many raw aspects, with a gap after the first; they are written in another order."""
    entities = {EntityId(ident(number)): f"urn:{number}" for number in range(count)}
    held = [(ident(n), f"p{n % 3}", n.to_bytes(8), n + (n > 0), n % 5) for n in range(count)]
    batch = Batch(entities=entities, new_parts=[(one, source, *rest) for one, *rest in sorted(held)])
    store.write(lambda connection: readings.write_batch(connection, batch))
    return held


@pytest.mark.usefixtures("dialect")
def test_every_raw_aspect_of_the_source_comes_once_by_ordinal(store: Store) -> None:
    held = hold(store, "file", int(PAGES * readings._AT_ONCE))
    other = hold(store, "other", readings._AT_ONCE)
    assert list(readings.held_parts(store, "file")) == held
    assert list(readings.held_parts(store, "other")) == other  # as many as one page holds
    assert list(readings.held_parts(store, "none")) == []


@pytest.mark.usefixtures("server")
def test_a_connection_lost_at_any_page_repeats_that_page(store: Store) -> None:
    held = hold(store, "file", int(PAGES * readings._AT_ONCE))
    with injecting.at_statement(store, None, injecting.cut(store)) as counted:
        assert list(readings.held_parts(store, "file")) == held
    assert counted.count >= PAGES
    for number in range(1, counted.count + 1):
        with injecting.at_statement(store, number, injecting.cut(store)) as seen:
            assert list(readings.held_parts(store, "file")) == held
        assert seen.count > counted.count


def test_a_page_walks_an_index_and_sorts_nothing(store: Store) -> None:
    hold(store, "file", 5)
    asked: list[tuple[str, tuple[object, ...]]] = []
    sa.event.listen(store.engine, "before_cursor_execute", lambda *given: asked.append((given[2], given[3])))
    assert len(list(readings.held_parts(store, "file"))) == 5
    ((text, parameters),) = [(text, parameters) for text, parameters in asked if text.startswith("SELECT")]
    with store.engine.connect() as connection:
        plan = [row[3] for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {text}", parameters)]
    assert plan == ["SEARCH part USING INDEX sqlite_autoindex_part_2 (source=? AND ordinal>?)"]
