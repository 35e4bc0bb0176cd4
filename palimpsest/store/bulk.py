"""Many rows with one statement: compiled once, the rows handed to the driver as they are.

SQLAlchemy's own executemany names, copies and converts each value of each row, which costs more than the database does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from palimpsest.store.dialects.dialect import Dialect

Row = tuple[object, ...]


def execute_many(
    connection: sa.Connection, statement: sa.Executable, names: Sequence[str], rows: Sequence[Row]
) -> None:
    """Run an insert or update for each row; `names` are the columns, or bound parameters, that a row gives in order."""
    if not rows:
        return
    if isinstance(statement, sa.Insert) and _copied(connection, statement, names, rows):
        return
    compiled: Any = statement.compile(dialect=connection.dialect, column_keys=list(names))  # type: ignore[attr-defined]
    converters = [
        (names.index(name), compiled._bind_processors[name]) for name in names if name in compiled._bind_processors
    ]
    if converters:
        rows = [_converted(row, converters) for row in rows]
    if not compiled.positional:
        connection.exec_driver_sql(str(compiled), [dict(zip(names, row, strict=True)) for row in rows])
        return
    order = [names.index(name) for name in compiled.positiontup]
    if order != list(range(len(names))):
        rows = [tuple(row[position] for position in order) for row in rows]
    connection.exec_driver_sql(str(compiled), list(rows))


def _copied(connection: sa.Connection, statement: sa.Insert, names: Sequence[str], rows: Sequence[Row]) -> bool:
    """Whether the database took the rows by a way of its own that is quicker than any statement."""
    dialect = connection.info.get("dialect")
    return isinstance(dialect, Dialect) and dialect.copied(connection, statement.table, names, rows)  # type: ignore[arg-type]


def _converted(row: Row, converters: Sequence[tuple[int, Any]]) -> Row:
    values = list(row)
    for position, convert in converters:
        values[position] = convert(values[position])
    return tuple(values)
