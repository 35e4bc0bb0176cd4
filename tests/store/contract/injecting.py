"""Failures of a database, put in at a chosen statement or at COMMIT, and what a memory holds afterwards, to compare."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import sqlalchemy as sa

from palimpsest.store.engine import Store
from palimpsest.store.schema import metadata
from tests.building import Memory, dataset, lineage, mcp, owners, schema, status, tags

ORDERS, USERS = dataset("orders"), dataset("users")
# Columns that tell which run or moment of the machine wrote a row; everything else has to be equal.
APART = {
    "episode": {"run_id"},
    "version": {"run_id", "recorded_at", "closed_at"},
    "store": {"created_at"},
    "entity": {"indexed_at"},
}
LEFT_OUT = {"run"}

FIRST = [
    mcp(ORDERS, "status", status()),
    mcp(ORDERS, "schemaMetadata", schema(("id", "INT"), ("note", "TEXT"))),
    mcp(ORDERS, "ownership", owners("jonas")),
    mcp(ORDERS, "upstreamLineage", lineage([USERS])),
    mcp(USERS, "status", status()),
]
SECOND = [
    mcp(ORDERS, "status", status()),
    mcp(ORDERS, "schemaMetadata", schema(("id", "INT"))),
    mcp(ORDERS, "ownership", owners("ana")),
    mcp(ORDERS, "globalTags", tags("pii")),
]


def history(memory: Memory) -> None:
    """Two complete readings, each consolidated: an opening, a change, an end and lineage."""
    memory.scan(FIRST, at="2026-03-02T08:00:00Z", complete=True)
    memory.consolidate()
    memory.scan(SECOND, at="2026-03-03T08:00:00Z", complete=True)
    memory.consolidate()


def contents(store: Store) -> dict[str, list[tuple[Any, ...]]]:
    """What a store holds, but for what tells one run from another."""

    def work(connection: sa.Connection) -> dict[str, list[tuple[Any, ...]]]:
        found = {}
        for table in metadata.sorted_tables:
            if table.name not in LEFT_OUT:
                columns = [one for one in table.columns if one.name not in APART.get(table.name, set())]
                found[table.name] = sorted((tuple(row) for row in connection.execute(sa.select(*columns))), key=repr)
        return found

    return store.read(work)


class Injection:
    """Numbers the statements of a store, or its commits, and fails at one of them, once."""

    def __init__(self, store: Store, fail: Callable[[sa.Connection], None], at: int | None) -> None:
        self.count = 0
        self._fail, self._at, self._store = fail, at, store

    def step(self, connection: sa.Connection) -> None:
        """One more."""
        self.count += 1
        if self.count == self._at:
            self._fail(connection)


@contextmanager
def at_statement(store: Store, at: int | None, fail: Callable[[sa.Connection], None]) -> Iterator[Injection]:
    """Fail before the statement of that number is sent."""
    injection = Injection(store, fail, at)

    def before(connection: sa.Connection, *rest: object) -> None:
        injection.step(connection)

    sa.event.listen(store.engine, "before_cursor_execute", before)
    try:
        yield injection
    finally:
        sa.event.remove(store.engine, "before_cursor_execute", before)


@contextmanager
def before_commit(store: Store, at: int | None, fail: Callable[[sa.Connection], None]) -> Iterator[Injection]:
    """Fail before the COMMIT of that number is sent."""
    injection = Injection(store, fail, at)
    sa.event.listen(store.engine, "commit", injection.step)
    try:
        yield injection
    finally:
        sa.event.remove(store.engine, "commit", injection.step)


@contextmanager
def after_commit(store: Store, at: int, error: Exception) -> Iterator[None]:
    """The COMMIT of that number takes place, and its answer is lost."""
    count = 0
    driver = store.engine.dialect
    really = driver.do_commit

    def commit(connection: Any) -> None:
        nonlocal count
        count += 1
        really(connection)
        if count == at:
            connection.dbapi_connection.close()
            raise error

    driver.do_commit = commit  # type: ignore[method-assign]
    try:
        yield
    finally:
        driver.do_commit = really  # type: ignore[method-assign]


def conflict(store: Store) -> Callable[[sa.Connection], None]:
    """What each database says to the one of two transactions that has to start again."""

    def fail(connection: sa.Connection) -> None:
        original: Exception
        if store.dialect.is_embedded:
            original = sqlite3.OperationalError("database is locked")
            original.sqlite_errorcode = sqlite3.SQLITE_BUSY  # type: ignore[attr-defined]
        else:
            original = psycopg.errors.SerializationFailure("restart transaction")
        raise sa.exc.OperationalError("", {}, original)

    return fail


def cut(store: Store) -> Callable[[sa.Connection], None]:
    """The connection is gone."""

    def fail(connection: sa.Connection) -> None:
        driver_connection: Any = connection.connection.driver_connection
        driver_connection.close()

    return fail


def fresh(tmp_path: Path, name: str) -> Memory:
    """An empty memory in a place of its own."""
    (tmp_path / name).mkdir()
    return Memory(tmp_path / name)
