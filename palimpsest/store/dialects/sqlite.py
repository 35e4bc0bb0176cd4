"""SQLite: the embedded default. A file in write-ahead mode; a transaction that writes starts with BEGIN IMMEDIATE.

A read that becomes a write there fails at once instead of waiting.
"""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from palimpsest.core.errors import StoreError
from palimpsest.store.dialects.dialect import Dialect, Facts, Mode, one_line, shown, unexplained

_STEPS = 10_000  # of SQLite's machine, well under a millisecond
_EXPLAINED = {
    sqlite3.SQLITE_INTERRUPT: ("the question took too long", "ask for less at once"),
    sqlite3.SQLITE_READONLY: (
        "the store is read-only",
        "make the file and its folder writable, or name another --store",
    ),
    sqlite3.SQLITE_FULL: ("the disk of the store is full", "free some space and run again; nothing was half-written"),
    sqlite3.SQLITE_CANTOPEN: ("the store cannot be opened", "does its folder exist, and may you read it?"),
    sqlite3.SQLITE_NOTADB: ("the store is not a SQLite database", "name another file with --store"),
    sqlite3.SQLITE_CORRUPT: ("the store is damaged", "restore it from a backup"),
    sqlite3.SQLITE_BUSY: ("the store is locked by another process", "wait for it to end, and run again"),
    sqlite3.SQLITE_IOERR: ("the disk of the store failed", "check the disk and run again; nothing was half-written"),
}


class Sqlite(Dialect):
    """A file."""

    name = "sqlite"
    is_embedded = True

    def engine(self, url: sa.URL, *, writing: bool, patience: float) -> sa.Engine:
        """The engine of a file; its folder is made where it is written to."""
        engine = sa.create_engine(
            _prepared_url(url, writing=writing), connect_args={"timeout": patience / 2, "isolation_level": None}
        )
        sa.event.listen(engine, "connect", _on_connect)
        sa.event.listen(engine, "begin", _on_begin)
        return engine

    def finish(self, connection: sa.Connection, mode: Mode) -> None:
        """See that no row refers to one that is not there, where the database did not look. Raises StoreError."""
        if mode is Mode.REBUILD:
            broken = connection.exec_driver_sql("PRAGMA foreign_key_check").first()
            if broken is not None:
                raise StoreError(f"a row of {broken[0]} refers to a row of {broken[2]} that is not there", "report it")

    def limit(self, connection: sa.Connection, milliseconds: int) -> None:
        """The connection asks, every so many steps, whether it may go on."""
        connection.exec_driver_sql("PRAGMA query_only = ON")
        until = time.monotonic() + milliseconds / 1000
        opened = connection.connection.driver_connection
        assert isinstance(opened, sqlite3.Connection)
        opened.set_progress_handler(lambda: time.monotonic() > until, _STEPS)

    def is_conflict(self, error: DBAPIError) -> bool:
        """Somebody else writes."""
        code = getattr(error.orig, "sqlite_errorcode", None)
        return code is not None and code & 0xFF in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}

    def explain(self, error: DBAPIError, url: sa.URL) -> StoreError:
        """By the error codes of SQLite."""
        code = getattr(error.orig, "sqlite_errorcode", None)
        if code is not None:
            if code & 0xFF in _EXPLAINED:
                what, hint = _EXPLAINED[code & 0xFF]
                return StoreError(f"{what}: {shown(url)}", hint)
            text = one_line(error.orig) if error.orig else ""
            if "no such table" in text or "no such column" in text:
                return StoreError(f"the store has not the expected tables: {shown(url)}", "run: palimpsest db upgrade")
        return unexplained(error, url)

    def shed(self, engine: sa.Engine, table: str) -> bool | None:
        """The words are indexed anew, the file is written anew, and the log beside it is emptied.

        By way of a temporary file, not of memory: it is the whole store.
        """
        connection = engine.raw_connection()
        try:
            cursor = connection.cursor()
            cursor.execute(f"INSERT INTO {table}_text ({table}_text) VALUES ('rebuild')")
            cursor.execute("PRAGMA temp_store = FILE")
            cursor.execute("VACUUM")
            busy, *_ = cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            return not busy
        except sqlite3.OperationalError as error:
            code = error.sqlite_errorcode & 0xFF
            if code in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
                return False
            what, hint = _EXPLAINED.get(code, (f"the store cannot be written anew: {one_line(error)}", "run again"))
            raise StoreError(f"{what}: {shown(engine.url)}", hint) from error
        finally:
            connection.cursor().execute("PRAGMA temp_store = MEMORY")
            connection.close()

    def facts(self, connection: sa.Connection) -> Facts:
        """The library's version, the journal, and whether it was built with full text."""
        mode = connection.exec_driver_sql("PRAGMA journal_mode").scalar()
        options = {row[0] for row in connection.exec_driver_sql("PRAGMA compile_options")}
        return Facts(self.name, sqlite3.sqlite_version, str(mode), "ENABLE_FTS5" in options, vectors=False)

    def bytes_used(self, connection: sa.Connection) -> int | None:
        """The file and the two beside it."""
        path = self.file_of(connection.engine.url)
        if path is None:
            return None
        names = (path, Path(f"{path}-wal"), Path(f"{path}-shm"))
        return sum(name.stat().st_size for name in names if name.exists())

    def file_of(self, url: sa.URL) -> Path | None:
        """The file."""
        if not url.database:
            return None
        return Path(url.database.removeprefix("file:").partition("?")[0]).expanduser()

    def may_write(self, url: sa.URL) -> bool | None:
        """Whether file and folder can be written."""
        path = self.file_of(url)
        return None if path is None else os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)

    def use_write_ahead_log(self, engine: sa.Engine) -> None:
        """The file remembers; a read-only one stays as it is."""
        connection = engine.raw_connection()
        try:
            with suppress(sqlite3.OperationalError):
                connection.cursor().execute("PRAGMA journal_mode = WAL")
        finally:
            connection.close()


def _on_connect(connection: sqlite3.Connection, record: object) -> None:
    cursor = connection.cursor()
    cursor.execute("PRAGMA cache_size = -16000")
    cursor.execute("PRAGMA synchronous = NORMAL")
    cursor.execute("PRAGMA temp_store = MEMORY")
    cursor.close()


def _on_begin(connection: sa.Connection) -> None:
    mode = connection.info.get("mode", Mode.READ)
    checked = "OFF" if mode is Mode.REBUILD else "ON"
    connection.exec_driver_sql(f"PRAGMA foreign_keys = {checked}")  # of no effect inside a transaction
    connection.exec_driver_sql("BEGIN" if mode is Mode.READ else "BEGIN IMMEDIATE")


def _prepared_url(url: sa.URL, *, writing: bool) -> sa.URL:
    database = url.database
    if not database or database == ":memory:":
        raise StoreError("an in-memory store forgets at once", "name a file: sqlite:///memory.db")
    if database.startswith("file:"):
        return url
    file = Path(database).expanduser()
    if not writing:
        return _for_reading(url, file)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(
            f"cannot make the folder of the store: {error.strerror}: {file.parent}", "name another file with --store"
        ) from error
    return url.set(database=str(file))


def _for_reading(url: sa.URL, file: Path) -> sa.URL:
    """The URL that reads a SQLite file. In WAL mode reading takes files beside it, unless it is declared immutable:
    where this process may write neither the file nor its folder, and nobody else is at work on it."""
    if os.access(file, os.W_OK) and os.access(file.parent, os.W_OK):
        return url.set(database=str(file))
    query = {"uri": "true", "mode": "ro"} | ({} if size_of(Path(f"{file}-wal")) else {"immutable": "1"})
    return url.set(database=f"file:{quote(str(file))}", query={**url.query, **query})


def size_of(file: Path) -> int | None:
    """The size of a file, None where there is none; 0 where this process may not look."""
    try:
        return file.stat().st_size
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError:
        return 0
