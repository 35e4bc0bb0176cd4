"""The statements behind answers are set-based, and those of a brief walk one entity's rows by an index."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import sqlalchemy as sa

from palimpsest.core.moment import parse
from palimpsest.queries.beliefs import BeliefsRequest, beliefs
from palimpsest.queries.brief import brief
from palimpsest.queries.changes import ChangesRequest, changes
from palimpsest.queries.held import When
from palimpsest.queries.history import history
from palimpsest.queries.show import show
from palimpsest.store.engine import Store
from tests.building import Memory, dataset, lineage, mcp, owners, schema, siblings, status

NOW = When(now=parse("2026-03-09T00:00:00Z"))
SOURCE = dataset("shop.source")
WIDE = ChangesRequest(since="2026-01-01", grouped=True)

ANSWERS: dict[str, Callable[[Store], object]] = {
    "changes": lambda store: changes(store, WIDE, NOW),
    "beliefs": lambda store: beliefs(store, BeliefsRequest(limit=0), NOW),
    "show": lambda store: show(store, SOURCE, NOW),
    "brief": lambda store: brief(store, [SOURCE], 2000, NOW),
    "history": lambda store: history(store, SOURCE, None, None, NOW),
}


@contextmanager
def statements(store: Store) -> Iterator[list[tuple[str, object]]]:
    """The statements that the block runs, with their parameters."""
    seen: list[tuple[str, object]] = []

    def note(connection: object, cursor: object, statement: str, parameters: object, *rest: object) -> None:
        seen.append((statement, parameters))

    sa.event.listen(store.engine, "before_cursor_execute", note)
    yield seen
    sa.event.remove(store.engine, "before_cursor_execute", note)


def star(folder: Path, width: int) -> Memory:
    """A source that `width` datasets read; then everything changes."""
    folder.mkdir()
    memory = Memory(folder)
    tables = [dataset(f"shop.t{number:03}") for number in range(width)]
    memory.remember(
        [
            mcp(SOURCE, "schemaMetadata", schema(*((f"c{number:03}", "int") for number in range(width + 1)))),
            *(mcp(one, "upstreamLineage", lineage([SOURCE])) for one in tables),
            *(mcp(one, "ownership", owners("jonas")) for one in tables),
            *(mcp(one, "siblings", siblings(SOURCE)) for one in tables),
        ],
        at="2026-03-02T08:00:00Z",
    )
    memory.remember(
        [
            mcp(SOURCE, "schemaMetadata", schema(("c000", "int"))),
            *(mcp(one, "ownership", owners("lena")) for one in tables),
            mcp(tables[0], "status", status(removed=True)),
        ],
        at="2026-03-03T08:00:00Z",
    )
    return memory


@pytest.mark.parametrize("name", ANSWERS)
def test_the_number_of_statements_does_not_grow_with_the_rows(name: str, tmp_path: Path) -> None:
    counts = []
    for width in (3, 40):
        store = star(tmp_path / str(width), width).store
        ANSWERS[name](store)
        with statements(store) as seen:
            ANSWERS[name](store)
        counts.append(len(seen))
    assert counts[0] == counts[1] <= 15


def test_a_brief_walks_no_table_whole(tmp_path: Path) -> None:
    store = star(tmp_path / "store", 3).store
    with statements(store) as seen:
        brief(store, [SOURCE], 2000, NOW)
    asked = [(text, parameters) for text, parameters in seen if not text.startswith("BEGIN")]
    walked = []
    with store.engine.connect() as connection:
        for text, parameters in asked:
            plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {text}", parameters)  # type: ignore[arg-type]
            walked += [row[3] for row in plan if row[3].startswith("SCAN")]
    # One row a source; and from the newest run backwards, to the first readings.
    assert set(walked) <= {"SCAN source", "SCAN run USING INDEX ix_run_started_at"}


def test_changes_are_found_by_their_index(tmp_path: Path) -> None:
    store = star(tmp_path / "store", 3).store
    with statements(store) as seen:
        changes(store, WIDE, NOW)
    (found,) = [(text, parameters) for text, parameters in seen if 'AS "before"' in text]
    with store.engine.connect() as connection:
        plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {found[0]}", found[1])  # type: ignore[arg-type]
        steps = [row[3] for row in plan]
    assert any("ix_episode_change" in step for step in steps)
    assert not any(step.startswith("SCAN") for step in steps)
