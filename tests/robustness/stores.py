"""Stores that a driver copies, has killed processes work on, and compares: files of SQLite, or databases of PostgreSQL.

Nothing here stays connected: the drivers fork.
"""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from typing import Protocol

import psycopg
import sqlalchemy as sa

from palimpsest.core.moment import Moment
from palimpsest.jobs.verify import verify
from palimpsest.store.engine import open_store
from palimpsest.store.migration_lease import OPERATIONAL
from palimpsest.testing import FixedClock, NoProgress
from tests import servers

Rows = dict[str, list[tuple[object, ...]]]
# Columns that tell which run or moment of the machine wrote a row; everything else has to be equal.
APART = {
    "episode": {"run_id", "forgotten_at"},
    "erased": {"erased_at"},
    "version": {"run_id", "recorded_at", "closed_at"},
    "evidence": {"recorded_at"},
    "choice": {"run_id", "chosen_at"},
    "store": {"created_at"},
}


class Stores(Protocol):
    """Stores by name."""

    def url(self, name: str) -> str:
        """The address of a store; one that is new is empty, and not migrated."""

    def copy(self, source: str, target: str) -> None:
        """Make a store what another one is. Nobody is at work on either."""

    def settle(self, name: str) -> None:
        """Wait until nothing of a process that was killed is at work on a store."""


class Files:
    """SQLite, in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def url(self, name: str) -> str:
        """The address of a file."""
        return f"sqlite:///{self._file(name)}"

    def copy(self, source: str, target: str) -> None:
        """A copy of the file."""
        for suffix in ("", "-wal", "-shm"):
            Path(f"{self._file(target)}{suffix}").unlink(missing_ok=True)
        shutil.copyfile(self._file(source), self._file(target))

    def settle(self, name: str) -> None:
        """A dead process holds no file."""

    def _file(self, name: str) -> Path:
        return self.folder / f"{name}.db"


class Databases:
    """PostgreSQL, on a server that ends with this process."""

    def __init__(self, kind: servers.Kind) -> None:
        self.kind = kind
        self.made: dict[str, str] = {}

    def url(self, name: str) -> str:
        """The address of a database."""
        if name not in self.made:
            self.made[name] = self.kind.make(migrated=False)
        return self.kind.url(self.made[name])

    def copy(self, source: str, target: str) -> None:
        """A database made of the other one."""
        self.settle(source)
        if target in self.made:
            self.kind.drop(self.made[target])
        self.made.setdefault(target, f"copy_{target}")
        self.kind.server.execute(f"CREATE DATABASE {self.made[target]} TEMPLATE {self.made[source]}")

    def settle(self, name: str) -> None:
        """The server rolls back what a dead client left, a moment after it has died."""
        asked = f"SELECT count(*) FROM pg_stat_activity WHERE datname = '{self.made[name]}'"
        with psycopg.connect(self.kind.server.conninfo("postgres"), autocommit=True) as connection:
            while connection.execute(asked).fetchone() != (0,):  # type: ignore[arg-type]
                time.sleep(0.005)


def stores_of(database: str, folder: Path) -> Stores:
    """Stores in a kind of database."""
    return Files(folder) if database == "sqlite" else Databases(servers.kind(database))


def tables(url: str) -> Rows:
    """Every row of every table but `run`, sorted, without what tells runs and machine times apart."""
    found: Rows = {}
    store = open_store(url)
    with store.engine.connect() as connection:
        for name in sorted(sa.inspect(connection).get_table_names()):
            if name != "run" and name not in OPERATIONAL:
                result = connection.execute(sa.text(f'SELECT * FROM "{name}"'))
                kept = [at for at, column in enumerate(result.keys()) if column not in APART.get(name, set())]
                found[name] = sorted((tuple(row[at] for at in kept) for row in result), key=repr)
    store.dispose()
    return found


def runs_left(url: str) -> list[str]:
    """The jobs of runs that still say they are running."""
    store = open_store(url)
    asked = sa.text("SELECT job FROM run WHERE state = 'running'")
    left = store.read(lambda connection: list(connection.execute(asked).scalars()))
    store.dispose()
    return left


def broken(url: str) -> list[str]:
    """The rules that a store breaks."""
    store = open_store(url)
    report = verify(store, clock=FixedClock(Moment(0)), progress=NoProgress())
    store.dispose()
    return [f"{rule.rule}: {rule.examples}" for rule in report.rules if rule.broken]


def differing(one: Rows, other: Rows) -> list[str]:
    """The tables in which two stores differ, with an example."""
    said = []
    for name in sorted(one.keys() | other.keys()):
        mine, theirs = one.get(name, []), other.get(name, [])
        if mine != theirs:
            odd = [row for row in mine if row not in theirs][:2], [row for row in theirs if row not in mine][:2]
            said.append(f"{name}: {len(mine)} rows and {len(theirs)}: {odd}")
    return said
