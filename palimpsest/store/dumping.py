"""What a dump holds of the store: which tables and columns, their rows in one order on every dialect, as JSON and back.

Statements that read, generic over the tables of the schema; what writes is in palimpsest.store.loading.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import repeat
from operator import lt
from typing import Any

import orjson
import sqlalchemy as sa

from palimpsest.core.dump import RowError, TableHead
from palimpsest.store import dumps_made
from palimpsest.store.runs import LOST_COUNTS
from palimpsest.store.schema import (
    cell,
    choice,
    delivery,
    edge,
    embedder,
    entity,
    episode,
    erased,
    evidence,
    label,
    notice_cursor,
    notice_sent,
    part,
    passage,
    passage_of,
    passage_vector,
    publication,
    recall_log,
    run,
    source,
    store,
    strength,
    vector_sign,
    version,
    working,
)
from palimpsest.store.types import Bytes, Id

# What cannot be made again, each table after those it refers to. A new table goes here, or among the next.
DUMPED: tuple[sa.Table, ...] = (
    store,
    source,
    run,
    entity,
    part,
    cell,
    episode,
    version,
    evidence,
    choice,
    publication,
    recall_log,
    strength,
    working,
    erased,
    delivery,
    notice_cursor,
    notice_sent,
)

# Projections: made anew from the tables above, by a load (palimpsest.store.projections) or by a pass of their own.
REBUILT: tuple[sa.Table, ...] = (edge, passage, passage_of, label, embedder, passage_vector, vector_sign)

# Columns that are not carried over, and NULL after a load: the leases of who is at work, and how far a projection is.
LEFT_OUT: dict[str, frozenset[str]] = {
    "entity": frozenset(
        {"holder", "held_until", "indexed_at", "changed_at", "revisions", "first_at", "beliefs", "gone"}
    )
}

ROWS_AT_ONCE = 1_000
_TOO_LARGE = 2**63
Rows = list[tuple[object, ...]]

# A dump holds no running run, as it holds no lease: what is at work is written as what it would be if it were killed
# now. So a load never takes a lease over from a process of another machine, and its dump is this dump.
_IS_RUNNING = run.c.state == "running"
_WRITTEN_AS: dict[sa.Column[Any], sa.ColumnElement[Any]] = {
    run.c.state: sa.case((_IS_RUNNING, "failed"), else_=run.c.state).label("state"),
    run.c.ended_at: sa.case((_IS_RUNNING, run.c.beat_at), else_=run.c.ended_at).label("ended_at"),
    run.c.counts: sa.case((_IS_RUNNING, LOST_COUNTS), else_=run.c.counts).label("counts"),
}


def _held(statement: sa.Select[Any], table: sa.Table) -> sa.Select[Any]:
    """Narrows a statement to the rows that a dump holds: that a store was dumped is no part of what it remembers."""
    return statement.where(run.c.job != dumps_made.JOB) if table is run else statement


def columns_of(table: sa.Table) -> list[sa.Column[Any]]:
    """The columns of a table that a dump holds."""
    left_out = LEFT_OUT.get(table.name, frozenset())
    return [column for column in table.columns if column.name not in left_out]


def heads(connection: sa.Connection) -> tuple[TableHead, ...]:
    """What the header says of each table, counted from the rows."""
    return tuple(
        TableHead(
            name=str(table.name),
            columns=tuple(str(column.name) for column in columns_of(table)),
            rows=int(connection.scalar(_held(sa.select(sa.func.count()).select_from(table), table)) or 0),
        )
        for table in DUMPED
    )


def count_running(connection: sa.Connection) -> int:
    """How many runs are at work."""
    return int(connection.scalar(sa.select(sa.func.count()).select_from(run).where(_IS_RUNNING)) or 0)


def lines(connection: sa.Connection, table: sa.Table) -> Iterator[list[bytes]]:
    """The lines of a table's rows, some at once, by primary key: ids in the order of bytes, texts of code points."""
    columns = columns_of(table)
    statement = sa.select(*[_WRITTEN_AS.get(column, column) for column in columns])
    statement = _held(statement, table).order_by(*table.primary_key.columns)
    in_hex = [position for position, column in enumerate(columns) if isinstance(column.type, Id | Bytes)]
    dumps = orjson.dumps
    for rows in connection.execute(statement.execution_options(yield_per=ROWS_AT_ONCE)).partitions():
        values: list[Sequence[object]] = list(zip(*rows, strict=True))
        for position in in_hex:
            values[position] = [one.hex() if isinstance(one, bytes) else None for one in values[position]]
        yield [dumps(row) + b"\n" for row in zip(repeat(str(table.name), len(rows)), *values, strict=True)]


class TableReader:
    """Turns the rows of one table as a dump has them into rows of the database. Raises ValueError for a wrong head."""

    def __init__(self, head: TableHead) -> None:
        found = next((table for table in DUMPED if table.name == head.name), None)
        if found is None:
            raise ValueError(f"holds a table {head.name!r} that this version does not know")
        self.table = found
        known = {column.name: column for column in columns_of(found)}
        for name in head.columns:
            if name not in known:
                raise ValueError(f"holds a column {head.name}.{name} that this version does not know")
        if len(set(head.columns)) < len(head.columns):
            raise ValueError(f"names a column of {head.name} twice")
        added = {name: _default(column) for name, column in known.items() if name not in head.columns}
        self.names = (*head.columns, *added)
        self._added = tuple(added.values())
        self._columns = [known[name] for name in head.columns]
        self._keys = [head.columns.index(column.name) for column in found.primary_key.columns]
        self._last: tuple[object, ...] | None = None

    def read(self, rows: Sequence[list[object]]) -> Rows:
        """Rows, each after the table's name, as the database takes them. Raises RowError for one that is wrong."""
        width = len(self._columns) + 1
        for index, row in enumerate(rows):
            if len(row) != width:
                raise RowError(index, f"has {len(row) - 1} values of {self.table.name}, not {width - 1}")
        values = list(zip(*rows, strict=True))[1:]
        found = [_decoded(column, given) for column, given in zip(self._columns, values, strict=True)]
        self._check_order(list(zip(*[found[position] for position in self._keys], strict=True)))
        return list(zip(*found, *[repeat(value, len(rows)) for value in self._added], strict=True))

    def _check_order(self, keys: list[tuple[object, ...]]) -> None:
        """Each key after the one before it: then none comes twice."""
        before = [*([self._last] if self._last is not None else []), *keys]
        self._last = keys[-1]
        if all(map(lt, before, before[1:])):
            return
        index = next(at for at in range(1, len(before)) if not before[at - 1] < before[at])
        twice = before[index - 1] == before[index]
        what = "is a second row with the same key" if twice else "is out of order"
        raise RowError(index - (len(before) - len(keys)), f"{what}: {self.table.name}")


class MissingColumnError(ValueError):
    """The dump is of an earlier schema, and lacks a column for which there is no default."""


def _default(column: sa.Column[Any]) -> object:
    """What a column gets that an earlier schema did not have. Raises MissingColumnError where nothing can stand."""
    if isinstance(column.default, sa.ColumnDefault) and column.default.is_scalar:
        return column.default.arg
    if not column.nullable:
        raise MissingColumnError(f"{column.table.name}.{column.name}")
    return None


def _decoded(column: sa.Column[Any], values: Sequence[object]) -> Sequence[object]:
    """The values of one column, checked. Raises RowError."""
    wanted, words = _form(column.type)
    allowed = {wanted, type(None)} if column.nullable else {wanted}
    if not set(map(type, values)) <= allowed:
        index = next(at for at, value in enumerate(values) if type(value) not in allowed)
        raise RowError(index, f"{column.table.name}.{column.name} is not {words}: {_shown(values[index])}")
    if wanted is int and not _fits(values):
        index = next(at for at, value in enumerate(values) if not _fits([value]))
        raise RowError(index, f"{column.table.name}.{column.name} is too large: {_shown(values[index])}")
    if not isinstance(column.type, Id | Bytes):
        return values
    length = 16 if isinstance(column.type, Id) else None
    try:
        found = [None if value is None else bytes.fromhex(value) for value in values]  # type: ignore[arg-type]
    except ValueError:
        found = []
    if len(found) < len(values) or (length and any(one is not None and len(one) != length for one in found)):
        index = next(at for at, value in enumerate(values) if not _is_hex(value, length))
        raise RowError(index, f"{column.table.name}.{column.name} is not {words}: {_shown(values[index])}")
    return found


def _form(type_: sa.types.TypeEngine[Any]) -> tuple[type, str]:
    """How values of a type are written, as a Python type and in words."""
    match type_:
        case Id():
            return str, "an id of 32 hexadecimal digits"
        case Bytes():
            return str, "bytes in hexadecimal"
        case sa.Boolean():
            return bool, "true or false"
        case sa.Integer():
            return int, "a whole number"
        case sa.Float():
            return float, "a number"
        case _:
            return str, "text"


def _fits(values: Sequence[object]) -> bool:
    """Whether whole numbers are of 64 bits. What is smaller in the database it refuses itself."""
    numbers = [value for value in values if isinstance(value, int)]
    return not numbers or (min(numbers) >= -_TOO_LARGE and max(numbers) < _TOO_LARGE)


def _is_hex(value: object, length: int | None) -> bool:
    try:
        return value is None or len(bytes.fromhex(str(value))) == length or length is None
    except ValueError:
        return False


def _shown(value: object) -> str:
    text = orjson.dumps(value).decode()
    return text if len(text) <= 60 else text[:57] + "…"


def reader_of(columns: Sequence[TableHead]) -> dict[str, TableReader]:
    """A reader for each table of a header, in the order of a load. Raises ValueError, MissingColumnError."""
    readers = {head.name: TableReader(head) for head in columns}
    order = [table.name for table in DUMPED if table.name in readers]
    if list(readers) != order or len(readers) < len(columns):
        raise ValueError("names its tables in another order, or twice")
    return readers
