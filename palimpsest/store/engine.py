"""Opening a store and running transactions on it: each a callable without side effects, retried whole from its start.

The only module that knows connection settings. A transaction that writes on SQLite starts with BEGIN IMMEDIATE, since a
read that becomes a write there fails at once instead of waiting.
"""

from __future__ import annotations

import os
import sqlite3
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

import sqlalchemy as sa
import stamina
from sqlalchemy.exc import DBAPIError, OperationalError

from palimpsest.core.errors import StoreError
from palimpsest.core.ids import Ids
from palimpsest.store.schema import store as store_table

stamina.instrumentation.set_on_retry_hooks(())  # a retry is no news; unset, it is logged to stdout, which is for data

Result = TypeVar("Result")
Connection = sa.Connection  # what a transaction hands to its callable; jobs name it from here

RETRIED = frozenset({"40001", "40003", "40P01", "57P01", "55P03"})
PATIENCE_S = 60.0  # how long a transaction waits for others before it gives up
_EXTRAS = {"postgresql": "postgres", "cockroachdb": "cockroachdb"}


class Store:
    """An open store: its engine, and the ids that its secret makes."""

    def __init__(self, engine: sa.Engine, url: sa.URL, *, patience: float = PATIENCE_S) -> None:
        self.engine = engine
        self.url = url
        self._patience = patience
        self._ids: Ids | None = None
        weakref.finalize(self, engine.dispose)  # a store that is let go closes its connections

    @property
    def is_missing(self) -> bool:
        """Whether this is a SQLite file that is not there yet: connecting would make it."""
        database = self.url.database or ""
        is_file = self.url.get_backend_name() == "sqlite" and not database.startswith("file:")
        return is_file and _size(Path(database).expanduser()) is None

    @property
    def ids(self) -> Ids:
        """The id maker of this store. Raises StoreError on a store that was never migrated."""
        if self._ids is None:
            secret = self.read(lambda connection: connection.scalar(sa.select(store_table.c.secret)))
            if secret is None:
                raise StoreError("the store has no secret: it was never set up", "run: palimpsest db upgrade")
            self._ids = Ids(bytes(secret))
        return self._ids

    def write(self, work: Callable[[sa.Connection], Result]) -> Result:
        """Run `work` in one write transaction, from the start again on a conflict; commit when it returns."""
        return self._run(work, write=True)

    def read(self, work: Callable[[sa.Connection], Result]) -> Result:
        """Run `work` in one read transaction."""
        return self._run(work, write=False)

    def _run(self, work: Callable[[sa.Connection], Result], *, write: bool) -> Result:
        with self.translated():
            for attempt in stamina.retry_context(
                on=_is_conflict, attempts=8, timeout=self._patience, wait_initial=0.02, wait_max=2
            ):
                with attempt, self.engine.connect() as connection:
                    connection.info["write"] = write
                    with connection.begin():
                        return work(connection)
        raise AssertionError("a retried transaction neither returned nor raised")

    @contextmanager
    def stream(self) -> Iterator[sa.Connection]:
        """A connection for one long read in server-side batches; the caller iterates inside the block."""
        with self.translated(), self.engine.connect() as connection:
            connection.info["write"] = False
            with connection.begin():
                yield connection.execution_options(yield_per=5_000)

    @contextmanager
    def translated(self) -> Iterator[None]:
        """Turns a driver's failure into a StoreError with one line and a hint."""
        try:
            yield
        except DBAPIError as error:
            raise _explained(error, self.url) from error

    def use_write_ahead_log(self) -> None:
        """Let readers of a SQLite file not wait for its writer. The file remembers; a read-only one stays as it is."""
        if self.engine.dialect.name != "sqlite":
            return
        with self.translated():
            connection = self.engine.raw_connection()
        try:
            with suppress(sqlite3.OperationalError):
                connection.cursor().execute("PRAGMA journal_mode = WAL")
        finally:
            connection.close()

    def dispose(self) -> None:
        """Close every pooled connection."""
        self.engine.dispose()


def open_store(url: str, *, writing: bool = True, patience: float = PATIENCE_S) -> Store:
    """Open the store at an SQLAlchemy URL; the folder of a SQLite file is made if it is missing. Migrates nothing.

    Not `writing`: nothing is made, and a file that may only be read is enough. `patience` is in seconds.
    Raises StoreError for a URL that is none, a missing driver, or a file that cannot be opened.
    """
    try:
        parsed = sa.make_url(url)
    except sa.exc.ArgumentError as error:
        raise StoreError(f"{url!r} is no database address", "write sqlite:///memory.db") from error
    name = parsed.get_backend_name()
    if name == "sqlite":
        return Store(_sqlite_engine(parsed, writing=writing, patience=patience), parsed, patience=patience)
    if name not in _EXTRAS:
        raise StoreError(
            f"a memory cannot live in {name}", "use sqlite:///PATH, postgresql+psycopg://… or cockroachdb+psycopg://…"
        )
    try:
        engine = sa.create_engine(parsed, pool_pre_ping=True, pool_recycle=300, isolation_level="SERIALIZABLE")
    except (ImportError, sa.exc.NoSuchModuleError) as error:
        hint = f"install it: pip install 'datahub-palimpsest[{_EXTRAS[name]}]'"
        raise StoreError(f"no driver for {name} is installed", hint) from error
    return Store(engine, parsed, patience=patience)


def _sqlite_engine(url: sa.URL, *, writing: bool, patience: float) -> sa.Engine:
    database = url.database
    if not database or database == ":memory:":
        raise StoreError("an in-memory store forgets at once", "name a file: sqlite:///memory.db")
    if not database.startswith("file:"):
        file = Path(database).expanduser()
        url = url.set(database=str(file)) if writing else _for_reading(url, file)
        try:
            if writing:
                file.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(
                f"cannot make the folder of the store: {error.strerror}: {file.parent}",
                "name another file with --store",
            ) from error
    engine = sa.create_engine(url, connect_args={"timeout": patience / 2, "isolation_level": None})

    @sa.event.listens_for(engine, "connect")
    def on_connect(connection: sqlite3.Connection, record: object) -> None:
        cursor = connection.cursor()
        cursor.execute("PRAGMA foreign_keys = ON")
        cursor.execute("PRAGMA cache_size = -16000")
        cursor.execute("PRAGMA synchronous = NORMAL")
        cursor.execute("PRAGMA temp_store = MEMORY")
        cursor.close()

    @sa.event.listens_for(engine, "begin")
    def on_begin(connection: sa.Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE" if connection.info.get("write") else "BEGIN")

    return engine


def _for_reading(url: sa.URL, file: Path) -> sa.URL:
    """The URL that reads a SQLite file. In WAL mode reading takes files beside it, unless it is declared immutable:
    where this process may write neither the file nor its folder, and nobody else is at work on it."""
    if os.access(file, os.W_OK) and os.access(file.parent, os.W_OK):
        return url.set(database=str(file))
    query = {"uri": "true", "mode": "ro"} | ({} if _size(Path(f"{file}-wal")) else {"immutable": "1"})
    return url.set(database=f"file:{quote(str(file))}", query={**url.query, **query})


def _size(file: Path) -> int | None:
    """The size of a file, None where there is none; 0 where this process may not look."""
    try:
        return file.stat().st_size
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError:
        return 0


def _is_conflict(error: Exception) -> bool:
    if not isinstance(error, DBAPIError):
        return False
    original = error.orig
    if isinstance(original, sqlite3.OperationalError):
        return original.sqlite_errorcode & 0xFF in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
    state = str(getattr(original, "sqlstate", "") or "")
    return state in RETRIED or state.startswith("08")


def _explained(error: DBAPIError, url: sa.URL) -> StoreError:
    """One line for a driver's failure, with what to do about it."""
    shown = url.render_as_string(hide_password=True)
    original = error.orig
    text = " ".join(str(original).split())
    if isinstance(original, sqlite3.Error) and getattr(original, "sqlite_errorcode", None) is not None:
        code = original.sqlite_errorcode & 0xFF
        hints = {
            sqlite3.SQLITE_READONLY: (
                "the store is read-only",
                "make the file and its folder writable, or name another --store",
            ),
            sqlite3.SQLITE_FULL: (
                "the disk of the store is full",
                "free some space and run again; nothing was half-written",
            ),
            sqlite3.SQLITE_CANTOPEN: ("the store cannot be opened", "does its folder exist, and may you read it?"),
            sqlite3.SQLITE_NOTADB: ("the store is not a SQLite database", "name another file with --store"),
            sqlite3.SQLITE_CORRUPT: ("the store is damaged", "restore it from a backup"),
            sqlite3.SQLITE_BUSY: ("the store is locked by another process", "wait for it to end, and run again"),
            sqlite3.SQLITE_IOERR: (
                "the disk of the store failed",
                "check the disk and run again; nothing was half-written",
            ),
        }
        if code in hints:
            what, hint = hints[code]
            return StoreError(f"{what}: {shown}", hint)
        if "no such table" in text or "no such column" in text:
            return StoreError(f"the store has not the expected tables: {shown}", "run: palimpsest db upgrade")
    if isinstance(error, OperationalError):
        return StoreError(
            f"the store cannot be used: {shown}: {text[:300]}", "is the database running, and the address right?"
        )
    return StoreError(f"the store refused a statement: {text[:300]}", "run: palimpsest verify")
