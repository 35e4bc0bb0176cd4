"""What PostgreSQL and CockroachDB share: the driver, the connection settings, and asking a server what it is."""

from __future__ import annotations

import logging
import re
from typing import Any, ClassVar

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from palimpsest.core.errors import StoreError
from palimpsest.store.dialects import refusals
from palimpsest.store.dialects.dialect import Dialect, Mode, one_line, shown, unexplained

# Conflicts with others (40…), deadlock and lock timeout, the server going down or coming up, its files out of reach,
# and no connection left. Class 08 is a lost connection.
_AGAIN = frozenset({"40001", "40003", "40P01", "55P03", "57P01", "57P02", "57P03", "58C00", "58C01", "53300"})
_UNKNOWN_OUTCOME = frozenset({"40003", "57P01", "57P02", "57P03", "58C00", "58C01"})
_WRITES_AT = "SERIALIZABLE"
_DUPLICATE = "23505"
_CONNECTION = {  # a peer that is gone is noticed within a minute
    "connect_timeout": 10,
    "keepalives": 1,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "application_name": "palimpsest",
}
_POOLED = re.compile(r"pooler|pgbouncer", re.IGNORECASE)
_POOLED_PORT = 6432


class Server(Dialect):
    """A database behind a network."""

    driver: ClassVar[str]
    extra: ClassVar[str]
    reads_at: ClassVar[str]  # the isolation of a transaction that only reads; one that writes is serializable
    leased_at: ClassVar[str] = _WRITES_AT  # and of one that a lease keeps others out of

    def engine(self, url: sa.URL, *, writing: bool, patience: float) -> sa.Engine:
        """An engine whose connections are checked before use and renewed after five minutes."""
        url, settings = settings_of(url)
        logging.getLogger("psycopg").setLevel(logging.ERROR)  # a connection that broke is explained, or tried again
        engine = sa.create_engine(
            url, pool_pre_ping=True, pool_recycle=300, isolation_level=_WRITES_AT, connect_args=settings
        )
        sa.event.listen(engine, "connect", _on_connect)
        return engine

    def prepared(self, connection: sa.Connection, mode: Mode) -> sa.Connection:
        """Isolation and READ ONLY go out with BEGIN; neither costs a round trip."""
        return (
            super()
            .prepared(connection, mode)
            .execution_options(
                isolation_level={Mode.READ: self.reads_at, Mode.LEASED: self.leased_at}.get(mode, _WRITES_AT),
                postgresql_readonly=True if mode is Mode.READ else None,  # None: as the database has it
            )
        )

    def limit(self, connection: sa.Connection, milliseconds: int) -> None:
        """Each statement on its own is broken off."""
        connection.exec_driver_sql("SET TRANSACTION READ ONLY")
        connection.exec_driver_sql(f"SET LOCAL statement_timeout = {milliseconds}")

    def is_conflict(self, error: DBAPIError) -> bool:
        """By SQLSTATE; an error without one is a connection that broke, or that could not be made."""
        state = sqlstate(error)
        if state is None:
            return refusals.is_passing(error)
        return state in _AGAIN or state.startswith("08")

    def is_duplicate(self, error: DBAPIError) -> bool:
        """A unique key."""
        return sqlstate(error) == _DUPLICATE

    def is_ambiguous(self, error: DBAPIError) -> bool:
        """The connection was lost, or the server says that it does not know."""
        state = sqlstate(error)
        if state is None:
            return error.connection_invalidated or isinstance(error, sa.exc.OperationalError)
        return state in _UNKNOWN_OUTCOME or state.startswith("08")

    def explain(self, error: DBAPIError, url: sa.URL) -> StoreError:
        """By SQLSTATE, and by the words of a refused connection, which carries none."""
        return refusals.explained(sqlstate(error), error, shown(url)) or unexplained(error, url)


def sqlstate(error: DBAPIError) -> str | None:
    """The SQLSTATE that the server gave."""
    found = getattr(error.orig, "sqlstate", None)
    return str(found) if found else None


def settings_of(url: sa.URL) -> tuple[sa.URL, dict[str, Any]]:
    """A URL as SQLAlchemy takes it, and the settings of its connections; what the URL itself sets wins.

    `prepare_threshold=none` (or a number of uses) says when statements are prepared on the server. Behind a pooler
    they are not, unless it says otherwise.
    """
    settings: dict[str, Any] = {name: value for name, value in _CONNECTION.items() if name not in url.query}
    asked = url.query.get("prepare_threshold")
    is_pooled = url.query.get("pgbouncer") == "true" or url.port == _POOLED_PORT or bool(_POOLED.search(url.host or ""))
    if asked is not None:
        text = str(asked).lower()
        if text != "none" and not text.isdigit():
            raise StoreError(
                f"prepare_threshold={asked} is no number", "write prepare_threshold=none, or how many uses"
            )
        settings["prepare_threshold"] = None if text == "none" else int(text)
    elif is_pooled:
        settings["prepare_threshold"] = None
    return url.difference_update_query(["prepare_threshold", "pgbouncer"]), settings


def _on_connect(connection: Any, record: object) -> None:
    from palimpsest.store.dialects import adapters

    adapters.register(connection)


def opened(url: sa.URL, *, writing: bool, patience: float) -> tuple[Dialect, sa.URL, sa.Engine]:
    """The dialect that the server at an address speaks, the address as it is used, and an engine. Raises StoreError."""
    from palimpsest.store.dialects.cockroachdb import CockroachDB
    from palimpsest.store.dialects.postgresql import PostgreSQL

    named = CockroachDB if url.get_backend_name() == "cockroachdb" else PostgreSQL
    driver = url.drivername.partition("+")[2]
    if driver not in ("", "psycopg"):
        raise StoreError(f"the driver {driver} is not used here", f"write {named.driver}://…")
    try:
        version, parameter = _asked(url.set(drivername=PostgreSQL.driver))
        is_cockroach = parameter or version.startswith("CockroachDB")
        spoken: Server = CockroachDB() if is_cockroach else PostgreSQL()
        if named is CockroachDB and not is_cockroach:
            raise StoreError(f"this is no CockroachDB but {version.partition(' (')[0]}: {shown(url)}",
                             f"write {PostgreSQL.driver}://…")  # fmt: skip
        refusals.check_version(spoken.name, version, shown(url))
        used = url.set(drivername=spoken.driver)
        return spoken, used, spoken.engine(used, writing=writing, patience=patience)
    except (ImportError, sa.exc.NoSuchModuleError) as error:
        hint = f"install it: pip install 'datahub-palimpsest[{named.extra}]'"
        raise StoreError(f"no driver for {named.name} is installed", hint) from error


def _asked(url: sa.URL) -> tuple[str, bool]:
    """What a server says it is: its version, and whether it told the driver that it is CockroachDB."""
    import psycopg

    url, settings = settings_of(url)
    arguments, options = url.get_dialect()().create_connect_args(url)
    try:
        with psycopg.connect(*arguments, **{**settings, **options}, autocommit=True) as connection:
            (version,) = connection.execute("SELECT version()").fetchone() or ("",)
            return str(version), bool(connection.info.parameter_status("crdb_version"))
    except psycopg.Error as error:
        found = refusals.explained_refusal(one_line(error, 2_000), shown(url))
        hint = "is the database running, and the address right?"
        raise found or StoreError(f"the store cannot be used: {shown(url)}: {one_line(error)}", hint) from error
    except psycopg.Warning as error:  # pragma: no cover - libpq's own notices
        raise StoreError(f"the store cannot be used: {shown(url)}: {one_line(error)}") from error
