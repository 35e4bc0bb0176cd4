"""Column types that the dialects spell differently: 16-byte ids, and times as whole milliseconds UTC."""

from __future__ import annotations

import uuid
from typing import Any

import sqlalchemy as sa


class Id(sa.types.TypeDecorator[bytes]):
    """16 bytes: BLOB on SQLite (sa.Uuid would be text there), UUID on PostgreSQL and CockroachDB."""

    impl = sa.LargeBinary(16)
    cache_ok = True

    def load_dialect_impl(self, dialect: sa.Dialect) -> sa.types.TypeEngine[Any]:
        """The type of the dialect at hand."""
        return dialect.type_descriptor(sa.LargeBinary(16) if dialect.name == "sqlite" else sa.Uuid(as_uuid=True))

    def process_bind_param(self, value: bytes | None, dialect: sa.Dialect) -> Any:
        """Bytes into what the driver takes."""
        if value is None or dialect.name == "sqlite":
            return value
        return uuid.UUID(bytes=value)

    def process_result_value(self, value: Any, dialect: sa.Dialect) -> bytes | None:
        """What the driver gives into bytes."""
        if value is None or isinstance(value, bytes):
            return value
        return bytes(value.bytes)


Milliseconds = sa.BigInteger
