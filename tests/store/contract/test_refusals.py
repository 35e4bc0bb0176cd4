"""What a server refuses is said in one line, with what to do: no password in it, and no traceback."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa

from palimpsest.core.errors import StoreError
from palimpsest.core.moment import parse
from palimpsest.jobs.verify import verify
from palimpsest.queries.brief import brief
from palimpsest.queries.changes import ChangesRequest, changes
from palimpsest.queries.held import When
from palimpsest.queries.history import history
from palimpsest.queries.show import show
from palimpsest.store import answers_state, migrate
from palimpsest.store.dialects import refusals
from palimpsest.store.dialects.server import settings_of
from palimpsest.store.engine import open_store
from palimpsest.store.schema import source
from palimpsest.testing import FixedClock, NoProgress
from tests import servers
from tests.building import Memory, dataset, mcp, owners

NOW = When(now=parse("2026-03-09T00:00:00Z"))
ORDERS = dataset("orders")


@pytest.fixture
def postgres() -> Iterator[servers.Kind]:
    """A server with a user who needs a password, one who is shut out, and one who may only read."""
    try:
        kind = servers.kind("postgresql")
    except servers.MissingServer as error:
        pytest.skip(str(error))
    kind.server.execute(
        "DROP ROLE IF EXISTS careful",
        "DROP ROLE IF EXISTS shut_out",
        "CREATE ROLE careful LOGIN PASSWORD 'right'",
        "CREATE ROLE shut_out LOGIN",
    )
    return kind


def refused(url: str) -> StoreError:
    """How opening a store there fails."""
    with pytest.raises(StoreError) as caught:
        open_store(url)
    assert "wrong" not in caught.value.message.replace("the password is wrong", "")
    assert "\n" not in caught.value.message
    return caught.value


def test_a_wrong_password(postgres: servers.Kind) -> None:
    error = refused(postgres.server.tcp_url("postgres", "careful:wrong"))
    assert error.message.startswith("the password is wrong: postgresql+psycopg://careful:***@127.0.0.1:")
    assert error.hint == "put the right one into the address, or into ~/.pgpass"


def test_a_password_in_the_query_is_not_shown_either(postgres: servers.Kind) -> None:
    error = refused(postgres.server.tcp_url("postgres", "careful", "?password=wrong"))
    assert error.message.startswith("the password is wrong: ")


def test_the_right_password(postgres: servers.Kind) -> None:
    store = open_store(postgres.server.tcp_url("postgres", "careful:right"))
    assert store.read(lambda connection: connection.scalar(sa.text("SELECT current_user"))) == "careful"
    store.dispose()


def test_who_is_shut_out(postgres: servers.Kind) -> None:
    error = refused(postgres.server.tcp_url("postgres", "shut_out"))
    assert error.message.startswith("the server does not let this user in: ")


def test_a_user_that_is_none(postgres: servers.Kind) -> None:
    error = refused(postgres.server.url("postgres", user="nobody_knows"))
    assert error.message.startswith("the server does not let this user in: ")


def test_a_database_that_is_none(postgres: servers.Kind) -> None:
    error = refused(postgres.server.url("no_such"))
    assert error.message.startswith("there is no such database: ")
    assert error.hint == "make it: CREATE DATABASE …, or name another one"


def test_a_server_that_is_not_there() -> None:
    error = refused("postgresql+psycopg://me@127.0.0.1:1/base")
    assert error.message == "nothing answers at the store's address: postgresql+psycopg://me@127.0.0.1:1/base"


def test_a_host_that_is_not_known() -> None:
    error = refused("postgresql+psycopg://me@no-such-host.invalid/base")
    assert error.message.startswith("the host of the store is not known: ")


def test_a_server_without_tls(postgres: servers.Kind) -> None:
    error = refused(postgres.server.tcp_url("postgres", "careful:right", "?sslmode=require"))
    assert error.message.startswith("no agreement about TLS: ")


def test_another_driver() -> None:
    error = refused("postgresql+psycopg2://me@host/base")
    assert (error.message, error.hint) == ("the driver psycopg2 is not used here", "write postgresql+psycopg://…")


# --- what the server is -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "version", "says"),
    [
        ("postgresql", "PostgreSQL 14.9 (Debian 14.9-1) on x86_64", "PostgreSQL 14.9 is too old: x"),
        ("cockroachdb", "CockroachDB CCL v25.3.1 (x86_64-pc-linux-gnu)", "CockroachDB 25.3 is too old: x"),
        ("cockroachdb", "CockroachDB CCL v24.1.0-alpha.1 (x86_64)", "CockroachDB 24.1 is too old: x"),
    ],
)
def test_too_old_a_server(name: str, version: str, says: str) -> None:
    with pytest.raises(StoreError, match=says) as caught:
        refusals.check_version(name, version, "x")
    assert caught.value.hint.startswith("use ")


@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("postgresql", "PostgreSQL 15.18 (Debian)"),
        ("postgresql", "PostgreSQL 19beta1 on x86_64"),
        ("cockroachdb", "CockroachDB CCL v25.4.0 (x86_64)"),
        ("cockroachdb", "CockroachDB CCL v26.3.0-alpha.1 (x86_64)"),
        ("cockroachdb", "a build of our own"),
    ],
)
def test_new_enough_a_server(name: str, version: str) -> None:
    refusals.check_version(name, version, "x")


def test_cockroachdb_behind_a_postgresql_address_is_used_as_what_it_is(tmp_path: Path) -> None:
    with servers.places("cockroachdb") as place:
        store = open_store(place(tmp_path, "m").replace("cockroachdb+psycopg", "postgresql"))
        facts = answers_state.engine_facts(store)
        assert (store.dialect.name, store.url.drivername) == ("cockroachdb", "cockroachdb+psycopg")
        assert (facts.name, facts.version) == ("cockroachdb", "CockroachDB CCL v26.2.2")
        store.dispose()


def test_postgresql_behind_a_cockroachdb_address_is_refused(tmp_path: Path, postgres: servers.Kind) -> None:
    with servers.places("postgresql") as place:
        error = refused(place(tmp_path, "m").replace("postgresql+psycopg", "cockroachdb"))
    assert error.message.startswith("this is no CockroachDB but PostgreSQL 18.")
    assert error.hint == "write postgresql+psycopg://…"


CLOUD = "FATAL:  {} connection to server at '1.2.3.4', port 26257 failed"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("codeUnavailable: cluster is paused", "the CockroachDB Cloud cluster is paused or disabled"),
        ("cluster busy-lynx-123 is disabled", "the CockroachDB Cloud cluster is paused or disabled"),
        ("codeBackendDown: unable to reach backend", "the CockroachDB Cloud cluster is paused or disabled"),
        ("codeParamsRoutingFailed: missing cluster identifier", "CockroachDB Cloud does not know this cluster"),
        ("cluster busy-lynx-123 not found", "CockroachDB Cloud does not know this cluster"),
        ("codeProxyRefusedConnection: connection attempt throttled", "the cluster does not let this address in"),
        ("SSL error: certificate verify failed", "the server's certificate cannot be trusted"),
    ],
)
def test_what_cockroachdb_cloud_says(text: str, says: str) -> None:
    error = refusals.explained_refusal(CLOUD.format(text), "x")
    assert error is not None
    assert error.message == f"{says}: x"
    assert error.hint


# --- addresses ----------------------------------------------------------------------------------------------------


def test_a_cloud_address_passes_through() -> None:
    text = (
        "cockroachdb+psycopg://me:pw@free.cockroachlabs.cloud:26257/base?sslmode=verify-full&options=--cluster%3Dlynx-1"
    )
    url, settings = settings_of(sa.make_url(text))
    _, given = url.get_dialect()().create_connect_args(url)
    assert given == {
        "host": "free.cockroachlabs.cloud",
        "dbname": "base",
        "user": "me",
        "password": "pw",
        "port": 26257,
        "sslmode": "verify-full",
        "options": "--cluster=lynx-1",
    } | {name: value for name, value in given.items() if name == "context"}
    assert settings == {
        "connect_timeout": 10,
        "keepalives": 1,
        "keepalives_idle": 30,
        "keepalives_interval": 10,
        "keepalives_count": 3,
        "application_name": "palimpsest",
    }


@pytest.mark.parametrize(
    ("address", "threshold"),
    [
        ("me@host/base?prepare_threshold=none", None),
        ("me@host/base?prepare_threshold=3", 3),
        ("me@host:6432/base", None),
        ("me@ep-1-pooler.example.com/base", None),
        ("me@host/base?pgbouncer=true", None),
        ("me@host:6432/base?prepare_threshold=5", 5),
    ],
)
def test_statements_are_not_prepared_behind_a_pooler(address: str, threshold: int | None) -> None:
    url, settings = settings_of(sa.make_url(f"postgresql+psycopg://{address}"))
    assert settings["prepare_threshold"] == threshold
    assert not {"prepare_threshold", "pgbouncer"} & set(url.query)


def test_a_threshold_that_is_none() -> None:
    with pytest.raises(StoreError, match="prepare_threshold=often is no number"):
        settings_of(sa.make_url("postgresql+psycopg://me@host/base?prepare_threshold=often"))


def test_what_the_address_says_wins() -> None:
    _, settings = settings_of(sa.make_url("postgresql+psycopg://me@host/base?connect_timeout=3&application_name=mine"))
    assert not {"connect_timeout", "application_name"} & set(settings)


# --- rights -------------------------------------------------------------------------------------------------------


@pytest.fixture
def filled(tmp_path: Path, postgres: servers.Kind) -> Iterator[tuple[Memory, str]]:
    """A memory with something in it, and the name of its database."""
    from tests import building

    with servers.places("postgresql") as place, building.placed(place):
        memory = Memory(tmp_path)
        memory.remember([mcp(ORDERS, "ownership", owners("jonas"))], at="2026-03-02T08:00:00Z")
        memory.remember([mcp(ORDERS, "ownership", owners("lena"))], at="2026-03-03T08:00:00Z")
        memory.store.dispose()
        yield memory, memory.store.url.database or ""
        memory.store.dispose()


def assert_answers(url: str) -> None:
    """Every question can be asked there, and nothing can be written."""
    store = open_store(url, writing=False)
    migrate.ready(store, now=NOW.now, may_write=False)
    assert len(changes(store, ChangesRequest(since="2026-01-01"), NOW).changes) == 1
    assert show(store, ORDERS, NOW) is not None
    assert history(store, ORDERS, None, None, NOW) is not None
    assert "lena" in str(brief(store, [ORDERS], 2000, NOW))
    assert verify(store, clock=FixedClock(NOW.now), progress=NoProgress()).broken == 0
    assert answers_state.bytes_on_disk(store)
    assert migrate.upgrade(store, now=NOW.now).is_current
    store.dispose()


def refusal_to_write(url: str) -> StoreError:
    """What writing there says."""
    store = open_store(url)
    with pytest.raises(StoreError) as caught:
        store.write(lambda c: c.execute(sa.insert(source), {"name": "n", "kind": "k", "origin": ""}))
    store.dispose()
    return caught.value


def test_a_user_who_may_only_read_gets_every_answer(filled: tuple[Memory, str], postgres: servers.Kind) -> None:
    _, database = filled
    postgres.execute(
        database,
        "GRANT USAGE ON SCHEMA public TO careful",
        "GRANT SELECT ON ALL TABLES IN SCHEMA public TO careful",
    )
    url = postgres.server.tcp_url(database, "careful:right")
    assert_answers(url)
    error = refusal_to_write(url)
    assert error.message.startswith("this database user may not do that: postgresql+psycopg://careful:***@")
    assert "permission denied for table source" in error.message
    assert error.hint.startswith("grant it SELECT, INSERT, UPDATE and DELETE on all tables")
    postgres.execute(database, "DROP OWNED BY careful")


def test_a_database_that_is_read_only_gives_every_answer(filled: tuple[Memory, str], postgres: servers.Kind) -> None:
    memory, database = filled
    postgres.execute(database, f"ALTER DATABASE {database} SET default_transaction_read_only = on")
    assert_answers(memory.url)
    error = refusal_to_write(memory.url)
    assert error.message.startswith("the database is read-only: ")
    assert error.hint == "name the primary server in --store; questions can be asked here"


def test_a_user_who_may_not_make_tables(postgres: servers.Kind) -> None:
    database = postgres.make(migrated=False)
    store = open_store(postgres.server.tcp_url(database, "careful:right"))
    with pytest.raises(StoreError, match="this database user may not do that") as caught:
        migrate.upgrade(store, now=NOW.now)
    assert "db upgrade needs the schema's owner" in caught.value.hint
    store.dispose()
    postgres.drop(database)


def test_a_user_who_may_not_add_extensions_migrates_all_the_same(postgres: servers.Kind) -> None:
    database = postgres.make(migrated=False)
    postgres.execute(database, "DROP EXTENSION IF EXISTS vector", "GRANT ALL ON SCHEMA public TO careful")
    store = open_store(postgres.server.tcp_url(database, "careful:right"))
    migrate.upgrade(store, now=NOW.now)
    assert migrate.status(store).is_current
    assert not answers_state.engine_facts(store).vectors
    store.dispose()
    postgres.drop(database)


def test_a_server_that_restarts_is_waited_for(filled: tuple[Memory, str], postgres: servers.Kind) -> None:
    memory, _ = filled
    assert memory.store.read(lambda c: c.scalar(sa.select(sa.func.count()).select_from(source))) == 1
    postgres.server.stop()
    postgres.server.start()
    memory.remember([mcp(ORDERS, "ownership", owners("mia"))], at="2026-03-04T08:00:00Z")
    assert len(changes(memory.store, ChangesRequest(since="2026-01-01"), NOW).changes) == 2


def test_a_lock_that_never_goes_is_no_reason_to_wait_for_ever(filled: tuple[Memory, str]) -> None:
    memory, _ = filled
    calls: list[int] = []

    def work(connection: sa.Connection) -> None:
        calls.append(1)
        raise sa.exc.OperationalError("", {}, psycopg.errors.DeadlockDetected("deadlock detected"))

    store = open_store(memory.url, patience=0.3)
    with pytest.raises(StoreError, match="others kept locking the same rows"):
        store.write(work)
    assert len(calls) > 1
    store.dispose()
