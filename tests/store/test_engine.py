"""A transaction is a callable, run whole or not at all: again on a conflict, never half, and not for ever."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import sqlalchemy as sa

from palimpsest.core.errors import StoreError
from palimpsest.core.moment import parse
from palimpsest.store import migrate
from palimpsest.store.engine import Store, open_store
from palimpsest.store.schema import source

ROW = {"name": "file", "kind": "file", "origin": "file"}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The file of a set-up store."""
    store = open_store(f"sqlite:///{tmp_path}/memory.db")
    migrate.upgrade(store, now=parse("2026-03-01"))
    store.dispose()
    return tmp_path / "memory.db"


@contextmanager
def opened(file: Path, *, patience: float = 5.0) -> Iterator[Store]:
    """A store, closed again."""
    store = open_store(f"sqlite:///{file}", patience=patience)
    yield store
    store.dispose()


@contextmanager
def locked(file: Path) -> Iterator[sqlite3.Connection]:
    """Somebody else is writing."""
    other = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    try:
        yield other
    finally:
        if other.in_transaction:
            other.execute("ROLLBACK")
        other.close()


def names(store: Store) -> list[str]:
    """The sources of a store."""
    return store.read(lambda connection: list(connection.scalars(sa.select(source.c.name).order_by(source.c.name))))


def test_a_transaction_waits_for_another_writer_and_is_run_once(file: Path) -> None:
    calls: list[float] = []

    def work(connection: sa.Connection) -> None:
        calls.append(time.monotonic())
        connection.execute(sa.insert(source), ROW)

    with opened(file) as store, locked(file) as other:
        free = threading.Timer(0.3, lambda: other.execute("ROLLBACK"))
        free.start()
        store.write(work)
        free.join()
        assert (len(calls), names(store)) == (1, ["file"])


def test_a_transaction_that_meets_a_conflict_in_the_middle_is_run_whole_again(file: Path) -> None:
    """The second statement of the first run conflicts: what the first one did is undone, and both run again."""
    calls: list[int] = []

    def work(connection: sa.Connection) -> None:
        calls.append(connection.scalar(sa.select(sa.func.count()).select_from(source)) or 0)
        connection.execute(sa.insert(source), ROW)
        if len(calls) < 3:
            conflict = sqlite3.OperationalError("database is locked")
            conflict.sqlite_errorcode = sqlite3.SQLITE_BUSY
            raise sa.exc.OperationalError("INSERT", {}, conflict)
        connection.execute(sa.insert(source), ROW | {"name": "other"})

    with opened(file) as store:
        store.write(work)
        assert (calls, names(store)) == ([0, 0, 0], ["file", "other"])


def test_a_transaction_gives_up_with_one_clear_line(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    calls: list[int] = []
    with opened(file, patience=0.4) as store, locked(file):
        begun = time.monotonic()
        with pytest.raises(StoreError) as caught:
            store.write(lambda connection: calls.append(1))
        assert time.monotonic() - begun < 20
    assert caught.value.message == f"the store is locked by another process: sqlite:///{file}"
    assert caught.value.hint == "wait for it to end, and run again"
    assert calls == []
    assert capsys.readouterr() == ("", "")


def test_a_transaction_that_raises_leaves_nothing(file: Path) -> None:
    def work(connection: sa.Connection) -> None:
        connection.execute(sa.insert(source), ROW)
        raise RuntimeError("on purpose")

    with opened(file) as store:
        with pytest.raises(RuntimeError, match="on purpose"):
            store.write(work)
        assert names(store) == []


def test_a_refused_statement_undoes_the_whole_transaction_and_is_not_tried_again(file: Path) -> None:
    calls: list[int] = []

    def work(connection: sa.Connection) -> None:
        calls.append(1)
        connection.execute(sa.insert(source), ROW)
        connection.execute(sa.insert(source), ROW)

    with opened(file) as store:
        with pytest.raises(StoreError, match=r"the store refused a statement: UNIQUE constraint failed: source\.name"):
            store.write(work)
        assert (calls, names(store)) == ([1], [])


def test_readers_do_not_wait_for_a_writer(file: Path) -> None:
    with opened(file, patience=0.4) as store, locked(file) as other:
        other.execute("INSERT INTO source VALUES ('half', 'file', 'file')")
        assert names(store) == []


def test_a_read_transaction_sees_one_state(file: Path) -> None:
    def work(connection: sa.Connection) -> tuple[int, int]:
        count = sa.select(sa.func.count()).select_from(source)
        before = connection.scalar(count) or 0
        with opened(file) as other:
            other.write(lambda c: c.execute(sa.insert(source), ROW))
        return before, connection.scalar(count) or 0

    with opened(file) as store:
        assert store.read(work) == (0, 0)
        assert names(store) == ["file"]


def test_writers_in_threads_lose_nothing(file: Path) -> None:
    def add(number: int) -> None:
        with opened(file, patience=20) as store:
            for step in range(5):
                row = ROW | {"name": f"{number}-{step}"}
                store.write(lambda connection, row=row: connection.execute(sa.insert(source), row))  # type: ignore[misc]

    threads = [threading.Thread(target=add, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with opened(file) as store:
        assert len(names(store)) == 20


def test_opening_for_reading_makes_nothing(tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path}/sub/memory.db", writing=False)
    assert store.is_missing
    with pytest.raises(StoreError, match="the store cannot be opened"):
        names(store)
    store.dispose()
    assert os.listdir(tmp_path) == []


def test_a_password_is_never_shown(tmp_path: Path) -> None:
    with pytest.raises(StoreError) as caught:
        open_store("mysql://me:secret@host/base")
    assert "secret" not in f"{caught.value.message} {caught.value.hint}"


def test_a_store_without_its_secret_says_so(file: Path) -> None:
    db = sqlite3.connect(file)
    db.execute("DELETE FROM store")
    db.commit()
    db.close()
    with opened(file) as store, pytest.raises(StoreError, match="the store has no secret"):
        _ = store.ids
