"""What the rest of the store asks of a database without naming it: how to open it, what its errors mean, what it is.

One small class for each database is beside this; only they, the types and the compilers of `@compiles` know names.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from typing import ClassVar, NamedTuple

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, OperationalError

from palimpsest.core.errors import StoreError

_SECRETS_IN_QUERY = ("password", "sslpassword")


class Mode(Enum):
    """What a transaction is for. LEASED: it writes what a lease, whose rows it changes first, keeps others out of.

    REBUILD: a table that others refer to may be made anew in it.
    """

    READ = "read"
    WRITE = "write"
    LEASED = "leased"
    REBUILD = "rebuild"


class Facts(NamedTuple):
    """What the database at hand is and can; None where the question makes no sense."""

    name: str
    version: str
    journal_mode: str | None
    full_text: bool | None
    vectors: bool


class Dialect(ABC):
    """One kind of database."""

    name: ClassVar[str]
    is_embedded: ClassVar[bool] = False  # a file of this machine, which migrates itself
    steps_can_be_undone: ClassVar[bool] = True  # DDL is part of a transaction

    @abstractmethod
    def engine(self, url: sa.URL, *, writing: bool, patience: float) -> sa.Engine:
        """The engine with its connection settings. Raises StoreError where it cannot be made."""

    def prepared(self, connection: sa.Connection, mode: Mode) -> sa.Connection:
        """A connection as a transaction of this kind needs it, before it begins."""
        connection.info.update(mode=mode, dialect=self)
        return connection

    def finish(self, connection: sa.Connection, mode: Mode) -> object | None:
        """What is to be done last before COMMIT; gives a mark by which to ask later whether COMMIT took place."""
        return None

    def landed(self, connection: sa.Connection, mark: object) -> bool | None:
        """Whether the transaction with that mark was committed. None: not decided yet."""
        return False

    def copied(
        self, connection: sa.Connection, table: sa.Table, names: Sequence[str], rows: Sequence[Sequence[object]]
    ) -> bool:
        """Insert rows by a way of the database's own; False where it has none for these columns."""
        return False

    def plan_for_values(self, connection: sa.Connection) -> None:  # noqa: B027 - most do so anyway
        """From here to its end, have each statement of the transaction planned for the values that it is given."""

    def settling(self, table: str, index: str, *, many: bool) -> Sequence[str]:
        """Statements that bring a table and its index of words in order once rows were written; `many` in one go."""
        return ()

    @abstractmethod
    def limit(self, connection: sa.Connection, milliseconds: int) -> None:
        """Let the transaction that has just begun only read, and break it off after so long."""

    def shed(self, engine: sa.Engine, table: str) -> bool | None:
        """Write an embedded store anew, with the index of words of that table, so that no byte of what was deleted is
        left. False where others who are at work on it keep old bytes alive; None for a server, which frees them itself.
        """
        return None

    @abstractmethod
    def is_conflict(self, error: DBAPIError) -> bool:
        """Whether the same transaction, run again from its start, may succeed."""

    def is_duplicate(self, error: DBAPIError) -> bool:
        """Whether a row was refused that another transaction may have written since this one began to read."""
        return False

    def is_ambiguous(self, error: DBAPIError) -> bool:
        """Whether a COMMIT that ended so may have taken place all the same."""
        return False

    @abstractmethod
    def explain(self, error: DBAPIError, url: sa.URL) -> StoreError:
        """One line for a driver's failure, with what to do about it."""

    @abstractmethod
    def facts(self, connection: sa.Connection) -> Facts:
        """What the database is and can."""

    @abstractmethod
    def bytes_used(self, connection: sa.Connection) -> int | None:
        """The size of the database with what goes with it; None where the database does not tell."""

    def file_of(self, url: sa.URL) -> Path | None:
        """The file of an embedded store, None for a server."""
        return None

    def may_write(self, url: sa.URL) -> bool | None:
        """Whether the file of an embedded store and its folder can be written; None for a server."""
        return None

    def use_write_ahead_log(self, engine: sa.Engine) -> None:  # noqa: B027 - most have nothing to do
        """Let readers not wait for the writer, where that has to be asked for."""


def shown(url: sa.URL) -> str:
    """A database address without its secrets."""
    hidden = {name: "***" for name in _SECRETS_IN_QUERY if name in url.query}
    return url.update_query_dict(hidden).render_as_string(hide_password=True)


def one_line(error: BaseException, most: int = 300) -> str:
    """A driver's message as one line."""
    return " ".join(str(error).split())[:most]


def unexplained(error: DBAPIError, url: sa.URL) -> StoreError:
    """A failure that no dialect has words for."""
    text = one_line(error.orig) if error.orig is not None else one_line(error)
    if isinstance(error, OperationalError):
        hint = "is the database running, and the address right?"
        return StoreError(f"the store cannot be used: {shown(url)}: {text}", hint)
    return StoreError(f"the store refused a statement: {text}", "run: palimpsest verify")
