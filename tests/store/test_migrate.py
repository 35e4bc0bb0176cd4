"""The revisions make the schema, one step each, from any point on, by any number of processes at once."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from palimpsest import shipped
from palimpsest.core.errors import StoreError
from palimpsest.core.moment import parse
from palimpsest.store import migrate
from palimpsest.store.engine import Store, open_store
from palimpsest.store.schema import is_ours, metadata
from tests.building import Memory, dataset, mcp, owners
from tests.robustness.command import ROOT

NOW = parse("2026-03-01")
REVISIONS = migrate.revisions()
REBUILDS = ("0020",)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A store that nothing was done to."""
    store = open_store(f"sqlite:///{tmp_path}/memory.db")
    yield store
    store.dispose()


def schema_of(file: Path) -> list[tuple[str, ...]]:
    """Every table and index as SQLite spells it."""
    db = sqlite3.connect(file)
    rows = db.execute("SELECT type, name, coalesce(sql, '') FROM sqlite_master ORDER BY type, name").fetchall()
    db.close()
    return rows


def at_revision(store: Store, revision: str) -> None:
    """Bring a store to an earlier revision."""
    config = Config()
    config.set_main_option("script_location", str(shipped.folder("migrations")))

    def work(connection: object) -> None:
        config.attributes["connection"] = connection
        command.upgrade(config, revision)

    store.write(work)


def test_the_revisions_make_exactly_the_schema(store: Store) -> None:
    migrate.upgrade(store, now=NOW)

    def work(connection: object) -> list[object]:
        opts = {"include_name": lambda name, kind, parents: is_ours(name)}
        return compare_metadata(MigrationContext.configure(connection, opts=opts), metadata)  # type: ignore[arg-type]

    assert store.read(work) == []


def test_the_tables_that_revisions_make_carry_the_constraints_of_the_schema(store: Store, tmp_path: Path) -> None:
    """compare_metadata does not look at checks: the statements themselves are compared, without their order."""
    migrate.upgrade(store, now=NOW)
    straight = open_store(f"sqlite:///{tmp_path}/straight.db")
    straight.write(metadata.create_all)
    straight.dispose()

    def clauses(file: Path) -> dict[str, list[str]]:
        found = {}
        for kind, name, sql in schema_of(file):
            if kind == "table" and name not in {"alembic_version"} and not name.startswith("sqlite_"):
                found[name] = sorted(clause for clause in re.split(r",\s|\n", sql) if clause.strip(" ()\t"))
        return {
            name: [" ".join(clause.replace('"', "").split()).rstrip(",") for clause in one]
            for name, one in found.items()
        }

    made, wanted = clauses(tmp_path / "memory.db"), clauses(tmp_path / "straight.db")
    assert {name: sorted(one) for name, one in made.items()} == {name: sorted(one) for name, one in wanted.items()}


def test_the_tree_is_linear_and_numbered_in_its_order() -> None:
    config = Config()
    config.set_main_option("script_location", str(shipped.folder("migrations")))
    tree = list(ScriptDirectory.from_config(config).walk_revisions())[::-1]
    assert [one.revision for one in tree] == list(REVISIONS)
    assert [one.down_revision for one in tree] == [None, *REVISIONS[:-1]]
    assert list(REVISIONS) == [f"{n:04}" for n in range(1, len(REVISIONS) + 1)]


def test_every_revision_is_one_step_that_may_be_repeated() -> None:
    for file in sorted((shipped.folder("migrations") / "versions").glob("[0-9]*.py")):
        if file.name.startswith(REBUILDS):
            continue  # on SQLite alone, in one transaction
        up = file.read_text().partition("def upgrade")[2].partition("def downgrade")[0]
        steps = re.findall(r"\bop\.(?!f\b)(\w+)\(", up)
        assert len(steps) == 1, file.name
        assert "if_not_exists=True" in up or steps[0] not in {"create_table", "create_index"}, file.name


def test_upgrading_again_changes_nothing(store: Store, tmp_path: Path) -> None:
    first = migrate.upgrade(store, now=NOW)
    made, ids = schema_of(tmp_path / "memory.db"), store.ids
    again = migrate.upgrade(store, now=NOW)
    assert (first.at, len(first.pending)) == (None, len(REVISIONS))
    assert (again.at, again.pending, again.is_current) == (REVISIONS[-1], (), True)
    assert schema_of(tmp_path / "memory.db") == made
    assert store.ids.entity("urn:li:dataset:x") == ids.entity("urn:li:dataset:x")


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_store_at_any_earlier_revision_is_upgraded(store: Store, tmp_path: Path, revision: str) -> None:
    at_revision(store, revision)
    assert migrate.status(store).at == revision
    assert migrate.status(store).pending == REVISIONS[REVISIONS.index(revision) + 1 :]
    migrate.ready(store, now=NOW, may_write=True)
    assert migrate.status(store).is_current
    fresh = open_store(f"sqlite:///{tmp_path}/fresh.db")
    migrate.upgrade(fresh, now=NOW)
    fresh.dispose()
    assert schema_of(tmp_path / "memory.db") == schema_of(tmp_path / "fresh.db")


def test_revisions_that_are_there_but_not_noted_are_passed_over(store: Store, tmp_path: Path) -> None:
    """A migration that was killed between its step and its note, on a database that cannot undo steps."""
    migrate.upgrade(store, now=NOW)
    made = schema_of(tmp_path / "memory.db")
    store.dispose()
    db = sqlite3.connect(tmp_path / "memory.db")
    db.execute("UPDATE alembic_version SET version_num = '0001'")
    db.commit()
    db.close()
    migrate.upgrade(store, now=NOW)
    assert schema_of(tmp_path / "memory.db") == made


def test_processes_that_migrate_at_once_all_succeed(tmp_path: Path) -> None:
    script = (
        "import sys; from palimpsest.store import migrate; from palimpsest.store.engine import open_store\n"
        "s = open_store(sys.argv[1]); migrate.ready(s, now=1, may_write=True); print(s.ids.entity('urn:x').hex())"
    )
    url = f"sqlite:///{tmp_path}/sub/memory.db"
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    started = [
        subprocess.Popen(
            [sys.executable, "-c", script, url], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for _ in range(4)
    ]
    ends = [(*one.communicate(), one.returncode) for one in started]
    assert [(err, code) for _, err, code in ends] == [("", 0)] * 4
    assert len({out for out, _, _ in ends}) == 1


def test_an_embedded_store_migrates_itself_where_it_may_be_written(store: Store) -> None:
    with pytest.raises(StoreError, match="the store is empty") as caught:
        migrate.ready(store, now=NOW, may_write=False)
    assert caught.value.hint == "run: palimpsest scan"
    migrate.ready(store, now=NOW, may_write=True)
    migrate.ready(store, now=NOW, may_write=False)


def test_the_older_form_of_the_episodes_is_made_anew_with_every_row_and_reference(store: Store, tmp_path: Path) -> None:
    memory = Memory(tmp_path / "filled")
    for day, owner in enumerate(("ana", "bo", "cem"), start=1):
        memory.scan([mcp(dataset("orders"), "ownership", owners(owner))], at=f"2026-03-0{day}")
        memory.consolidate()
    memory.store.dispose()
    (file,) = (tmp_path / "filled").glob("*.db")
    db = sqlite3.connect(file, isolation_level=None)
    made = db.execute("SELECT sql FROM sqlite_master WHERE name = 'episode'").fetchone()[0]
    older = made.replace(
        "CONSTRAINT uq_episode_reading UNIQUE (cell_id, run_id, observed_at)",
        "CONSTRAINT ck_episode_number_positive CHECK (number > 0), "
        "CONSTRAINT uq_episode_cell_id UNIQUE (cell_id, run_id)",
    )
    assert older != made
    indexes = [
        row[0] for row in db.execute("SELECT sql FROM sqlite_master WHERE type = 'index' AND tbl_name = 'episode'")
    ]
    kept = db.execute("SELECT * FROM episode ORDER BY 1, 2").fetchall()
    evidence = db.execute("SELECT * FROM evidence").fetchall()
    versions = db.execute("SELECT * FROM version").fetchall()
    db.executescript("PRAGMA foreign_keys = OFF; PRAGMA legacy_alter_table = ON; ALTER TABLE episode RENAME TO e;")
    db.execute(older)
    db.execute("INSERT INTO episode SELECT * FROM e")
    db.execute("DROP TABLE e")
    for index in filter(None, indexes):
        db.execute(index)
    db.execute("UPDATE alembic_version SET version_num = '0019'")
    db.close()

    again = open_store(f"sqlite:///{file}")
    migrate.upgrade(again, now=NOW)
    again.dispose()

    db = sqlite3.connect(file)
    assert "uq_episode_reading" in db.execute("SELECT sql FROM sqlite_master WHERE name = 'episode'").fetchone()[0]
    assert db.execute("SELECT * FROM episode ORDER BY 1, 2").fetchall() == kept
    assert db.execute("SELECT * FROM version").fetchall() == versions
    assert db.execute("SELECT * FROM evidence").fetchall() == evidence
    assert db.execute("PRAGMA foreign_key_check").fetchall() == []
    assert {"ix_episode_change", "ix_episode_pending"} <= {
        row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'index'")
    }
    db.close()


def test_a_store_that_is_behind_is_refused_for_reading(store: Store) -> None:
    at_revision(store, REVISIONS[-3])
    with pytest.raises(StoreError, match=f"is at revision {REVISIONS[-3]}, 2 behind") as caught:
        migrate.ready(store, now=NOW, may_write=False)
    assert caught.value.hint == "run: palimpsest db upgrade"


def test_a_store_that_is_ahead_is_refused_and_left_alone(tmp_path: Path) -> None:
    memory = Memory(tmp_path)
    memory.scan([mcp(dataset("orders"), "ownership", owners("jonas"))], at="2026-03-02")
    memory.store.dispose()
    db = sqlite3.connect(tmp_path / "memory.db")
    db.execute("UPDATE alembic_version SET version_num = '9999'")
    db.commit()
    db.close()
    shutil.copyfile(tmp_path / "memory.db", tmp_path / "before.db")
    for may_write in (True, False):
        with pytest.raises(StoreError, match="revision 9999, which this version does not know"):
            migrate.ready(memory.store, now=NOW, may_write=may_write)
    with pytest.raises(StoreError, match="revision 9999"):
        migrate.upgrade(memory.store, now=NOW)
    memory.store.dispose()
    assert (tmp_path / "memory.db").read_bytes() == (tmp_path / "before.db").read_bytes()


def test_a_migration_that_is_killed_leaves_the_store_as_it_was(tmp_path: Path) -> None:
    """All steps of an embedded store are one transaction."""
    script = (
        "import os, signal, sys; import sqlalchemy as sa\n"
        "from palimpsest.store import migrate; from palimpsest.store.engine import open_store\n"
        "def stop(c, cursor, statement, *rest):\n"
        "    if 'uq_version_current' in statement: os.kill(os.getpid(), signal.SIGKILL)\n"
        "sa.event.listen(sa.Engine, 'after_cursor_execute', stop)\n"
        "migrate.upgrade(open_store(sys.argv[1]), now=1)"
    )
    url = f"sqlite:///{tmp_path}/memory.db"
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", script, url], env=env, check=False)
    assert done.returncode < 0
    store = open_store(url)
    assert migrate.status(store).at is None
    migrate.ready(store, now=NOW, may_write=True)
    assert migrate.status(store).is_current
    store.dispose()
