"""CockroachDB 25.4 and newer, through psycopg 3. Readers and writers are serializable; DDL commits at once.

A COMMIT whose outcome is unknown (40003, a lost connection) is looked up in a row that the transaction itself wrote,
one for each thread that writes: without it, running a transaction again could do its work twice.
"""

from __future__ import annotations

import threading
import uuid

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from palimpsest.store.dialects.dialect import Facts, Mode
from palimpsest.store.dialects.server import Server
from palimpsest.store.types import Id

operational = sa.MetaData()
commit_mark = sa.Table(
    "commit_mark",
    operational,
    sa.Column("id", Id, primary_key=True),
    sa.Column("number", sa.BigInteger, nullable=False),
    sa.Column("at", sa.DateTime(timezone=True), nullable=False, server_default=sa.func.now()),
    sa.Index("ix_commit_mark_at", "at"),
)


_OLD = sa.text("at < now() - INTERVAL '1 day'")
_DROP_OLD_MARKS = sa.delete(commit_mark).where(commit_mark.c.id.in_(sa.select(commit_mark.c.id).where(_OLD).limit(100)))


class CockroachDB(Server):
    """CockroachDB."""

    name = "cockroachdb"
    driver = "cockroachdb+psycopg"
    extra = "cockroachdb"
    steps_can_be_undone = False
    reads_at = "SERIALIZABLE"

    def __init__(self) -> None:
        self._local = threading.local()

    def finish(self, connection: sa.Connection, mode: Mode) -> object | None:
        """Write the next number into this thread's row."""
        if mode is Mode.READ:
            return None
        if not hasattr(self._local, "id"):
            self._local.id, self._local.number = uuid.uuid4().bytes, 0
            connection.execute(_DROP_OLD_MARKS)
        self._local.number += 1
        mark: tuple[bytes, int] = (self._local.id, self._local.number)
        connection.execute(_WRITE_MARK, {"id": mark[0], "number": mark[1]})
        return mark

    def landed(self, connection: sa.Connection, mark: object) -> bool | None:
        """Whether the row has the number."""
        assert isinstance(mark, tuple)
        found = connection.scalar(sa.select(commit_mark.c.number).where(commit_mark.c.id == mark[0]))
        return bool(found == mark[1])

    def facts(self, connection: sa.Connection) -> Facts:
        """Version; vectors are built in."""
        version = str(connection.exec_driver_sql("SELECT version()").scalar() or "").partition(" (")[0]
        return Facts(self.name, version, None, None, vectors=True)

    def bytes_used(self, connection: sa.Connection) -> int | None:
        """CockroachDB does not tell an ordinary user."""
        return None


_GIVEN = insert(commit_mark)
_WRITE_MARK = _GIVEN.on_conflict_do_update(
    index_elements=[commit_mark.c.id], set_={"number": _GIVEN.excluded.number, "at": sa.func.now()}
)
