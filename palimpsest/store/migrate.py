"""Bringing a store's tables to the schema of this version, by the Alembic revisions that ship with it.

The embedded default migrates itself; a server is migrated by `palimpsest db upgrade`, and jobs refuse
one that is behind.
"""

from __future__ import annotations

import secrets
import threading
from dataclasses import dataclass

import sqlalchemy as sa

from palimpsest import shipped
from palimpsest.core.errors import StoreError
from palimpsest.core.moment import Moment
from palimpsest.store.engine import Store
from palimpsest.store.schema import store as store_table

_ALEMBIC_IS_NOT_THREAD_SAFE = threading.Lock()
LOADING = "loading:"  # begins what stands in place of the revision while a dump is loaded: no version works on that


@dataclass(frozen=True, slots=True, kw_only=True)
class MigrationStatus:
    """Where a store stands: the revision it is at (None: empty), the newest, and those to come."""

    at: str | None
    newest: str
    pending: tuple[str, ...]

    @property
    def is_current(self) -> bool:
        """Whether nothing is to be done."""
        return self.at == self.newest


def revisions() -> tuple[str, ...]:
    """Every revision that ships, oldest first: the numbers that the revision files begin with."""
    files = sorted((shipped.folder("migrations") / "versions").glob("[0-9]*.py"))
    return tuple(file.name.partition("_")[0] for file in files)


def status(store: Store) -> MigrationStatus:
    """Where the store stands. Raises StoreError when it is at a revision that this version does not know."""
    if store.is_missing:
        return MigrationStatus(at=None, newest=revisions()[-1], pending=revisions())
    return store.read(lambda connection: _status(connection, store))


def _status(connection: sa.Connection, store: Store) -> MigrationStatus:
    at: str | None = None
    tables = sa.inspect(connection).get_table_names()
    if "alembic_version" in tables:
        at = connection.scalar(sa.text("SELECT version_num FROM alembic_version"))
    if at is not None and at.startswith(LOADING):
        raise StoreError(
            f"a load into the store is at work, or did not end: {store.shown}",
            "wait for it to end; one that was broken off starts again with: palimpsest load --again FILE",
        )
    known = revisions()
    if tables and store_table.name not in tables and (at is not None or store.dialect.is_embedded):
        what = f"{store.shown} is the database of something else: it has a table {min(tables)}"
        raise StoreError(what, "name another one")
    if at is not None and at not in known:
        raise StoreError(
            f"the store is at revision {at}, which this version does not know", "upgrade palimpsest: the store is newer"
        )
    done = known.index(at) + 1 if at is not None else 0
    return MigrationStatus(at=at, newest=known[-1], pending=known[done:])


def upgrade(store: Store, *, now: Moment, secret: bytes | None = None) -> MigrationStatus:
    """Bring the store to the newest revision, and give a new one its secret (a random one unless given).

    An embedded store does all of it in one transaction. A server is migrated by one process at a time, a transaction
    a revision, or each step on its own where the database does not undo steps; what was begun is completed.
    """
    before = status(store)  # raises where the database is not ours, before anything in it changes
    store.use_write_ahead_log()
    with _ALEMBIC_IS_NOT_THREAD_SAFE:
        if store.dialect.is_embedded:
            before = store.rebuild(lambda connection: _upgrade(connection, store))
        elif not before.is_current:
            from palimpsest.store import migration_lease  # what it needs of SQLAlchemy is nothing to SQLite

            with migration_lease.held(store):
                before = _upgrade_server(store)
            store.dispose()  # its connections know statements that were prepared for the tables as they were
    if store.read(_secret) is None:
        store.write(lambda connection: _set_up(connection, now, secret))
    return before


def _upgrade_server(store: Store) -> MigrationStatus:
    """Every step may be repeated: after a conflict, all begins again at the revision that is noted."""
    first: MigrationStatus | None = None
    with store.translated():
        for attempt in store.attempts():
            with attempt, store.engine.connect() as fresh:
                level = {} if store.dialect.steps_can_be_undone else {"isolation_level": "AUTOCOMMIT"}
                connection = fresh.execution_options(**level)
                found = _upgrade(connection, store)
                first = first or found
    assert first is not None
    return first


def _upgrade(connection: sa.Connection, store: Store) -> MigrationStatus:
    before = _status(connection, store)
    if not store.dialect.is_embedded:
        connection.commit()  # or Alembic would leave committing to us
    if not before.is_current:
        from alembic import command
        from alembic.config import Config

        config = Config()
        config.set_main_option("script_location", str(shipped.folder("migrations")).replace("%", "%%"))
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
    return before


def _secret(connection: sa.Connection) -> bytes | None:
    return connection.scalar(sa.select(store_table.c.secret))


def _set_up(connection: sa.Connection, now: Moment, secret: bytes | None) -> None:
    if _secret(connection) is None:
        row = {"id": 1, "secret": secret or secrets.token_bytes(16), "created_at": now}
        connection.execute(sa.insert(store_table), row)


def ready(store: Store, *, now: Moment, may_write: bool) -> None:
    """Make sure that the store can be used: migrate the embedded default, refuse a server that is behind.

    `may_write` False is for surfaces that only read: an empty or outdated store is then an error too.
    Raises StoreError.
    """
    found = status(store)
    if found.is_current:
        return
    if store.dialect.is_embedded and may_write:
        upgrade(store, now=now)
        return
    what = "is empty" if found.at is None else f"is at revision {found.at}, {len(found.pending)} behind"
    hint = "run: palimpsest scan" if found.at is None and store.dialect.is_embedded else "run: palimpsest db upgrade"
    raise StoreError(f"the store {what}: {store.shown}", hint)
