"""Many rows at once: every value arrives as it was sent, and a failure is one of the store's, which is repeated."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa

from palimpsest.core.errors import StoreError
from palimpsest.store.bulk import execute_many
from palimpsest.store.engine import Store, open_store
from palimpsest.store.schema import cell, entity, part, run
from tests import servers
from tests.building import Memory

ENTITY = bytes(range(8)) + bytes(8)
CELL = ("id", "entity_id", "source", "observer", "aspect", "key", "part", "belief_id", "digest", "last")
RUN = ("id", "job", "source", "state", "holder", "beat_at", "started_at", "ended_at", "complete", "rules", "written",
       "founded", "coverage")  # fmt: skip


def ident(number: int) -> bytes:
    """An id of 16 bytes."""
    return ENTITY[:8] + number.to_bytes(8)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """A store with one entity."""
    store = Memory(tmp_path).store
    row = {"id": ENTITY, "urn": "urn:x", "kind": "dataset", "platform": "p", "name": "n"}
    store.write(lambda c: c.execute(sa.insert(entity), row))
    return store


def cells(count: int) -> list[tuple[object, ...]]:
    """Rows of the table of cells, with all kinds of text."""
    keys = ("", "a\tb\nc\\N", "é\U0001f40d", "%s %(x)s :y", "'\"", "\\x00")
    return [
        (ident(n), ENTITY, "file", "", "tags", keys[n % len(keys)], "p", ident(n), bytes([0, 255, n % 256]), n - 5)
        for n in range(count)
    ]


@pytest.mark.usefixtures("dialect")
@pytest.mark.parametrize("count", [0, 1, 19, 20, 500])
def test_every_value_arrives_as_it_was_sent(store: Store, count: int) -> None:
    rows = cells(count)
    store.write(lambda c: execute_many(c, sa.insert(cell), CELL, rows))
    columns = [cell.c[name] for name in CELL]
    assert store.read(lambda c: [tuple(row) for row in c.execute(sa.select(*columns).order_by(cell.c.id))]) == rows


@pytest.mark.usefixtures("dialect")
def test_nothing_large_numbers_and_truths_arrive_too(store: Store) -> None:
    rows = [
        (ident(n), "scan", None, "done", "h", 2**53, -1, None, n % 2 == 0, "1", 2**31 - 1, 0, None) for n in range(30)
    ]
    store.write(lambda c: execute_many(c, sa.insert(run), RUN, rows))
    columns = [run.c[name] for name in RUN]
    assert store.read(lambda c: [tuple(row) for row in c.execute(sa.select(*columns).order_by(run.c.id))]) == rows


@pytest.mark.usefixtures("dialect")
def test_many_updates_change_each_its_row(store: Store) -> None:
    rows = [(ENTITY, "file", f"p{n}", b"d", n, 0) for n in range(50)]
    names = ("entity_id", "source", "part", "digest", "ordinal", "cells")
    store.write(lambda c: execute_many(c, sa.insert(part), names, rows))
    change = (
        sa.update(part)
        .where(part.c.entity_id == sa.bindparam("of"), part.c.part == sa.bindparam("name"))
        .values(cells=part.c.cells + sa.bindparam("more"), digest=sa.bindparam("new"))
    )
    given = [(bytes([n]), n, f"p{n}", ENTITY) for n in range(50)]
    store.write(lambda c: execute_many(c, change, ("new", "more", "name", "of"), given))
    found = store.read(lambda c: c.execute(sa.select(part.c.digest, part.c.cells).order_by(part.c.ordinal)).all())
    assert [tuple(row) for row in found] == [(bytes([n]), n) for n in range(50)]


@pytest.mark.usefixtures("dialect")
@pytest.mark.parametrize("count", [3, 100])
def test_rows_that_are_refused_leave_nothing_and_are_explained(store: Store, count: int) -> None:
    rows = cells(count)
    with pytest.raises(StoreError, match="the store refused a statement"):
        store.write(lambda c: execute_many(c, sa.insert(cell), CELL, [*rows, rows[0]]))
    assert store.read(lambda c: c.scalar(sa.select(sa.func.count()).select_from(cell))) == 0


@pytest.mark.parametrize("name", [name for name in ("postgresql", "postgresql-15") if name in servers.SERVERS])
def test_a_connection_that_breaks_while_rows_are_copied_is_replaced(tmp_path: Path, name: str) -> None:
    try:
        kind = servers.kind(name)
    except servers.MissingServer as error:
        pytest.skip(str(error))
    database = kind.make()
    store = open_store(kind.url(database))
    row = {"id": ENTITY, "urn": "urn:x", "kind": "dataset", "platform": "p", "name": "n"}
    store.write(lambda c: c.execute(sa.insert(entity), row))
    calls: list[int] = []

    def work(connection: sa.Connection) -> None:
        calls.append(1)
        if len(calls) == 1:
            pid = connection.scalar(sa.select(sa.func.pg_backend_pid()))
            with psycopg.connect(kind.server.conninfo(database), autocommit=True) as other:
                other.execute("SELECT pg_terminate_backend(%s)", (pid,))
        execute_many(connection, sa.insert(cell), CELL, cells(2_000))

    store.write(work)
    assert len(calls) == 2
    assert store.read(lambda c: c.scalar(sa.select(sa.func.count()).select_from(cell))) == 2_000
    store.dispose()
    kind.drop(database)
