"""Conflicts, lost connections and lost answers change nothing: what is held equals what an undisturbed run holds."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa

from palimpsest.core.errors import StoreError
from palimpsest.core.moment import parse
from palimpsest.jobs.verify import verify
from palimpsest.store.dialects.cockroachdb import commit_mark
from palimpsest.store.engine import Store, open_store
from palimpsest.store.schema import source
from palimpsest.testing import FixedClock, NoProgress
from tests import servers
from tests.building import Memory
from tests.store.contract import injecting
from tests.store.contract.injecting import contents, fresh, history

HOW_MANY = [5, pytest.param(1_000, marks=pytest.mark.long)]  # points of failure: some, or all of them


def points(count: int, how_many: int) -> list[int]:
    """So many of the numbers up to a count, evenly, the last among them."""
    step = max(1, count // how_many)
    return list(range(count, 0, -step))


def assert_sound(memory: Memory, calm: Memory) -> None:
    """It holds what the undisturbed one holds, and no rule is broken."""
    assert contents(memory.store) == contents(calm.store)
    report = verify(memory.store, clock=FixedClock(parse("2026-03-09")), progress=NoProgress())
    assert [(rule.rule, rule.examples) for rule in report.rules if rule.broken] == []


@pytest.mark.parametrize("how_many", HOW_MANY)
@pytest.mark.usefixtures("dialect")
def test_a_conflict_at_any_statement_changes_nothing(tmp_path: Path, how_many: int) -> None:
    calm = fresh(tmp_path, "calm")
    with injecting.at_statement(calm.store, None, injecting.conflict(calm.store)) as counted:
        history(calm)
    assert counted.count > 60
    for number in points(counted.count, how_many):
        memory = fresh(tmp_path, f"at-{number}")
        with injecting.at_statement(memory.store, number, injecting.conflict(memory.store)) as seen:
            history(memory)
        assert seen.count > counted.count - 1
        assert_sound(memory, calm)
        memory.store.dispose()


@pytest.mark.parametrize("how_many", HOW_MANY)
@pytest.mark.usefixtures("dialect")
def test_a_conflict_at_any_commit_changes_nothing(tmp_path: Path, how_many: int) -> None:
    calm = fresh(tmp_path, "calm")
    with injecting.before_commit(calm.store, None, injecting.conflict(calm.store)) as counted:
        history(calm)
    for number in points(counted.count, how_many):
        memory = fresh(tmp_path, f"at-{number}")
        with injecting.before_commit(memory.store, number, injecting.conflict(memory.store)):
            history(memory)
        assert_sound(memory, calm)
        memory.store.dispose()


@pytest.mark.parametrize("how_many", HOW_MANY)
@pytest.mark.usefixtures("server")
def test_a_connection_lost_at_any_statement_changes_nothing(tmp_path: Path, how_many: int) -> None:
    calm = fresh(tmp_path, "calm")
    with injecting.at_statement(calm.store, None, injecting.cut(calm.store)) as counted:
        history(calm)
    for number in points(counted.count, how_many):
        memory = fresh(tmp_path, f"at-{number}")
        with injecting.at_statement(memory.store, number, injecting.cut(memory.store)):
            history(memory)
        assert_sound(memory, calm)
        memory.store.dispose()


@pytest.mark.parametrize("how_many", HOW_MANY)
@pytest.mark.usefixtures("server")
def test_a_connection_lost_before_any_commit_changes_nothing(tmp_path: Path, how_many: int) -> None:
    calm = fresh(tmp_path, "calm")
    with injecting.before_commit(calm.store, None, injecting.cut(calm.store)) as counted:
        history(calm)
    for number in points(counted.count, how_many):
        memory = fresh(tmp_path, f"at-{number}")
        with injecting.before_commit(memory.store, number, injecting.cut(memory.store)):
            history(memory)
        assert_sound(memory, calm)
        memory.store.dispose()


LOST_ANSWERS: dict[str, Callable[[], Exception]] = {
    "result is ambiguous": lambda: psycopg.errors.StatementCompletionUnknown("result is ambiguous"),
    "connection lost": lambda: psycopg.OperationalError("server closed the connection unexpectedly"),
    "shut down": lambda: psycopg.errors.AdminShutdown("terminating connection due to administrator command"),
}


@pytest.mark.parametrize("how_many", HOW_MANY)
@pytest.mark.usefixtures("server")
@pytest.mark.parametrize("how", LOST_ANSWERS)
def test_the_answer_to_any_commit_may_be_lost_and_its_work_is_not_done_twice(
    tmp_path: Path, how_many: int, how: str
) -> None:
    calm = fresh(tmp_path, "calm")
    with injecting.before_commit(calm.store, None, injecting.cut(calm.store)) as counted:
        history(calm)
    for number in points(counted.count, how_many):
        memory = fresh(tmp_path, f"at-{number}")
        with injecting.after_commit(memory.store, number, LOST_ANSWERS[how]()):
            history(memory)
        assert_sound(memory, calm)
        memory.store.dispose()


# --- real conflicts -----------------------------------------------------------------------------------------------


def at_once(store: Store, *works: Callable[[sa.Connection], None]) -> list[Exception]:
    """Run transactions in threads, each on a store of its own; what they raised."""
    raised: list[Exception] = []

    def run(work: Callable[[sa.Connection], None]) -> None:
        own = open_store(store.url.render_as_string(hide_password=False), patience=20)
        try:
            own.write(work)
        except StoreError as error:
            raised.append(error)
        finally:
            own.dispose()

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return raised


class Meeting:
    """Both transactions read before either writes, the first time."""

    def __init__(self) -> None:
        self._barrier = threading.Barrier(2)
        self.attempts = 0

    def met(self, own: list[int]) -> None:
        """Wait for the other one in the first attempt."""
        self.attempts += 1
        own.append(1)
        if len(own) == 1:
            self._barrier.wait(20)


@pytest.mark.usefixtures("server")
def test_what_two_transactions_conclude_from_the_same_rows_is_concluded_in_turn(tmp_path: Path) -> None:
    """Write skew: each adds a row because it saw none. One of them has to see the other's."""
    store = fresh(tmp_path, "m").store
    meeting = Meeting()

    def adding(name: str) -> Callable[[sa.Connection], None]:
        own: list[int] = []

        def work(connection: sa.Connection) -> None:
            count = connection.scalar(sa.select(sa.func.count()).select_from(source))
            meeting.met(own)
            if count == 0:
                connection.execute(sa.insert(source), {"name": name, "kind": "file", "origin": "file"})

        return work

    assert at_once(store, adding("a"), adding("b")) == []
    assert meeting.attempts == 3
    assert store.read(lambda c: c.scalar(sa.select(sa.func.count()).select_from(source))) == 1


@pytest.mark.usefixtures("server")
def test_a_row_that_two_transactions_add_is_added_by_one_and_found_by_the_other(tmp_path: Path) -> None:
    store = fresh(tmp_path, "m").store
    meeting = Meeting()

    def adding() -> Callable[[sa.Connection], None]:
        own: list[int] = []

        def work(connection: sa.Connection) -> None:
            known = connection.scalar(sa.select(source.c.name).where(source.c.name == "file"))
            meeting.met(own)
            if known is None:
                connection.execute(sa.insert(source), {"name": "file", "kind": "file", "origin": "file"})

        return work

    assert at_once(store, adding(), adding()) == []
    assert meeting.attempts == 3
    assert store.read(lambda c: c.scalars(sa.select(source.c.name)).all()) == ["file"]


@pytest.mark.usefixtures("server")
def test_no_increment_of_two_transactions_is_lost(tmp_path: Path) -> None:
    store = fresh(tmp_path, "m").store
    store.write(lambda c: c.execute(sa.insert(source), {"name": "n", "kind": "0", "origin": ""}))
    meeting = Meeting()

    def adding() -> Callable[[sa.Connection], None]:
        own: list[int] = []

        def work(connection: sa.Connection) -> None:
            held = int(connection.scalar(sa.select(source.c.kind)) or 0)
            meeting.met(own)
            connection.execute(sa.update(source).values(kind=str(held + 1)))

        return work

    assert at_once(store, adding(), adding()) == []
    assert store.read(lambda c: c.scalar(sa.select(source.c.kind))) == "2"


@pytest.mark.usefixtures("server")
def test_a_row_of_ours_that_is_refused_is_not_tried_for_ever(tmp_path: Path) -> None:
    store = fresh(tmp_path, "m").store
    calls: list[int] = []

    def work(connection: sa.Connection) -> None:
        calls.append(1)
        for _ in range(2):
            connection.execute(sa.insert(source), {"name": "n", "kind": "k", "origin": ""})

    with pytest.raises(StoreError, match="the store refused a statement: duplicate key"):
        store.write(work)
    assert len(calls) == 3


@pytest.mark.usefixtures("server")
def test_a_reader_writes_nothing(tmp_path: Path) -> None:
    store = fresh(tmp_path, "m").store
    with pytest.raises(StoreError, match="the database is read-only"):
        store.read(lambda c: c.execute(sa.insert(source), {"name": "n", "kind": "k", "origin": ""}))


def test_marks_of_processes_that_are_gone_do_not_pile_up(tmp_path: Path) -> None:
    """On CockroachDB, each thread that writes leaves one row."""
    with servers.places("cockroachdb") as place:
        url = place(tmp_path, "m")
        for _ in range(3):
            store = open_store(url)
            store.write(lambda c: c.execute(sa.insert(source), {"name": str(id(c)), "kind": "k", "origin": ""}))
            store.write(lambda c: c.execute(sa.update(commit_mark).values(at=sa.text("now() - INTERVAL '2 days'"))))
            store.dispose()
        store = open_store(url)
        store.write(lambda c: None)
        marks = store.read(lambda c: c.execute(sa.select(commit_mark.c.number)).scalars().all())
        store.dispose()
    assert sorted(marks) == [1, 2]  # its own, and that of the last one, which is fresh
