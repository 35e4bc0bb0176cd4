"""index: what is searched is what is held, whatever ended the pass, and nothing stale writes nothing."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import sqlalchemy as sa

from palimpsest.core.ids import EntityId
from palimpsest.core.moment import Moment
from palimpsest.core.passage import Passage
from palimpsest.jobs.index import index
from palimpsest.jobs.verify import verify
from palimpsest.store import passages
from palimpsest.store.engine import Connection, Store, open_store
from palimpsest.store.schema import entity, passage, passage_of
from palimpsest.testing import FixedClock, NoProgress
from tests.building import Memory, dataset, mcp, owners, schema, status, text

pytestmark = pytest.mark.usefixtures("dialect")

ORDERS, USERS = dataset("shop.public.orders"), dataset("shop.public.users")
MONDAY, TUESDAY = "2026-03-02T08:00:00Z", "2026-03-03T08:00:00Z"


def said(memory: Memory, *, current: bool = True) -> list[str]:
    """The texts that are searched, by entity and text."""
    statement = sa.select(passage.c.text).where(passage.c.current == current)
    return sorted(memory.store.read(lambda connection: list(connection.scalars(statement))))


def broken(memory: Memory) -> int:
    return verify(memory.store, clock=memory.clock, progress=NoProgress()).broken


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    memory = Memory(tmp_path)
    first = [
        mcp(ORDERS, "ownership", owners("jonas")),
        mcp(ORDERS, "schemaMetadata", schema(("id", "bigint"), ("note", "text"))),
        mcp(USERS, "ownership", owners("lea")),
    ]
    memory.remember(first, at=MONDAY)
    return memory


def test_a_pass_writes_what_is_held_and_the_next_one_nothing(memory: Memory) -> None:
    report = memory.index()
    assert (report.entities, report.dropped, report.kept) == (2, 0, 0)
    assert report.written == len(said(memory))
    assert "dataset shop.public.orders (postgres): owner: jonas" in said(memory)
    again = memory.index()
    assert (again.entities, again.written, again.dropped, again.kept) == (0, 0, 0, 0)
    assert broken(memory) == 0


def test_a_change_renews_its_entity_and_keeps_what_stayed(memory: Memory) -> None:
    memory.index()
    before = set(said(memory))
    memory.remember([mcp(ORDERS, "ownership", owners("ana"))], at=TUESDAY)
    report = memory.index()
    assert (report.entities, report.written, report.dropped) == (1, 2, 1)
    assert set(said(memory)) - before == {"dataset shop.public.orders (postgres): owner: ana"}
    assert said(memory, current=False) == ["dataset shop.public.orders (postgres): owner: jonas"]
    assert broken(memory) == 0


def test_what_is_gone_is_not_searched_as_current(memory: Memory) -> None:
    memory.index()
    memory.remember([mcp(ORDERS, "status", status(removed=True))], at=TUESDAY)
    memory.index()
    assert [one for one in said(memory) if "orders" in one] == ["dataset shop.public.orders (postgres): soft-deleted"]
    assert broken(memory) == 0


def test_a_pass_that_fails_at_any_step_goes_on_where_it_stood(memory: Memory) -> None:
    """One entity a step, and every second step fails after all was written: nothing of it stays."""
    ids, after, done = memory.store.ids, EntityId(bytes(16)), 0

    class StopError(Exception):
        pass

    def fail(connection: Connection) -> None:
        assert passages.renew_some(connection, ids, after=after, now=Moment(1)) is not None
        raise StopError

    while memory.store.read(passages.count_stale):
        with pytest.raises(StopError):
            memory.store.write(fail)
        found = memory.store.write(lambda c: passages.renew_some(c, ids, after=after, now=Moment(1)))
        assert found is not None
        done += len(found.entities)
    assert done == 2
    assert broken(memory) == 0
    assert memory.index().entities == 0


def test_several_passes_at_once_come_to_the_same(tmp_path: Path) -> None:
    memory = Memory(tmp_path)
    names = [dataset(f"shop.table_{number}") for number in range(300)]
    memory.remember([mcp(name, "ownership", owners("lea")) for name in names], at=MONDAY)
    stores = [open_store(memory.url) for _ in range(3)]

    def renew(store: Store) -> int:
        return index(store, clock=FixedClock(Moment(1), step=0), progress=NoProgress()).written

    with ThreadPoolExecutor(len(stores)) as threads:
        written = list(threads.map(renew, stores))
    for store in stores:
        store.dispose()
    assert sum(written) == len(said(memory)) == 600
    assert broken(memory) == 0


def test_a_wide_table_is_one_step_of_its_own(tmp_path: Path) -> None:
    memory = Memory(tmp_path)
    wide = [(f"column_{number}", "text") for number in range(4_000)]
    memory.remember([mcp(ORDERS, "schemaMetadata", schema(*wide)), mcp(USERS, "ownership", owners("lea"))], at=MONDAY)
    assert memory.index().entities == 2
    stated = memory.store.read(lambda c: c.scalar(sa.select(sa.func.count()).select_from(passage_of)))
    assert stated is not None
    assert stated >= 4_000
    assert broken(memory) == 0


def test_passages_whose_numbers_are_taken_get_the_next(memory: Memory) -> None:
    """Two texts of one entity with one hash, and one that is there already."""
    ids = memory.store.ids
    about = ids.entity(ORDERS)
    given = [Passage("file", "tags", True, "one", "one", ()), Passage("file", "tags", True, "one", "one", ())]
    number = passages.number_of(ids, about, given[0])

    def work(connection: Connection) -> list[int]:
        row = {"id": number, "entity_id": about, "source": "file", "aspect": "tags", "current": True}
        connection.execute(sa.insert(passage), row | {"text": "one", "terms": "one"})
        return sorted(passages._numbered(connection, ids, [(about, one) for one in given]))

    assert memory.store.write(work) == [number + 1, number + 2]


def test_verify_names_an_entity_whose_passages_are_not_what_is_held(memory: Memory) -> None:
    memory.index()

    def work(connection: Connection) -> None:
        some = sa.select(sa.func.min(passage.c.id)).where(passage.c.aspect == "ownership").scalar_subquery()
        connection.execute(sa.delete(passage).where(passage.c.id == some))

    memory.store.write(work)
    report = verify(memory.store, clock=memory.clock, progress=NoProgress())
    assert [(rule.rule, rule.broken) for rule in report.rules if rule.broken] == [("R13", 1)]
    memory.store.write(lambda c: c.execute(sa.update(entity).values(indexed_at=None)))
    assert broken(memory) == 0
    memory.index()
    assert broken(memory) == 0


def test_verify_names_a_passage_that_is_searched_as_current_and_states_what_is_not(memory: Memory) -> None:
    memory.remember([mcp(ORDERS, "ownership", owners("ana"))], at=TUESDAY)
    memory.index()

    def work(connection: Connection) -> None:
        mine = sa.select(passage.c.id).where(passage.c.current, passage.c.text.endswith("owner: ana"))
        connection.execute(sa.update(passage_of).where(passage_of.c.passage_id.in_(mine)).values(number=1))

    memory.store.write(work)
    report = verify(memory.store, clock=memory.clock, progress=NoProgress())
    assert [(rule.rule, rule.broken) for rule in report.rules if rule.broken] == [("R12", 1), ("R13", 1)]


def test_hostile_text_is_stored_and_searched(tmp_path: Path) -> None:
    memory = Memory(tmp_path)
    hostile = "' \" \\ \x00 : & | ! (NEAR) * \u202e 🔥 'a':1A  \ud800"
    records = [mcp(ORDERS, "datasetProperties", text(hostile))]
    memory.remember(records, at=MONDAY)
    assert memory.index().entities == 1
    assert broken(memory) == 0
