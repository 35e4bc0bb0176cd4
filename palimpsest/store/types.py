"""Column types that the dialects spell differently: 16-byte ids, byte strings, texts in byte order, times as
whole milliseconds UTC.

They pass bytes through untouched where the driver lets them: wrapping each value is half of the cost of a bulk insert.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles


class UuidBytes(bytes):
    """16 bytes on their way to a UUID column; `dialects.adapters` tells the driver."""

    __slots__ = ()


class Id(sa.types.UserDefinedType[bytes]):
    """16 bytes: BLOB on SQLite (sa.Uuid would be text there), UUID on PostgreSQL and CockroachDB."""

    cache_ok = True

    def get_col_spec(self, **options: Any) -> str:
        """The type's name where no dialect says otherwise."""
        return "UUID"

    def bind_processor(self, dialect: sa.Dialect) -> Callable[[Any], Any] | None:
        """Bytes into what the driver takes. What it gives is bytes already."""
        if dialect.name == "sqlite":
            return None
        return lambda value: None if value is None else UuidBytes(value)


@compiles(Id, "sqlite")
def _id_on_sqlite(type_: Id, compiler: Any, **options: Any) -> str:
    return "BLOB"


class Bytes(sa.types.UserDefinedType[bytes]):
    """A byte string: BLOB on SQLite, BYTEA elsewhere."""

    cache_ok = True

    def get_col_spec(self, **options: Any) -> str:
        """The type's name where no dialect says otherwise."""
        return "BYTEA"


@compiles(Bytes, "sqlite")
def _bytes_on_sqlite(type_: Bytes, compiler: Any, **options: Any) -> str:
    return "BLOB"


Milliseconds = sa.BigInteger

# Compared and sorted by code points on every database. SQLite and CockroachDB do so anyway; PostgreSQL would sort as
# the language of its machine does, and fold letters by its rules.
Text = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
