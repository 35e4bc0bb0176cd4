"""Who may migrate a server: one process at a time, by a row with an end, since CockroachDB has no advisory locks.

The row's times are the server's own. The table is no part of the schema, as Alembic's own is none.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.exc import DBAPIError

from palimpsest.core.errors import StoreError
from palimpsest.store import runs
from palimpsest.store.dialects.cockroachdb import operational
from palimpsest.store.engine import Store

schema_lock = sa.Table(
    "schema_lock",
    operational,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("holder", sa.Text, nullable=False),
    sa.Column("until", sa.DateTime(timezone=True), nullable=False),
)
OPERATIONAL = frozenset(operational.tables)  # tables of a server that are none of the schema's

_RENEWED_EVERY_S = 20.0
_ENDS = sa.text("now() + INTERVAL '2 minutes'")
_GIVEN = insert(schema_lock).values(id=1, holder=sa.bindparam("of_holder"), until=_ENDS)
_TAKE = _GIVEN.on_conflict_do_update(
    index_elements=[schema_lock.c.id],
    set_={"holder": _GIVEN.excluded.holder, "until": _GIVEN.excluded.until},
    where=sa.or_(schema_lock.c.until < sa.func.now(), schema_lock.c.holder == _GIVEN.excluded.holder),
).returning(schema_lock.c.holder)


@contextmanager
def held(store: Store, *, holder: str | None = None) -> Iterator[None]:
    """The right to migrate, renewed while the block runs. Raises StoreError when another process keeps it too long."""
    name = f"{holder or runs.this_process()}:{threading.get_ident()}"
    _make_tables(store)
    _take(store, name)
    done = threading.Event()
    renewing = threading.Thread(target=_renew, args=(store, name, done), daemon=True)
    renewing.start()
    try:
        yield
    finally:
        done.set()
        renewing.join()
        with suppress(StoreError):  # a lost server frees the row by its end
            store.write(lambda connection: connection.execute(sa.delete(schema_lock).where(_is_of(name))))


def _is_of(holder: str) -> sa.ColumnElement[bool]:
    return schema_lock.c.holder == holder


def _make_tables(store: Store) -> None:
    """Two processes that make one table at once: one of them is refused, and finds it at its next try."""
    with store.translated():
        for is_last in (False, False, True):
            try:
                with store.engine.connect() as connection:
                    straight = connection.execution_options(isolation_level="AUTOCOMMIT")
                    found = sa.inspect(straight).get_table_names()
                    for table in operational.sorted_tables:
                        if table.name not in found:
                            straight.execute(sa.schema.CreateTable(table, if_not_exists=True))
                            for index in table.indexes:
                                straight.execute(sa.schema.CreateIndex(index, if_not_exists=True))
                return
            except DBAPIError as error:
                if is_last or not (store.dialect.is_duplicate(error) or store.dialect.is_conflict(error)):
                    raise


def _take(store: Store, holder: str) -> None:
    until = time.monotonic() + store.patience
    while store.write(lambda connection: connection.scalar(_TAKE, {"of_holder": holder})) is None:
        other = store.read(lambda connection: connection.scalar(sa.select(schema_lock.c.holder)))
        if other is not None and runs.is_dead(other.rpartition(":")[0]):
            store.write(lambda connection, other=other: connection.execute(sa.delete(schema_lock).where(_is_of(other))))  # type: ignore[misc]
            continue
        if time.monotonic() > until:
            machine, _, rest = (other or "?").partition(":")
            raise StoreError(
                f"the store is being migrated by process {rest.partition(':')[0]} on {machine}: {store.shown}",
                "wait for it to end; a dead one's place is free after two minutes",
            )
        time.sleep(0.2)


def _renew(store: Store, holder: str, done: threading.Event) -> None:
    while not done.wait(_RENEWED_EVERY_S):
        with suppress(StoreError):
            store.write(
                lambda connection: connection.execute(sa.update(schema_lock).where(_is_of(holder)).values(until=_ENDS))
            )
