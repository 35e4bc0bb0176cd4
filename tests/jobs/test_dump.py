"""A dump is the same for the same memory, byte for byte, and a load makes that memory again, on any database."""

from __future__ import annotations

import json
import shutil
import tempfile
from hashlib import sha256
from pathlib import Path

import pytest
import sqlalchemy as sa
from hypothesis import Phase, given, settings

from palimpsest import __version__
from palimpsest.core.dump import read_end, read_header
from palimpsest.core.moment import Moment, parse, text
from palimpsest.store import migrate, runs
from palimpsest.store.engine import Store, open_store
from palimpsest.store.schema import edge, entity, run
from palimpsest.store.schema import store as store_table
from tests.building import Memory, mcp
from tests.jobs.dumps import (
    NOW,
    ORDERS,
    changed,
    dumped,
    dumped_with_report,
    empty,
    first_of,
    history,
    loaded,
    resealed,
)
from tests.jobs.test_histories import DAY, READINGS, URNS

DEMO = sorted((Path(__file__).resolve().parents[2] / "demo" / "catalog").glob("*.json"))


def edges(store: Store) -> list[tuple[object, ...]]:
    """Every edge."""
    statement = sa.select(edge).order_by(*edge.primary_key.columns)
    return store.read(lambda connection: [tuple(row) for row in connection.execute(statement)])


@pytest.mark.usefixtures("dialect")
def test_a_load_makes_the_same_memory_again_on_every_dialect(tmp_path: Path) -> None:
    memory = history(tmp_path)
    lines, dump_report = dumped_with_report(memory.store)
    other = empty(tmp_path)
    report = loaded(other, lines)
    assert dumped(other) == lines
    assert (report.content, report.tables) == (dump_report.content, dump_report.tables)
    assert [rule for rule in report.verify.rules if rule.broken] == []
    assert edges(other) == edges(memory.store)
    assert report.edges == len(edges(other)) > 0
    assert migrate.status(other).is_current


def test_the_same_memory_on_another_dialect_is_the_same_dump(tmp_path: Path, dialect: str) -> None:
    """The texts among the keys sort alike: capitals, umlauts."""
    memory = history(tmp_path)
    lines = dumped(memory.store)
    there = empty(tmp_path, "there.db")
    loaded(there, lines)
    assert dumped(there) == lines
    assert [json.loads(line)[1] for line in lines if line.startswith(b'["source"')] == [
        "Zebra", "a", "b", "file", "ähnlich",
    ]  # fmt: skip
    assert sha256(b"".join(lines[1:-1])).hexdigest() == read_end(lines[-1]).content
    if dialect != "sqlite":
        embedded = tmp_path / "embedded"
        store = _embedded(embedded)
        loaded(store, lines)
        assert dumped(store) == lines


def _embedded(folder: Path) -> Store:
    store = open_store(f"sqlite:///{folder}/memory.db")
    migrate.upgrade(store, now=parse("2026-01-01"))
    return store


def test_the_demo_catalog_comes_back_as_it_was_and_goes_on(tmp_path: Path) -> None:
    memory = Memory(tmp_path)
    for day, file in enumerate(DEMO[:2]):
        memory.remember(file, at=text(Moment(parse("2026-03-02T08:00:00Z") + day * DAY)))
    other = empty(tmp_path)
    loaded(other, dumped(memory.store))
    original = memory.store
    reports = []
    for store in (original, other):
        memory.store, memory.clock.at, memory._jobs = store, parse("2026-03-10"), 100
        reports.append(memory.remember(DEMO[-1], at="2026-03-10T08:00:00Z"))
    assert reports[0] == reports[1]
    assert reports[0].written > 0
    assert dumped(other) == dumped(original)


@settings(max_examples=25, phases=[phase for phase in Phase if phase is not Phase.explain])
@given(readings=READINGS)
def test_any_history_comes_back_as_it_was(readings):
    folder = Path(tempfile.mkdtemp())
    memory, other = Memory(folder), empty(folder)
    try:
        for number, (complete, records) in enumerate(readings):
            at = text(Moment(parse("2026-01-01") + number * DAY))
            memory.scan([*records, mcp(URNS[0], "browsePaths", {})], at=at, complete=complete)
            if number % 2 == 0:
                memory.consolidate()
        lines = dumped(memory.store)
        report = loaded(other, lines)
        assert dumped(other) == lines
        assert [rule for rule in report.verify.rules if rule.broken] == []
    finally:
        memory.store.dispose()
        other.dispose()
        shutil.rmtree(folder)


def test_two_dumps_of_one_store_are_equal_but_for_their_time(tmp_path: Path) -> None:
    memory = history(tmp_path)
    assert dumped(memory.store) == dumped(memory.store)


def test_the_header_tells_what_follows_and_the_end_what_it_came_to(tmp_path: Path) -> None:
    memory = history(tmp_path)
    lines, report = dumped_with_report(memory.store)
    header, end = read_header(lines[0]), read_end(lines[-1])
    assert header is not None
    assert (header.format, header.palimpsest, header.revision) == (1, __version__, migrate.revisions()[-1])
    assert header.dumped_at == "2026-04-01T00:00:00Z"
    assert {head.name: head.rows for head in header.tables} == report.tables
    assert header.rows == report.rows == end.rows == len(lines) - 2
    assert end.sha256 == sha256(b"".join(lines[:-1])).hexdigest()
    assert lines[1] == b'["store",1,"30313233343536373839616263646566",1772323200000]\n'


def test_the_lines_of_a_table_are_in_the_order_of_its_key(tmp_path: Path) -> None:
    lines = dumped(history(tmp_path).store)
    keys = [json.loads(line)[:4] for line in lines if line.startswith(b'["part"')]
    assert keys == sorted(keys)
    assert len(keys) > 5


def test_a_run_at_work_is_dumped_as_broken_off_and_a_lease_not_at_all(tmp_path: Path) -> None:
    """What is loaded is at work nowhere: else a process of another machine would hold a lease on it."""
    memory = history(tmp_path)
    lease = runs.acquire(memory.store, job="scan", source_name="file", rules="1", now=NOW, holder="elsewhere:1:")
    held = {"holder": "elsewhere:1:", "held_until": NOW}
    memory.store.write(lambda connection: connection.execute(sa.update(entity).values(held)))
    lines, report = dumped_with_report(memory.store)
    assert report.lost == 1
    (line,) = [json.loads(line) for line in lines if line.startswith(f'["run","{lease.run.hex()}"'.encode())]
    assert [line[4], line[8], line[-1]] == ["failed", NOW, '{"failure":"lost"}']
    other = empty(tmp_path)
    loaded(other, lines)
    assert dumped(other) == lines
    running = sa.select(sa.func.count()).select_from(run).where(run.c.state == "running")
    leased = sa.select(sa.func.count()).select_from(entity).where(entity.c.holder.is_not(None))
    assert [other.read(lambda c, s=s: c.scalar(s)) for s in (running, leased)] == [0, 0]
    runs.acquire(other, job="scan", source_name="file", rules="1", now=NOW, holder="here:2:")


def test_a_loaded_store_has_the_secret_that_made_its_ids(tmp_path: Path) -> None:
    memory, other = history(tmp_path), empty(tmp_path)
    loaded(other, dumped(memory.store))
    assert other.ids.entity(ORDERS) == memory.store.ids.entity(ORDERS)
    assert other.read(lambda c: c.scalar(sa.select(sa.func.count()).select_from(store_table))) == 1


def test_numbers_of_zero_and_below_are_carried(tmp_path: Path) -> None:
    """A backfill counts down from zero."""
    memory, other = history(tmp_path), empty(tmp_path)
    lines = dumped(memory.store)
    at = first_of(lines, "evidence")
    head = json.loads(lines[0])
    row = json.loads(lines[at])
    columns = next(table["columns"] for table in head["tables"] if table["name"] == "version")
    version_at = next(
        index
        for index, line in enumerate(lines)
        if line.startswith(b'["version"') and json.loads(line)[1 : 3] == row[1:3]
    )  # fmt: skip
    lines[version_at] = changed(lines[version_at], 1 + columns.index("number"), -3)
    lines[at] = changed(lines[at], 2, -3)
    lines = resealed(lines)
    loaded(other, lines)
    assert dumped(other)[1:] == lines[1:]
