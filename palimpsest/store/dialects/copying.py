"""COPY in PostgreSQL's binary form: rows of plain columns, in the transaction at hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import psycopg
import sqlalchemy as sa

from palimpsest.store.types import Bytes, Id

# The first that a column's type is an instance of.
_SPELLED: tuple[tuple[type[sa.types.TypeEngine[Any]], str], ...] = (
    (Id, "uuid"),
    (Bytes, "bytea"),
    (sa.Text, "text"),
    (sa.SmallInteger, "int2"),
    (sa.BigInteger, "int8"),
    (sa.Integer, "int4"),
    (sa.Boolean, "bool"),
    (sa.Float, "float8"),
)


def copied(connection: sa.Connection, table: sa.Table, names: Sequence[str], rows: Sequence[Sequence[object]]) -> bool:
    """Copy the rows in; False where a column is of a type that is not copied, or has a default that a row leaves out.

    Raises DBAPIError as a statement of SQLAlchemy does.
    """
    spelled = [_type_of(table.columns[name]) for name in names]
    left_out = any(column.default is not None for column in table.columns if column.name not in names)
    if left_out or None in spelled:
        return False
    quote = connection.dialect.identifier_preparer.quote
    listed = ", ".join(quote(name) for name in names)
    statement = f"COPY {quote(table.name)} ({listed}) FROM STDIN (FORMAT BINARY)"
    driver: Any = connection.connection.driver_connection
    try:
        with driver.cursor() as cursor, cursor.copy(statement) as copy:
            copy.set_types(spelled)
            for row in rows:
                copy.write_row(row)
    except psycopg.Error as error:
        broken = bool(driver.closed or driver.broken)
        raise sa.exc.DBAPIError.instance(
            statement, None, error, psycopg.Error, connection_invalidated=broken, dialect=connection.dialect
        ) from error
    return True


def _type_of(column: sa.Column[Any]) -> str | None:
    return next((name for kind, name in _SPELLED if isinstance(column.type, kind)), None)
