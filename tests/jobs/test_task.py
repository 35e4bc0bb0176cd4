"""task: an agent's working memory is kept for one task, expires, has bounds, and is no source of beliefs."""

from __future__ import annotations

from pathlib import Path

import pytest
import sqlalchemy as sa

from palimpsest.core.errors import UsageError
from palimpsest.core.moment import Moment, parse, to_datetime
from palimpsest.jobs import task
from palimpsest.jobs.task import MOST_KEYS, MOST_LETTERS, TaskEnded, TaskView
from palimpsest.store.migration_lease import OPERATIONAL
from palimpsest.testing import FixedClock
from tests.building import Memory

NOON = parse("2026-03-02T12:00:00Z")
HOUR = 3_600_000


@pytest.fixture
def memory(tmp_path: Path, dialect: str) -> Memory:
    return Memory(tmp_path)


def at(hours: float) -> FixedClock:
    """A clock so many hours after noon."""
    return FixedClock(Moment(NOON + round(hours * HOUR)), step=0)


def begin(memory: Memory, name: str = "triage", hours: float = 24.0) -> TaskView:
    return task.start(memory.store, name, hours=hours, about="late orders", observer="agent:scout", clock=at(0))


def put(memory: Memory, key: str, value: str, hours: float = 1.0, name: str = "triage") -> TaskView:
    return task.put(memory.store, name, key, value, observer="agent:scout", clock=at(hours))


def kept(memory: Memory, hours: float = 1.0) -> dict[str, str]:
    """What is kept for the task then."""
    return {item.key: item.value for item in task.get(memory.store, "triage", clock=at(hours)).items}


def rows(memory: Memory) -> int:
    """How many rows the table has, expired ones too."""
    asked = sa.text("SELECT count(*) FROM working")
    return memory.store.read(lambda connection: connection.execute(asked).scalar_one())


def test_what_is_put_is_kept_under_its_key_until_the_task_ends(memory: Memory) -> None:
    started = begin(memory)
    assert started == TaskView(
        name="triage",
        about="late orders",
        keys=0,
        observer="agent:scout",
        started=to_datetime(NOON),
        expires=to_datetime(Moment(NOON + 24 * HOUR)),
    )
    put(memory, "suspect", "the loader")
    put(memory, "seen", "3 tables")
    assert put(memory, "suspect", "the sensor", 2.0).keys == 2
    assert kept(memory, 3.0) == {"seen": "3 tables", "suspect": "the sensor"}
    assert [item.value for item in task.get(memory.store, "triage", "suspect", clock=at(3)).items] == ["the sensor"]
    assert [view.keys for view in task.list_tasks(memory.store, clock=at(3))] == [2]
    assert task.end(memory.store, "triage", clock=at(4)) == TaskEnded(name="triage", keys=2)
    assert (task.list_tasks(memory.store, clock=at(4)), rows(memory)) == ((), 0)


def test_a_task_that_expired_is_seen_by_nobody_and_the_next_write_takes_it_away(memory: Memory) -> None:
    begin(memory, hours=2.0)
    put(memory, "suspect", "the loader")
    assert kept(memory, 1.9) == {"suspect": "the loader"}
    with pytest.raises(UsageError, match="no task 'triage', or it has expired"):
        kept(memory, 2.0)
    with pytest.raises(UsageError, match="or it has expired"):
        put(memory, "more", "too late", 2.0)
    assert task.list_tasks(memory.store, clock=at(2)) == ()
    assert rows(memory) == 2
    task.start(memory.store, "other", hours=1, about="", observer="agent:scout", clock=at(3))
    assert rows(memory) == 1


def test_two_tasks_do_not_see_each_other_and_one_name_is_one_task(memory: Memory) -> None:
    begin(memory)
    begin(memory, "other")
    put(memory, "suspect", "the loader")
    assert [(view.name, view.keys) for view in task.list_tasks(memory.store, clock=at(1))] == [
        ("other", 0),
        ("triage", 1),
    ]
    with pytest.raises(UsageError, match="'triage' is there already, until 2026-03-03 12:00"):
        begin(memory)


def test_what_is_kept_has_bounds(memory: Memory) -> None:
    begin(memory)
    put(memory, "long", "x" * MOST_LETTERS)
    with pytest.raises(UsageError, match="has 20001 letters, at most 20000 are kept"):
        put(memory, "longer", "x" * (MOST_LETTERS + 1))
    for bad in ("", " ", "k" * 201):
        with pytest.raises(UsageError, match="a key has a name of 1 to 200 letters"):
            put(memory, bad, "x")
    for number in range(MOST_KEYS - 1):
        put(memory, f"key {number}", "x")
    with pytest.raises(UsageError, match="has 500 keys already"):
        put(memory, "one more", "x")
    assert put(memory, "long", "shorter").keys == MOST_KEYS
    for hours in (0.0, -1.0, 721.0, float("nan")):
        with pytest.raises(UsageError, match="a task lasts more than 0 and at most 720 hours"):
            begin(memory, "another", hours)


def test_a_secret_is_not_kept_whichever_way_it_comes(memory: Memory) -> None:
    secret = "AKIA" + "IOSFODNN7EXAMPLE"
    begin(memory)
    for write in (
        lambda: put(memory, "key", f"use {secret}"),
        lambda: put(memory, secret, "x"),
        lambda: task.start(memory.store, "t", hours=1, about=secret, observer="agent:scout", clock=at(0)),
    ):
        with pytest.raises(UsageError, match="holds an AWS access key; secrets are not remembered") as caught:
            write()
        assert secret not in str(caught.value)
    assert rows(memory) == 1


def test_nothing_but_its_own_table_is_written(memory: Memory) -> None:
    found = memory.store.read(lambda connection: sa.inspect(connection).get_table_names())
    names = [name for name in found if name not in OPERATIONAL]

    def counts() -> dict[str, int]:
        def work(connection: sa.Connection) -> dict[str, int]:
            return {n: connection.execute(sa.text(f'SELECT count(*) FROM "{n}"')).scalar_one() for n in names}

        return memory.store.read(work)

    before = counts()
    begin(memory)
    put(memory, "suspect", "the orders table is owned by mira")
    memory.consolidate(at="2026-03-02T13:00:00Z")
    memory.index()
    assert {name: count for name, count in counts().items() if count != before[name]} == {"working": 2}
