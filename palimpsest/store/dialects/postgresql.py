"""PostgreSQL 15 and newer, through psycopg 3; pgvector where the database has it."""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa

from palimpsest.store.dialects.dialect import Facts, Mode
from palimpsest.store.dialects.server import Server

_WORTH_A_COPY = 20  # rows; fewer are as quick by INSERT
_PLAN_FOR_VALUES = (
    "SELECT set_config('plan_cache_mode', 'force_custom_plan', true), set_config('random_page_cost', "
    "CAST(least(CAST(current_setting('random_page_cost') AS float8), 1.1) AS text), true)"
)


class PostgreSQL(Server):
    """PostgreSQL. A reader takes a snapshot, which no writer can make fail; writers are serializable.

    Whether a COMMIT whose answer was lost took place is asked of the server itself, by the transaction's number.
    """

    name = "postgresql"
    driver = "postgresql+psycopg"
    extra = "postgres"
    reads_at = "REPEATABLE READ"
    leased_at = "REPEATABLE READ"  # serializable, it locks whole tables for what it reads, and writers fail in turn

    def copied(
        self, connection: sa.Connection, table: sa.Table, names: Sequence[str], rows: Sequence[Sequence[object]]
    ) -> bool:
        """COPY: several times as many rows a second as INSERT, with the same constraints and rights."""
        from palimpsest.store.dialects import copying

        return len(rows) >= _WORTH_A_COPY and copying.copied(connection, table, names, rows)

    def finish(self, connection: sa.Connection, mode: Mode) -> object | None:
        """The number of the transaction; None when it wrote nothing."""
        if mode is Mode.READ:
            return None
        return connection.exec_driver_sql("SELECT CAST(pg_current_xact_id_if_assigned() AS text)").scalar()

    def landed(self, connection: sa.Connection, mark: object) -> bool | None:
        """As the server remembers it: committed, aborted, or still in progress."""
        asked = sa.text("SELECT pg_xact_status(CAST(CAST(:mark AS text) AS xid8))")
        found = connection.execute(asked, {"mark": mark}).scalar()
        return None if found == "in progress" else found == "committed"

    def plan_for_values(self, connection: sa.Connection) -> None:
        """Of a statement that was run some times PostgreSQL keeps one plan, which for words walks the whole table; and
        it takes each page of the index's for one read from a turning disk, and so walks where two words lead to few.
        """
        connection.exec_driver_sql(_PLAN_FOR_VALUES)

    def settling(self, table: str, index: str, *, many: bool) -> Sequence[str]:
        """A GIN index keeps new entries aside in a list, through which every search goes until somebody clears it."""
        cleared = f"SELECT gin_clean_pending_list('{index}')"
        return (cleared, f"ANALYZE {table}") if many else (cleared,)

    def facts(self, connection: sa.Connection) -> Facts:
        """Version, and whether pgvector was created in this database."""
        version = str(connection.exec_driver_sql("SELECT version()").scalar() or "").partition(" (")[0]
        found = connection.exec_driver_sql("SELECT count(*) FROM pg_extension WHERE extname = 'vector'").scalar()
        return Facts(self.name, version, None, None, vectors=bool(found))

    def bytes_used(self, connection: sa.Connection) -> int | None:
        """All of the database."""
        size = connection.exec_driver_sql("SELECT pg_database_size(current_database())").scalar()
        return None if size is None else int(size)
