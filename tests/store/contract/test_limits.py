"""A store that can only be read: the database refuses what it is not for."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
import sqlalchemy as sa

from palimpsest.core.errors import StoreError
from palimpsest.store.engine import Connection, open_store
from palimpsest.store.limits import only_read
from palimpsest.store.schema import store as store_table
from tests.building import Memory

_ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 2000000000) SELECT count(*) FROM n"


def test_a_write_is_refused_by_the_database(dialect: str, tmp_path: Path) -> None:
    memory = Memory(tmp_path)
    store = only_read(open_store(memory.url, writing=False, patience=2), milliseconds=5_000)

    def writes(connection: Connection) -> None:
        connection.execute(sa.update(store_table).values(secret=bytes(16)))

    before = memory.store.read(lambda connection: connection.scalar(sa.select(store_table.c.secret)))
    for transaction in (store.read, store.write, store.write_leased):
        with pytest.raises(StoreError):
            transaction(writes)
    assert store.read(lambda connection: connection.scalar(sa.select(store_table.c.secret))) == before
    store.dispose()


def test_a_question_that_takes_too_long_is_broken_off_and_the_next_is_answered(dialect: str, tmp_path: Path) -> None:
    memory = Memory(tmp_path)
    store = only_read(open_store(memory.url, writing=False, patience=2), milliseconds=300)
    began = time.monotonic()
    with pytest.raises(StoreError):
        store.read(lambda connection: connection.execute(sa.text(_ENDLESS)).scalar())
    assert time.monotonic() - began < 8
    assert store.read(lambda connection: connection.scalar(sa.select(sa.func.count()).select_from(store_table))) == 1
    store.dispose()
