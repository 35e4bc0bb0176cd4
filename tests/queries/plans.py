"""How the database goes about what a question asks of it, in tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sqlalchemy as sa

from palimpsest.store.engine import Connection, Store

LARGE = {"version", "episode", "cell", "evidence", "passage"}


def planned(store: Store, ask: Callable[[], object]) -> list[str]:
    """The steps of every statement that a question runs, as SQLite plans them."""
    said: list[tuple[str, Any]] = []

    def note(connection: object, cursor: object, text: str, parameters: Any, *rest: object) -> None:
        if text.lstrip().startswith(("SELECT", "WITH")):
            said.append((text, parameters))

    sa.event.listen(store.engine, "before_cursor_execute", note)
    try:
        ask()
    finally:
        sa.event.remove(store.engine, "before_cursor_execute", note)

    def explain(connection: Connection) -> list[str]:
        return [
            row[3]
            for text, parameters in said
            for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {text}", parameters)
        ]

    return store.read(explain)


def walked(steps: list[str]) -> list[str]:
    """The steps that go through a large table from end to end, by whatever index; a partial one of few rows is none."""
    few = ("ix_episode_pending", "ix_cell_observer")
    return [step for step in steps if step.startswith("SCAN") and step.split()[1] in LARGE and not step.endswith(few)]
