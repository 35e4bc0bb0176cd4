"""Opening a store and running transactions on it: each a callable without side effects, retried whole from its start.

What differs between databases is behind `dialects`.
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import sqlalchemy as sa
import stamina
from sqlalchemy.exc import DBAPIError

from palimpsest.core.errors import StoreError
from palimpsest.core.ids import Ids
from palimpsest.store import dialects
from palimpsest.store.dialects.dialect import Dialect, Mode, shown
from palimpsest.store.dialects.sqlite import size_of
from palimpsest.store.schema import store as store_table

stamina.instrumentation.set_on_retry_hooks(())  # a retry is no news; unset, it is logged to stdout, which is for data

Result = TypeVar("Result")
Connection = sa.Connection  # what a transaction hands to its callable; jobs name it from here

PATIENCE_S = 60.0  # how long a transaction waits for others before it gives up
_MOST_DUPLICATES = 3  # a row written by somebody else meanwhile is found by the next attempt; one of ours never goes


class Store:
    """An open store: its engine, and the ids that its secret makes."""

    def __init__(self, engine: sa.Engine, url: sa.URL, dialect: Dialect, *, patience: float = PATIENCE_S) -> None:
        self.engine = engine
        self.url = url
        self.dialect = dialect
        self.patience = patience
        self._ids: Ids | None = None
        weakref.finalize(self, engine.dispose)  # a store that is let go closes its connections

    @property
    def is_missing(self) -> bool:
        """Whether this is a SQLite file that is not there yet: connecting would make it."""
        file = self.dialect.file_of(self.url)
        return file is not None and not (self.url.database or "").startswith("file:") and size_of(file) is None

    @property
    def shown(self) -> str:
        """Its address, without a password."""
        return shown(self.url)

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
        return self._run(work, Mode.WRITE)

    def write_leased(self, work: Callable[[sa.Connection], Result]) -> Result:
        """Run `work` in one write transaction that begins by changing the rows of a lease, which keeps others out.

        Where full serializability costs conflicts with others' work on other rows, a snapshot is enough for it.
        """
        return self._run(work, Mode.LEASED)

    def read(self, work: Callable[[sa.Connection], Result]) -> Result:
        """Run `work` in one read transaction."""
        return self._run(work, Mode.READ)

    def rebuild(self, work: Callable[[sa.Connection], Result]) -> Result:
        """Run `work` in one write transaction in which SQLite lets a table that others refer to be made anew.

        Foreign keys are checked at its end. Raises StoreError when a row then refers to nothing.
        """
        return self._run(work, Mode.REBUILD)

    def _run(self, work: Callable[[sa.Connection], Result], mode: Mode) -> Result:
        with self.translated():
            for attempt in self.attempts():
                with attempt:
                    return self._attempt(work, mode)
        raise AssertionError("a retried transaction neither returned nor raised")

    def attempts(self) -> Iterable[stamina.Attempt]:
        """Attempts at something that can be done again from its start: more of them on a conflict, not for ever."""
        duplicates = 0

        def is_worth_another(error: Exception) -> bool:
            nonlocal duplicates
            if not isinstance(error, DBAPIError):
                return False
            if self.dialect.is_duplicate(error):
                duplicates += 1
                return duplicates < _MOST_DUPLICATES
            return self.dialect.is_conflict(error)

        return stamina.retry_context(
            on=is_worth_another, attempts=None, timeout=self.patience, wait_initial=0.02, wait_max=2, wait_jitter=0.1
        )

    def _attempt(self, work: Callable[[sa.Connection], Result], mode: Mode) -> Result:
        """Run `work` once. A COMMIT whose answer was lost is looked up: its work must not be done twice."""
        mark: object | None = None
        try:
            with self.engine.connect() as fresh:
                connection = self.dialect.prepared(fresh, mode)
                with connection.begin():
                    result = work(connection)
                    mark = self.dialect.finish(connection, mode)
            return result
        except DBAPIError as error:
            if mark is None or not self.dialect.is_ambiguous(error) or not self._landed(mark):
                raise
            return result

    def _landed(self, mark: object) -> bool:
        """Whether the transaction with that mark was committed. Waits until the database has decided."""
        until = time.monotonic() + self.patience
        while (found := self._run(lambda connection: self.dialect.landed(connection, mark), Mode.READ)) is None:
            if time.monotonic() > until:
                raise StoreError(f"whether the last step was written cannot be told: {self.shown}", "run again")
            time.sleep(0.05)
        return found

    @contextmanager
    def translated(self) -> Iterator[None]:
        """Turns a driver's failure into a StoreError with one line and a hint."""
        try:
            yield
        except DBAPIError as error:
            raise self.dialect.explain(error, self.url) from error

    def use_write_ahead_log(self) -> None:
        """Let readers of a SQLite file not wait for its writer."""
        with self.translated():
            self.dialect.use_write_ahead_log(self.engine)

    def dispose(self) -> None:
        """Close every pooled connection."""
        self.engine.dispose()


def open_store(url: str, *, writing: bool = True, patience: float = PATIENCE_S) -> Store:
    """Open the store at an SQLAlchemy URL; the folder of a SQLite file is made if it is missing. Migrates nothing.

    Not `writing`: nothing is made, and a file that may only be read is enough. `patience` is in seconds.
    Raises StoreError for a URL that is none, a missing driver, a server that does not let us in or is too old,
    or a file that cannot be opened.
    """
    try:
        parsed = sa.make_url(url)
    except sa.exc.ArgumentError as error:
        raise StoreError(f"{url!r} is no database address", "write sqlite:///memory.db") from error
    dialect, parsed, engine = dialects.opened(parsed, writing=writing, patience=patience)
    return Store(engine, parsed, dialect, patience=patience)
