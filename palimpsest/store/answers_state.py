"""What answers about the store itself are made from: runs, rows and bytes, cells that change most, what the engine can.

Statements only; nothing here writes.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import sqlalchemy as sa

from palimpsest.core.ids import CellId, RunId
from palimpsest.core.moment import Moment
from palimpsest.store.dialects.dialect import Facts
from palimpsest.store.engine import Store
from palimpsest.store.schema import cell, entity, episode, metadata, run, source


class RunRow(NamedTuple):
    """A run as it is recorded; `counts` is JSON text."""

    id: RunId
    job: str
    source: str
    state: str
    holder: str
    started_at: Moment
    ended_at: Moment | None
    read_at: Moment | None
    complete: bool
    rules: str
    written: int
    founded: int
    counts: str


def runs_newest_first(connection: sa.Connection, most: int) -> list[RunRow]:
    """The newest runs; `most` 0 means all."""
    statement = _runs().order_by(run.c.started_at.desc(), run.c.id)
    rows = connection.execute(statement.limit(most) if most else statement)
    return [_run_row(row) for row in rows]


def runs_before(connection: sa.Connection, before: tuple[Moment, RunId] | None, most: int) -> list[RunRow]:
    """At most so many runs, the newest first, that come after the one of this start and id."""
    statement = _runs().order_by(run.c.started_at.desc(), run.c.id).limit(most)
    if before is not None:
        started_at, run_id = before
        same = sa.and_(run.c.started_at == started_at, run.c.id > run_id)
        statement = statement.where(sa.or_(run.c.started_at < started_at, same))
    return [_run_row(row) for row in connection.execute(statement)]


def runs_beginning(connection: sa.Connection, digits: str) -> list[RunRow]:
    """The runs whose id begins with these hexadecimal digits."""
    low, high = bytes.fromhex(digits.ljust(32, "0")), bytes.fromhex(digits.ljust(32, "f"))
    return [_run_row(row) for row in connection.execute(_runs().where(run.c.id.between(low, high)).limit(11))]


def _runs() -> sa.Select[tuple[object, ...]]:
    return sa.select(
        run.c.id, run.c.job, run.c.source, run.c.state, run.c.holder, run.c.started_at, run.c.ended_at, run.c.read_at,
        run.c.complete, run.c.rules, run.c.written, run.c.founded, run.c.counts,
    )  # fmt: skip


def _run_row(row: sa.Row[tuple[object, ...]]) -> RunRow:
    found = RunRow._make(row)
    return found._replace(source=found.source or "", counts=found.counts or "{}", complete=bool(found.complete))


class SourceRow(NamedTuple):
    """A source and its newest finished reading; None where none has finished."""

    name: str
    kind: str
    origin: str
    read_at: Moment | None
    complete: bool


def sources(connection: sa.Connection) -> list[SourceRow]:
    """Every source, by name."""
    newest = (
        sa.select(run.c.source, sa.func.max(run.c.read_at).label("read_at"))
        .where(run.c.state == "done", run.c.read_at.is_not(None))
        .group_by(run.c.source)
        .subquery("newest")
    )
    complete = (
        sa.select(sa.func.max(sa.cast(run.c.complete, sa.Integer)))
        .where(run.c.source == source.c.name, run.c.read_at == newest.c.read_at, run.c.state == "done")
        .scalar_subquery()
    )
    rows = connection.execute(
        sa.select(source.c.name, source.c.kind, source.c.origin, newest.c.read_at, complete)
        .join(newest, newest.c.source == source.c.name, isouter=True)
        .order_by(source.c.name)
    )
    return [SourceRow(row[0], row[1], row[2], row[3], bool(row[4])) for row in rows]


def rows_by_table(connection: sa.Connection) -> dict[str, int]:
    """How many rows each table has."""
    return {
        str(table.name): int(connection.scalar(sa.select(sa.func.count()).select_from(table)) or 0)
        for table in metadata.sorted_tables
    }


class Noisy(NamedTuple):
    """A cell that changed often."""

    cell: CellId
    urn: str
    source: str
    aspect: str
    key: str
    changes: int
    runs: int
    newest: Moment


def noisiest(connection: sa.Connection, most: int, source_name: str | None) -> list[Noisy]:
    """The cells with the most episodes beyond the first that are no baseline, the noisiest first."""
    counted = (
        sa.select(
            episode.c.cell_id,
            sa.func.count().label("changes"),
            sa.func.count(sa.distinct(episode.c.run_id)).label("runs"),
            sa.func.max(episode.c.observed_at).label("newest"),
        )
        .where(sa.not_(episode.c.baseline), episode.c.kind != "first")
        .group_by(episode.c.cell_id)
        .subquery("counted")
    )
    statement = (
        sa.select(
            counted.c.cell_id, entity.c.urn, cell.c.source, cell.c.aspect, cell.c.key, counted.c.changes,
            counted.c.runs, counted.c.newest,
        )
        .select_from(counted)
        .join(cell, cell.c.id == counted.c.cell_id)
        .join(entity, entity.c.id == cell.c.entity_id)
        .order_by(counted.c.changes.desc(), entity.c.urn, cell.c.aspect, cell.c.key)
        .limit(most)
    )  # fmt: skip
    if source_name is not None:
        statement = statement.where(cell.c.source == source_name)
    return [Noisy._make(row) for row in connection.execute(statement)]


# --- the database itself ----------------------------------------------------------------------------------------


def bytes_on_disk(store: Store) -> int | None:
    """The size of the database with what goes with it; None where the database does not tell."""
    return store.read(store.dialect.bytes_used)


def file_of(store: Store) -> Path | None:
    """The file of an embedded store, None for a server."""
    return store.dialect.file_of(store.url)


def engine_facts(store: Store) -> Facts:
    """What the database is and can."""
    return store.read(store.dialect.facts)


def may_write(store: Store) -> bool | None:
    """Whether the file of an embedded store and its folder can be written; None for a server."""
    return store.dialect.may_write(store.url)
