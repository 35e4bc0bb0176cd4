"""Filling an empty store with the rows of a dump. Only the load may import this module (R10, by an import contract).

While a load is at work a mark stands in place of the revision, so that every version of the program refuses the store;
each transaction of the load sees that the mark is still its own, and the last one sets the revision again.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping

import sqlalchemy as sa
from sqlalchemy.exc import DataError, IntegrityError

from palimpsest.core.dump import RowError
from palimpsest.core.errors import StoreError
from palimpsest.store import migrate
from palimpsest.store.bulk import execute_many
from palimpsest.store.dumping import DUMPED, Rows, TableReader
from palimpsest.store.engine import Store
from palimpsest.store.migrate import LOADING
from palimpsest.store.schema import metadata
from palimpsest.store.schema import store as store_table

_MEMORY = [table for table in metadata.sorted_tables if table is not store_table]
_EMPTY = [table for table in DUMPED if table is not store_table]
_REVISION = sa.table("alembic_version", sa.column("version_num", sa.Text))


def mark_of(store: Store) -> str | None:
    """The mark of a load that is at work on the store or did not end; None where there is none."""
    if store.is_missing:
        return None
    return store.read(_mark)


def _mark(connection: sa.Connection) -> str | None:
    if "alembic_version" not in sa.inspect(connection).get_table_names():
        return None
    at = connection.scalar(sa.select(_REVISION.c.version_num))
    return str(at) if at is not None and at.startswith(LOADING) else None


def begin(store: Store) -> str:
    """Mark an empty store as being loaded; the mark is to be handed to every step. Raises StoreError if it is not."""
    token = secrets.token_hex(6)

    def work(connection: sa.Connection) -> str:
        at = connection.scalar(sa.select(_REVISION.c.version_num))
        if at != migrate.revisions()[-1]:
            raise StoreError("the store changed when it was about to be loaded", "run again")
        for table in _EMPTY:
            if connection.execute(sa.select(sa.literal(1)).select_from(table).limit(1)).first() is not None:
                raise StoreError(
                    f"the store is not empty, it has rows in {table.name}: {store.shown}",
                    "a dump goes into an empty one: name another with --store",
                )
        mark = f"{LOADING}{at}:{token}"
        _replace(connection, str(at), mark)
        return mark

    return store.write(work)


def insert(store: Store, mark: str, reader: TableReader, rows: Rows) -> None:
    """Insert rows of one table, in one transaction. Raises RowError for the first one that the database refuses."""
    try:
        store.write(lambda connection: _insert(connection, mark, reader, rows))
    except StoreError as error:
        if not _is_about_a_row(error):
            raise
        raise _first_refused(store, mark, reader, rows) or error from error


def _insert(connection: sa.Connection, mark: str, reader: TableReader, rows: Rows) -> None:
    _check(connection, mark)
    if reader.table is store_table:  # an empty store has a secret of its own, with which nothing was made yet
        connection.execute(sa.delete(store_table))
    execute_many(connection, sa.insert(reader.table), reader.names, rows)


def _check(connection: sa.Connection, mark: str) -> None:
    if connection.scalar(sa.select(_REVISION.c.version_num)) != mark:
        raise StoreError("the load was taken over by another one", "one load at a time: wait for the other to end")


class _UndoneError(Exception):
    """Ends a transaction of which nothing may stay."""


def _first_refused(store: Store, mark: str, reader: TableReader, rows: Rows) -> RowError | None:
    """Insert one row at a time until one is refused, and keep none."""
    at = 0

    def work(connection: sa.Connection) -> None:
        nonlocal at
        for at, row in enumerate(rows):  # noqa: B007
            _insert(connection, mark, reader, [row])
        raise _UndoneError

    try:
        store.write(work)
    except _UndoneError:
        return None
    except StoreError as error:
        if not _is_about_a_row(error):
            raise
        return RowError(at, f"is refused by the database: {' '.join(str(error.__cause__.orig).split())}")  # type: ignore[union-attr]
    return None


def _is_about_a_row(error: StoreError) -> bool:
    return isinstance(error.__cause__, IntegrityError | DataError)


def finish(store: Store, mark: str, rows: Mapping[str, int]) -> None:
    """See that every table has the rows that were to be loaded, and let the store be used."""

    def work(connection: sa.Connection) -> None:
        _check(connection, mark)
        for name, count in rows.items():
            found = connection.scalar(sa.select(sa.func.count()).select_from(metadata.tables[name]))
            if found != count:
                raise StoreError(
                    f"somebody else wrote into the store while it was loaded: {found} rows in {name}, not {count}",
                    "start again: palimpsest load --again FILE",
                )
        _replace(connection, mark, _revision_of(mark))

    store.write(work)


def abandon(store: Store, mark: str) -> None:
    """Undo a load that did not end: the store is then empty, and at the revision that it was loaded at."""
    ours = f"{LOADING}{_revision_of(mark)}:{secrets.token_hex(6)}"
    store.write(lambda connection: _replace(connection, mark, ours))  # one that is still at work stops here
    present = set(store.read(lambda connection: sa.inspect(connection).get_table_names()))
    for table in reversed([table for table in _MEMORY if table.name in present]):
        store.write(lambda connection, table=table: _empty(connection, ours, table))  # type: ignore[misc]
    store.write(lambda connection: _replace(connection, ours, _revision_of(mark)))


def _replace(connection: sa.Connection, mark: str, by: str) -> None:
    _check(connection, mark)
    connection.execute(sa.update(_REVISION).values(version_num=by))


def _empty(connection: sa.Connection, mark: str, table: sa.Table) -> None:
    _check(connection, mark)
    connection.execute(sa.delete(table))


def _revision_of(mark: str) -> str:
    return mark.removeprefix(LOADING).partition(":")[0]
