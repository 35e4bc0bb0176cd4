"""What a listing is made from is kept by the index pass, counted by verify, and made again after a load."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from palimpsest.core.moment import Moment, parse
from palimpsest.jobs.load import load
from palimpsest.jobs.verify import verify
from palimpsest.queries.listing import Wanted, listing
from palimpsest.store import answers, labels, migrate
from palimpsest.store.engine import Store, open_store
from palimpsest.store.labels import Counts
from palimpsest.store.schema import entity, label
from palimpsest.testing import NoProgress
from tests.building import Memory, dataset, mcp, owners, status, tags
from tests.jobs.dumps import dumped
from tests.store.test_migrate import at_revision

ORDERS, USERS = dataset("shop.public.orders"), dataset("shop.public.users")
MONDAY, TUESDAY, WEDNESDAY = (f"2026-03-0{day}T08:00:00Z" for day in (2, 3, 4))
ANA, JONAS, LEA = (f"urn:li:corpuser:{name}" for name in ("ana", "jonas", "lea"))


@pytest.fixture
def memory(tmp_path: Path, dialect: str) -> Memory:
    """Orders with an owner that was replaced."""
    memory = Memory(tmp_path)
    first = [
        mcp(ORDERS, "status", status()),
        mcp(ORDERS, "ownership", owners("jonas")),
        mcp(ORDERS, "globalTags", tags("pii")),
        mcp(USERS, "status", status()),
        mcp(USERS, "ownership", owners("lea")),
    ]
    memory.remember(first, at=MONDAY)
    memory.remember([mcp(ORDERS, "ownership", owners("ana", "lea"))], at=TUESDAY)
    memory.index()
    return memory


def held(store: Store) -> list[tuple[str, str, str]]:
    """(URN, aspect, member) of every label."""
    statement = sa.select(entity.c.urn, label.c.aspect, label.c.member).join(label, label.c.entity_id == entity.c.id)
    return sorted(tuple(row) for row in store.read(lambda connection: connection.execute(statement).all()))


def counts(memory: Memory, urn: str) -> Counts:
    id_ = memory.store.ids.entity(urn)
    return memory.store.read(lambda connection: labels.held(connection, [id_]))[id_].counts


def broken(memory: Memory) -> dict[str, tuple[str, ...]]:
    report = verify(memory.store, clock=memory.clock, progress=NoProgress())
    return {rule.rule: rule.examples for rule in report.rules if rule.broken}


def test_the_pass_counts_what_rows_give(memory: Memory) -> None:
    assert held(memory.store) == [
        (ORDERS, "ownership", ANA),
        (ORDERS, "ownership", LEA),
        (ORDERS, "tags", "urn:li:tag:pii"),
        (USERS, "ownership", LEA),
    ]
    assert counts(memory, ORDERS) == Counts(parse(TUESDAY), 1, parse(MONDAY), 3, gone=False)
    assert counts(memory, USERS) == Counts(None, 0, parse(MONDAY), 2, gone=False)


def test_what_is_counted_is_what_our_link_in_the_catalog_counts(memory: Memory) -> None:
    for urn in (ORDERS, USERS):
        id_ = memory.store.ids.entity(urn)
        told = memory.store.read(lambda connection, id_=id_: answers.label_count(connection, id_))
        here = counts(memory, urn)
        assert (told.beliefs, told.revisions, told.latest) == (here.beliefs, here.revisions, here.changed_at)


def test_what_is_gone_has_no_labels_and_gets_them_back_when_it_returns(memory: Memory) -> None:
    memory.remember([mcp(USERS, "status", status(removed=True))], at=WEDNESDAY)
    memory.index()
    assert [one for one in held(memory.store) if one[0] == USERS] == []
    assert counts(memory, USERS) == Counts(parse(WEDNESDAY), 1, parse(MONDAY), 2, gone=True)
    memory.remember([mcp(USERS, "status", status())], at="2026-03-05T08:00:00Z")
    memory.index()
    assert [one for one in held(memory.store) if one[0] == USERS] == [(USERS, "ownership", LEA)]
    assert not counts(memory, USERS).gone
    assert broken(memory) == {}


def test_a_pass_writes_no_label_that_stays(memory: Memory) -> None:
    memory.store.write(lambda c: c.execute(sa.update(entity).values(indexed_at=None)))
    said: list[str] = []
    sa.event.listen(memory.store.engine, "before_cursor_execute", lambda *given: said.append(given[2]))
    memory.index()
    assert held(memory.store)
    assert [text for text in said if "INTO label" in text or "FROM label" in text.replace("\n", " ")[:20]] == []


def test_verify_names_a_label_that_is_not_current(memory: Memory) -> None:
    id_ = memory.store.ids.entity(ORDERS)
    row = {"aspect": "ownership", "member": JONAS, "entity_id": id_}
    memory.store.write(lambda connection: connection.execute(sa.insert(label), row))
    found = broken(memory)
    assert list(found) == ["R12", "R13"]
    assert found["R12"] == (f"entity {ORDERS}: ownership {JONAS} is not current",)
    memory.store.write(lambda c: c.execute(sa.update(entity).values(indexed_at=None)))
    assert broken(memory) == {}  # what waits for the pass is not shown so
    memory.index()
    assert broken(memory) == {}


def test_verify_names_a_label_that_is_missing_and_numbers_that_rows_do_not_give(memory: Memory) -> None:
    memory.store.write(lambda c: c.execute(sa.delete(label).where(label.c.member == ANA)))
    memory.store.write(lambda c: c.execute(sa.update(entity).where(entity.c.urn == USERS).values(revisions=7)))
    found = broken(memory)
    assert list(found) == ["R13"]
    assert sorted(found["R13"]) == [
        f"entity {ORDERS}: it is listed by ownership {ANA}, not as it is current",
        f"entity {USERS}: it is listed by revisions 7, counted 0",
    ]


def test_verify_names_an_entity_that_counts_as_indexed_and_was_never_counted(memory: Memory) -> None:
    memory.store.write(lambda c: c.execute(sa.update(entity).where(entity.c.urn == USERS).values(beliefs=None)))
    assert broken(memory) == {"R13": (f"entity {USERS}: it is listed by nothing",)}


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Store]:
    """An empty store."""
    store = open_store(f"sqlite:///{tmp_path}/other.db")
    migrate.upgrade(store, now=Moment(1))
    yield store
    store.dispose()


def test_after_a_load_everything_waits_to_be_counted(memory: Memory, other: Store) -> None:
    """Listed all the same, and after the pass as before."""
    lines = dumped(memory.store)
    before = listing(memory.store, Wanted(), memory.clock.at)
    load(other, "dump", iter(lines), clock=memory.clock, progress=NoProgress())
    after = listing(other, Wanted(), memory.clock.at)
    assert held(other) == []
    assert (after.waiting, after.entities) == (2, before.entities)


def test_what_was_indexed_before_there_were_counts_is_to_be_indexed_again(tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path}/memory.db")
    at_revision(store, "0048")
    row = {"id": bytes(16), "urn": "u", "kind": "dataset", "platform": "p", "name": "n", "indexed_at": 1}
    store.write(lambda connection: connection.execute(sa.insert(entity), row))
    migrate.upgrade(store, now=Moment(1))
    assert store.read(lambda connection: connection.scalar(sa.select(entity.c.indexed_at))) is None
    store.dispose()
