"""What a PostgreSQL database says of its own tables: columns, constraints, indexes, in words that can be compared."""

from __future__ import annotations

import sqlalchemy as sa

from palimpsest.store.migration_lease import OPERATIONAL

_ASKED = {
    "columns": """SELECT c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, l.collname
        FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid LEFT JOIN pg_collation l ON l.oid = a.attcollation
        WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace AND a.attnum > 0 AND NOT a.attisdropped""",
    "constraints": """SELECT c.relname, x.conname, pg_get_constraintdef(x.oid) FROM pg_constraint x
        JOIN pg_class c ON c.oid = x.conrelid
        WHERE x.connamespace = 'public'::regnamespace AND x.contype <> 'n'""",
    "indexes": "SELECT tablename, indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'",
}
_NOT_OURS = {"alembic_version", *OPERATIONAL}


def described(connection: sa.Connection, without: str = "") -> dict[str, list[tuple[object, ...]]]:
    """Everything about the tables that hold memory."""
    left_out = _NOT_OURS | {without}
    return {
        what: sorted((tuple(row) for row in connection.execute(sa.text(asked)) if row[0] not in left_out), key=repr)
        for what, asked in _ASKED.items()
    }
