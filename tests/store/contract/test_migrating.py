"""Servers are migrated step by step, by one process at a time; what was begun is completed, and nothing is lost."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext

from palimpsest import shipped
from palimpsest.core.errors import StoreError
from palimpsest.core.moment import parse
from palimpsest.store import migrate, migration_lease, runs
from palimpsest.store.engine import Store, open_store
from palimpsest.store.schema import is_ours, metadata
from tests import servers
from tests.robustness.command import ROOT
from tests.store.contract.catalog import described

NOW = parse("2026-03-01")
REVISIONS = migrate.revisions()
BY_WHAT_THE_SERVER_CAN = "passage_vector"
FEW = set(REVISIONS[::9]) | set(REVISIONS[-2:-1])
ID = [bytes([number]) * 16 for number in range(9)]
ROWS: dict[str, dict[str, Any]] = {
    "store": {"id": 1, "secret": b"s" * 16, "created_at": 1},
    "source": {"name": "file", "kind": "file", "origin": "file"},
    "run": {
        "id": ID[1], "job": "scan", "source": "file", "state": "done", "holder": "h", "beat_at": 1, "started_at": 1,
        "complete": True, "rules": "1", "written": 1, "founded": 1,
    },
    "entity": {"id": ID[2], "urn": "urn:x", "kind": "dataset", "platform": "p", "name": "é \U0001f40d"},
    "part": {"entity_id": ID[2], "source": "file", "part": "status", "digest": b"d", "ordinal": 0, "cells": 1},
    "cell": {
        "id": ID[3], "entity_id": ID[2], "source": "file", "observer": "", "aspect": "tags", "key": "",
        "part": "status", "belief_id": ID[4], "digest": b"\0\xff", "last": 1,
    },
    "episode": {
        "cell_id": ID[3], "number": 1, "run_id": ID[1], "observed_at": 1, "kind": "first", "impact": 0,
        "baseline": True, "value": '{"a": "é"}', "verdict": "open",
    },
    "version": {
        "belief_id": ID[4], "number": 1, "state": "current", "cell_id": ID[3], "episode": 1, "valid_from": 1,
        "recorded_at": 1, "run_id": ID[1], "judge": "rules", "reason": "first seen",
    },
    "evidence": {
        "belief_id": ID[4], "number": 1, "cell_id": ID[3], "episode": 1, "role": "bears_out", "judge": "rules",
        "recorded_at": 1,
    },
    "choice": {
        "cell_id": ID[3], "episode": 1, "run_id": ID[1], "judge": "rules", "sure": True, "chosen_at": 1,
    },
    "working": {
        "task": "t", "key": "k", "value": "é", "observer": "agent:bot", "put_at": 1, "expires_at": 2,
    },
    "notice_cursor": {"rule": "owners", "recipient": ID[1], "since": 1, "position": 2},
    "notice_sent": {"rule": "owners", "recipient": ID[1], "cell_id": ID[3], "number": 1, "at": 1},
    "erased": {"digest": b"\0d", "pseudonym": "urn:li:corpuser:erased-1", "erased_at": 1},
    "edge": {"upstream_id": ID[2], "column": "", "belief_id": ID[4], "downstream_column": ""},
    "publication": {
        "target": "t", "entity_id": ID[2], "url": "u", "label": "l", "revisions": 0, "published_at": 1,
    },
}  # fmt: skip


@pytest.fixture
def database(server: str) -> Iterator[str]:
    """The name of an empty database."""
    kind = servers.kind(server)
    name = kind.make(migrated=False)
    yield name
    kind.drop(name)


@pytest.fixture
def store(server: str, database: str) -> Iterator[Store]:
    """A store that nothing was done to."""
    store = open_store(servers.kind(server).url(database), patience=20)
    yield store
    store.dispose()


def at_revision(store: Store, revision: str) -> None:
    """Bring a store to an earlier revision, as the code of that time did."""
    config = Config()
    config.set_main_option("script_location", str(shipped.folder("migrations")))
    level = {} if store.dialect.steps_can_be_undone else {"isolation_level": "AUTOCOMMIT"}
    with migration_lease.held(store), store.engine.connect() as connection:
        config.attributes["connection"] = connection.execution_options(**level)
        command.upgrade(config, revision)


Held = dict[str, dict[str, Any]]


def fill(store: Store) -> Held:
    """A row in each table that is there, in the columns that it has by then."""

    def work(connection: sa.Connection) -> Held:
        inspector = sa.inspect(connection)
        made = ROWS.keys() & set(inspector.get_table_names())
        present = {name: {one["name"] for one in inspector.get_columns(name)} for name in made}
        rows = {
            table.name: {key: value for key, value in ROWS[table.name].items() if key in present[table.name]}
            for table in metadata.sorted_tables
            if table.name in present
        }
        for name, row in rows.items():
            connection.execute(sa.insert(metadata.tables[name]), row)
        return rows

    filled = store.write(work)
    assert kept(store, filled) == filled
    return filled


def kept(store: Store, filled: Held) -> Held:
    """The one row of each table that was filled, by the columns that were."""

    def work(connection: sa.Connection) -> Held:
        return {
            name: dict(connection.execute(sa.select(*(metadata.tables[name].c[key] for key in row))).mappings().one())
            for name, row in filled.items()
        }

    return store.read(work)


def test_the_revisions_make_exactly_the_schema(store: Store) -> None:
    migrate.upgrade(store, now=NOW)

    def work(connection: sa.Connection) -> list[object]:
        def is_compared(name: str | None, kind: str, parents: object) -> bool:
            return is_ours(name) and name not in migration_lease.OPERATIONAL

        def is_another_type(context: object, inspected: object, column: Any, found: Any, wanted: Any) -> bool | None:
            spelled = wanted.compile(dialect=connection.dialect)
            if store.dialect.name == "cockroachdb" and isinstance(wanted, (sa.Text, sa.Integer)):
                return False  # reads VARCHAR for TEXT, and INT for every whole number
            return False if spelled in ("TSVECTOR", "VECTOR(384)", "BYTEA") else None

        opts = {"include_name": is_compared, "compare_type": is_another_type}
        return compare_metadata(MigrationContext.configure(connection, opts=opts), metadata)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sa.exc.SAWarning)  # types that SQLAlchemy has no name for: vector, tsvector
        assert store.read(work) == []


def test_the_revisions_make_every_column_constraint_and_index_of_the_schema(store: Store, server: str) -> None:
    """As the server spells them: names, types, collations, checks, conditions of indexes."""
    migrate.upgrade(store, now=NOW)
    kind = servers.kind(server)
    other = kind.make(migrated=False)
    straight = open_store(kind.url(other))
    tables = [table for table in metadata.sorted_tables if table.name != BY_WHAT_THE_SERVER_CAN]
    with migration_lease.held(straight), straight.engine.connect() as connection:
        metadata.create_all(connection.execution_options(isolation_level="AUTOCOMMIT"), tables=tables)
    made, wanted = (one.read(lambda c: described(c, without=BY_WHAT_THE_SERVER_CAN)) for one in (store, straight))
    straight.dispose()
    kind.drop(other)
    assert made == wanted


@pytest.mark.parametrize(
    "revision", [one if one in FEW else pytest.param(one, marks=pytest.mark.long) for one in REVISIONS]
)
def test_a_store_at_any_earlier_revision_is_upgraded_with_what_it_holds(store: Store, revision: str) -> None:
    at_revision(store, revision)
    filled = fill(store)
    status = migrate.status(store)
    assert (status.at, status.pending) == (revision, REVISIONS[REVISIONS.index(revision) + 1 :])
    migrate.upgrade(store, now=NOW)
    assert migrate.status(store).is_current
    assert kept(store, filled) == filled


def test_upgrading_again_changes_nothing(store: Store) -> None:
    first = migrate.upgrade(store, now=NOW)
    made, ids = store.read(described), store.ids
    again = migrate.upgrade(store, now=NOW)
    assert (first.at, len(first.pending)) == (None, len(REVISIONS))
    assert (again.at, again.pending, again.is_current) == (REVISIONS[-1], (), True)
    assert store.read(described) == made
    assert store.ids.entity("urn:li:dataset:x") == ids.entity("urn:li:dataset:x")


def test_steps_that_are_there_but_not_noted_are_passed_over(store: Store) -> None:
    """A migration that was killed between its step and its note, where a step is committed at once."""
    migrate.upgrade(store, now=NOW)
    made = store.read(described)
    store.write(lambda c: c.execute(sa.text("UPDATE alembic_version SET version_num = '0001'")))
    migrate.upgrade(store, now=NOW)
    assert store.read(described) == made


@pytest.mark.long
def test_a_conflict_at_any_step_is_passed(store: Store, server: str) -> None:
    steps = 0

    def fail(connection: object, cursor: object, statement: str, *rest: object) -> None:
        nonlocal steps
        if statement.lstrip().startswith(("CREATE", "ALTER", "UPDATE alembic", "INSERT INTO alembic")):
            steps += 1
            if steps % 9 == 0:
                raise sa.exc.OperationalError("", {}, psycopg.errors.SerializationFailure("restart transaction"))

    sa.event.listen(store.engine, "before_cursor_execute", fail)
    migrate.upgrade(store, now=NOW)
    sa.event.remove(store.engine, "before_cursor_execute", fail)
    assert steps > 2 * len(REVISIONS) - 20
    assert migrate.status(store).is_current


SCRIPT = """
import os, signal, sys
import sqlalchemy as sa
from palimpsest.store import migrate
from palimpsest.store.engine import open_store

def stop(connection, cursor, statement, *rest):
    if len(sys.argv) > 2 and sys.argv[2] in statement:
        os.kill(os.getpid(), signal.SIGKILL)

sa.event.listen(sa.Engine, "after_cursor_execute", stop)
store = open_store(sys.argv[1])
migrate.upgrade(store, now=1)
print(store.ids.entity("urn:x").hex())
"""


def started(store: Store, *arguments: str) -> subprocess.Popen[str]:
    """A process that migrates."""
    url = store.url.render_as_string(hide_password=False)
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT, url, *arguments], env=env, stdout=pipe, stderr=pipe, text=True
    )


def test_processes_that_migrate_at_once_all_succeed(store: Store) -> None:
    ends = [(*one.communicate(), one.returncode) for one in [started(store) for _ in range(3)]]
    assert [(err, code) for _, err, code in ends] == [("", 0)] * 3
    assert len({out for out, _, _ in ends}) == 1
    assert migrate.status(store).is_current


@pytest.mark.parametrize("step", ["EXISTS episode (", "uq_version_current", "SET version_num='0012'"])
def test_a_migration_that_was_killed_is_completed_at_once(store: Store, step: str) -> None:
    killed = started(store, step)
    killed.communicate()
    assert killed.returncode < 0
    assert not migrate.status(store).is_current
    before = migrate.upgrade(store, now=NOW)
    assert migrate.status(store).is_current
    assert (before.at or "") >= "0009"


def test_a_server_that_somebody_else_migrates_is_waited_for_but_not_for_ever(store: Store, server: str) -> None:
    with migration_lease.held(store, holder=runs.this_process()):
        impatient = open_store(store.url.render_as_string(hide_password=False), patience=0.5)
        with (
            pytest.raises(StoreError, match=f"the store is being migrated by process {os.getpid()} on "),
            migration_lease.held(impatient, holder="elsewhere:1:1"),
        ):
            pass
        impatient.dispose()
    with migration_lease.held(store, holder="elsewhere:1:1"):
        pass


def test_who_was_silent_for_too_long_has_no_right_to_migrate_any_more(store: Store) -> None:
    with migration_lease.held(store, holder="elsewhere:1:1"):
        store.write(
            lambda c: c.execute(
                sa.update(migration_lease.schema_lock).values(until=sa.text("now() - INTERVAL '1 second'"))
            )
        )
        with migration_lease.held(store, holder="other:1:1"):
            assert store.read(lambda c: c.scalar(sa.select(migration_lease.schema_lock.c.holder))).startswith(
                "other:1:1:"
            )


def test_jobs_refuse_a_server_that_is_empty_behind_or_ahead(store: Store) -> None:
    for may_write in (True, False):
        with pytest.raises(StoreError, match="the store is empty") as caught:
            migrate.ready(store, now=NOW, may_write=may_write)
        assert caught.value.hint == "run: palimpsest db upgrade"
    migrate.upgrade(store, now=NOW)
    at, *_ = REVISIONS[-3:]
    for revision, says in ((at, f"the store is at revision {at}, 2 behind"), ("9999", "revision 9999, which this")):
        store.write(lambda c, r=revision: c.execute(sa.text("UPDATE alembic_version SET version_num = :r"), {"r": r}))  # type: ignore[misc]
        for may_write in (True, False):
            with pytest.raises(StoreError, match=says):
                migrate.ready(store, now=NOW, may_write=may_write)
    with pytest.raises(StoreError, match="revision 9999"):
        migrate.upgrade(store, now=NOW)


def test_a_database_of_something_else_is_left_alone(store: Store, server: str, database: str, tmp_path: Path) -> None:
    servers.kind(server).execute(
        database, "CREATE TABLE alembic_version (version_num VARCHAR(32))", "INSERT INTO alembic_version VALUES ('ab')"
    )
    with pytest.raises(StoreError, match="is the database of something else: it has a table alembic_version"):
        migrate.upgrade(store, now=NOW)
