"""erase: a name is replaced everywhere, and stays so when the catalog is read again, or somebody says it again.

Every test ends with a store that breaks no rule, in no table of which the name stands.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from palimpsest.core.errors import LeaseHeldError, UsageError
from palimpsest.core.moment import parse
from palimpsest.jobs import task
from palimpsest.jobs.dump import record
from palimpsest.jobs.erase import DumpView, EraseReport, erase
from palimpsest.jobs.note import note
from palimpsest.jobs.reinforce import Recalled, reinforce
from palimpsest.jobs.verify import verify
from palimpsest.queries.held import When
from palimpsest.queries.history import history
from palimpsest.store import readings, runs
from palimpsest.store.engine import Store
from palimpsest.store.readings import Batch
from palimpsest.testing import NoProgress
from tests.building import Memory, Record, dataset, mcp, owners, schema, status, tags, text

ORDERS, CLICKS = dataset("shop.orders"), dataset("shop.clicks")
ALICE = "urn:li:corpuser:alice"
PERSON = "urn:palimpsest:person:alice"
SALT = "7f3a00117f3a0011"
PSEUDONYM = f"erased-{SALT}"


@pytest.fixture
def memory(tmp_path: Path, dialect: str) -> Iterator[Memory]:
    made = Memory(tmp_path)
    yield made
    assert broken(made) == []
    assert named(made, "alice") == []
    made.index()
    assert (broken(made), named(made, "alice")) == ([], [])


def stated(words: str = "Ask Alice (alice@corp.com) about orders", by: str = "alice") -> list[Record]:
    """One reading of two datasets in which Alice is named in every way."""
    properties = text(words) | {"customProperties": {"alice": "the keeper", "contact": "alice"}}
    return [
        mcp(ORDERS, "status", status()),
        mcp(ORDERS, "ownership", owners("alice", "bob", at="2026-03-01T07:00:00Z", by=by)),
        mcp(ORDERS, "datasetProperties", properties),
        mcp(ORDERS, "schemaMetadata", schema(("buyer", "TEXT", "as alice entered it"), ("id", "INT"))),
        mcp(ORDERS, "globalTags", tags("gold")),
        mcp(CLICKS, "status", status()),
        mcp(CLICKS, "ownership", owners("bob")),
    ]


def do(memory: Memory, urn: str = ALICE, *, dry_run: bool = False, salt: str = SALT) -> EraseReport:
    return erase(
        memory.store,
        urn,
        salt=lambda: salt,
        clock=memory._tick(),
        progress=NoProgress(),
        holder="test:1:",
        dry_run=dry_run,
    )


def broken(memory: Memory) -> list[tuple[str, tuple[str, ...]]]:
    report = verify(memory.store, clock=memory._tick(), progress=NoProgress())
    return [(rule.rule, rule.examples) for rule in report.rules if rule.broken]


def named(memory: Memory, word: str) -> list[str]:
    """The tables in which a word stands."""

    def work(connection: sa.Connection) -> list[str]:
        return [
            name
            for name in sa.inspect(connection).get_table_names()
            if not name.startswith("passage_text")
            for row in connection.execute(sa.text(f'SELECT * FROM "{name}"'))
            if any(word in str(value).lower() for value in row if not isinstance(value, bytes))
        ]

    return sorted(set(memory.store.read(work)))


def values(memory: Memory, aspect: str) -> list[object]:
    """The values of an aspect's episodes about the orders, by key and number."""
    asked = sa.text(
        "SELECT e.value FROM episode e JOIN cell c ON c.id = e.cell_id JOIN entity n ON n.id = c.entity_id "
        "WHERE c.aspect = :aspect AND n.urn = :urn ORDER BY c.key, e.number"
    )
    given = {"aspect": aspect, "urn": ORDERS}
    rows = memory.store.read(lambda connection: connection.execute(asked, given).scalars().all())
    return [json.loads(value) for value in rows]


def column(memory: Memory, statement: str) -> list[object]:
    return list(memory.store.read(lambda connection: connection.execute(sa.text(statement)).scalars().all()))


def test_the_name_is_replaced_in_values_stamps_keys_and_what_is_searched(memory: Memory) -> None:
    memory.remember(stated(), at="2026-03-02T08:00:00Z")
    memory.index()
    plan = do(memory, dry_run=True)
    assert (plan.run, plan.pseudonym, plan.dry_run) == ("", "erased-…", True)
    assert plan.counts["values"] == 4  # owners, description, one property's value, one column's text
    assert (plan.counts["actors"], plan.counts["keys"]) == (1, 1)
    assert "episode" in named(memory, "alice")
    report = do(memory)
    assert (report.pseudonym, report.counts) == (PSEUDONYM, plan.counts)
    owned = [[f"urn:li:corpuser:{name}", "TECHNICAL_OWNER"] for name in (PSEUDONYM, "bob")]
    assert [sorted(value, reverse=True) for value in values(memory, "ownership")] == [owned]  # type: ignore[call-overload]
    assert values(memory, "description") == [f"Ask {PSEUDONYM} ({PSEUDONYM}@erased.invalid) about orders"]
    assert sorted(values(memory, "property")) == sorted(["the keeper", PSEUDONYM])  # type: ignore[type-var]
    assert [one["description"] for one in values(memory, "column") if "description" in one] == [  # type: ignore[operator, index]
        f"as {PSEUDONYM} entered it"
    ]
    assert column(memory, "SELECT key FROM cell WHERE aspect = 'property' ORDER BY key") == ["contact", PSEUDONYM]
    assert column(memory, "SELECT DISTINCT actor FROM episode WHERE actor IS NOT NULL") == [
        f"urn:li:corpuser:{PSEUDONYM}"
    ]


def test_reading_the_same_catalog_again_writes_nothing_and_so_does_another_spelling_of_it(memory: Memory) -> None:
    memory.remember(stated(), at="2026-03-02T08:00:00Z")
    do(memory)
    assert memory.scan(stated(), at="2026-03-03T08:00:00Z").written == 0
    spelt = [mcp(ORDERS, "ownership", owners("bob", "alice", at="2026-03-01T07:00:00Z", by="alice"))]
    spelt.append(
        mcp(ORDERS, "datasetProperties", stated("Ask  Alice (alice@corp.com) about orders")[2]["aspect"]["json"])
    )
    assert memory.scan(spelt, at="2026-03-04T08:00:00Z").written == 0


def test_a_change_that_names_the_person_is_written_down_with_the_pseudonym(memory: Memory) -> None:
    memory.remember(stated(), at="2026-03-02T08:00:00Z")
    do(memory)
    memory.clock.at = parse("2026-03-03T08:00:00Z")
    report = memory.scan(stated("Alice left; urn:li:corpuser:alice too", by="alice"), at="2026-03-03T08:00:00Z")
    assert report.written == 1
    memory.consolidate()
    assert values(memory, "description")[-1] == f"{PSEUDONYM} left; urn:li:corpuser:{PSEUDONYM} too"
    patch = [{"op": "remove", "path": f"/owners/{ALICE}/TECHNICAL_OWNER", "value": {}}]
    assert memory.scan([mcp(ORDERS, "ownership", patch, "PATCH")], at="2026-03-04T08:00:00Z").written == 1
    memory.consolidate()
    assert values(memory, "ownership")[-1] == [["urn:li:corpuser:bob", "TECHNICAL_OWNER"]]


def test_a_source_that_names_the_person_for_the_first_time_never_gets_the_name_in(memory: Memory) -> None:
    memory.remember([mcp(ORDERS, "status", status())], at="2026-03-02T08:00:00Z")
    report = do(memory)
    assert (report.run, report.counts, report.pseudonym) == ("", {}, PSEUDONYM)
    memory.remember(stated(), at="2026-03-03T08:00:00Z", source="second")
    assert f"Ask {PSEUDONYM} ({PSEUDONYM}@erased.invalid) about orders" in values(memory, "description")


def test_erasing_again_finds_nothing_and_keeps_the_pseudonym(memory: Memory) -> None:
    memory.remember(stated(), at="2026-03-02T08:00:00Z")
    do(memory)
    again = do(memory, PERSON, salt="ffff")
    assert (again.run, again.counts, again.pseudonym) == ("", {}, PSEUDONYM)
    assert do(memory, dry_run=True).pseudonym == PSEUDONYM
    with pytest.raises(UsageError, match=f"{PSEUDONYM} is a pseudonym already"):
        do(memory, f"urn:li:corpuser:{PSEUDONYM}")


def test_history_goes_on_under_the_new_key_with_every_version(memory: Memory) -> None:
    for day, keeper in enumerate(["the keeper", "nobody", "the keeper"], start=2):
        body = text("Orders") | {"customProperties": {"alice": keeper}}
        memory.remember([mcp(ORDERS, "datasetProperties", body)], at=f"2026-03-0{day}T08:00:00Z")
    do(memory)
    when = When(now=memory.clock.now())
    (belief,) = history(memory.store, "orders", "property", PSEUDONYM, when).beliefs
    assert [(one.number, one.value, one.reverts_to) for one in belief.versions] == [
        (3, "the keeper", 1),
        (2, "nobody", None),
        (1, "the keeper", None),
    ]


# --- notes ------------------------------------------------------------------------------------------------------


def take(memory: Memory, words: str, by: str = "person:alice", urn: str = ORDERS) -> None:
    note(memory.store, urn=urn, text=words, observer=by, clock=memory._tick(), holder="test:1:")


def test_an_observer_is_renamed_with_the_cells_that_bear_the_name(memory: Memory) -> None:
    memory.remember([mcp(ORDERS, "status", status())], at="2026-03-02T08:00:00Z")
    take(memory, "The loader is late on Mondays, says Alice.")
    take(memory, "The loader is late.", by="person:Alice")
    take(memory, "The loader is on time.", by="person:bob")
    report = do(memory)
    assert report.counts == {"observers": 2, "values": 1}
    observers = column(memory, "SELECT observer FROM cell WHERE source = 'notes' ORDER BY observer")
    assert observers == ["person:bob", f"person:{PSEUDONYM}", f"person:{PSEUDONYM}"]
    take(memory, "Alice says it is fine now.")
    assert f"{PSEUDONYM} says it is fine now." in values(memory, "note")


def test_an_entity_that_is_the_person_gets_a_name_and_an_id_of_its_own(memory: Memory) -> None:
    memory.remember([mcp(ORDERS, "status", status())], at="2026-03-02T08:00:00Z")
    ids = memory.store.ids
    batch = Batch(entities={ids.entity(PERSON): PERSON})
    memory.store.write(lambda connection: readings.write_batch(connection, batch))
    take(memory, "Away until May.", by="agent:scout", urn=PERSON)
    report = do(memory, PERSON)
    assert report.counts["entities"] == 1
    urn = f"urn:palimpsest:person:{PSEUDONYM}"
    assert sorted(column(memory, "SELECT urn FROM entity")) == sorted([ORDERS, urn])
    take(memory, "Back again.", by="agent:scout", urn=PERSON)
    asked = sa.text("SELECT count(*) FROM cell c JOIN entity e ON e.id = c.entity_id WHERE e.urn = :urn")
    assert memory.store.read(lambda connection: connection.execute(asked, {"urn": urn}).scalar_one()) == 2


def test_questions_working_memory_and_what_runs_tell_are_replaced_too(memory: Memory) -> None:
    memory.remember([mcp(ORDERS, "status", status())], at="2026-03-02T08:00:00Z")
    asked = Recalled(question="what does Alice own?", surface="test", answer="nothing", versions=[], scores=[])
    reinforce(memory.store, asked, clock=memory._tick(), holder="test:1:")
    task.start(memory.store, "for alice", hours=5, about="", observer="person:alice", clock=memory._tick())
    task.put(memory.store, "for alice", "who", "alice", observer="agent:scout", clock=memory._tick())
    assert do(memory).counts == {"questions": 1, "tasks": 2}
    assert column(memory, "SELECT question FROM recall_log") == [f"what does {PSEUDONYM} own?"]
    assert [view.keys for view in task.list_tasks(memory.store, clock=memory._tick())] == [1]


def test_what_is_asked_and_kept_later_never_holds_the_name(memory: Memory) -> None:
    do(memory)
    asked = Recalled(question="and urn:li:corpuser:alice?", surface="test", answer="nothing", versions=[], scores=[])
    reinforce(memory.store, asked, clock=memory._tick(), holder="test:1:")
    task.start(memory.store, "for alice", hours=5, about="alice", observer="person:alice", clock=memory._tick())
    task.put(memory.store, "for alice", "alice", "alice", observer="person:alice", clock=memory._tick())
    assert [one.key for one in task.get(memory.store, "for alice", "alice", clock=memory._tick()).items] == [PSEUDONYM]
    assert column(memory, "SELECT question FROM recall_log") == [f"and urn:li:corpuser:{PSEUDONYM}?"]
    assert task.end(memory.store, "for alice", clock=memory._tick()).keys == 1


# --- what is in the way, and what is left -----------------------------------------------------------------------


def test_nothing_is_erased_while_a_scan_is_at_work_and_the_next_time_it_is(memory: Memory) -> None:
    memory.remember(stated(), at="2026-03-02T08:00:00Z")
    lease = runs.acquire(
        memory.store, job="scan", source_name="file", rules="1", now=memory._tick().now(), holder="elsewhere:1:"
    )
    with pytest.raises(LeaseHeldError, match="scan is at work, and may be writing the name"):
        do(memory)
    assert "episode" in named(memory, "alice")
    runs.release(memory.store, lease, state="done", now=memory._tick().now(), counts={})
    assert do(memory, salt="0000").pseudonym == PSEUDONYM


def test_an_entity_that_is_being_consolidated_is_waited_for(memory: Memory) -> None:
    memory.remember(stated(), at="2026-03-02T08:00:00Z")
    until = memory.clock.now() + 60_000
    hold(memory.store, until)
    with pytest.raises(LeaseHeldError, match="elsewhere is consolidating what names the person"):
        do(memory)
    memory.clock.at = parse("2026-03-02T09:00:00Z")
    assert do(memory).counts["values"] == 4


def hold(store: Store, until: int) -> None:
    asked = sa.text("UPDATE entity SET holder = 'elsewhere:1:', held_until = :until")
    store.write(lambda connection: connection.execute(asked, {"until": until}))


def test_dumps_that_may_hold_the_name_are_named(memory: Memory) -> None:
    memory.remember(stated(), at="2026-03-02T08:00:00Z")
    made = memory._tick().now()
    record(memory.store, "/backups/monday.jsonl", clock=memory.clock, holder="test:1:")
    report = do(memory)
    assert [one.file for one in report.dumps] == ["/backups/monday.jsonl"]
    assert isinstance(report.dumps[0], DumpView)
    assert int(report.dumps[0].made.timestamp() * 1000) == made


def test_the_name_is_not_in_the_bytes_of_the_file(tmp_path: Path) -> None:
    memory = Memory(tmp_path)
    memory.remember(stated(), at="2026-03-02T08:00:00Z")
    memory.index()
    memory.remember(stated("Alice, again"), at="2026-03-03T08:00:00Z")
    memory.index()
    assert do(memory).rewritten is True
    memory.index()
    files = sorted(tmp_path.glob("memory.db*"))
    assert [file.name for file in files if b"alice" in file.read_bytes().lower()] == []


def test_a_pseudonym_differs_from_store_to_store(tmp_path: Path) -> None:
    one, other = Memory(tmp_path, name="one.db"), Memory(tmp_path, name="other.db")
    assert do(one, salt="aa11").pseudonym != do(other, salt="bb22").pseudonym
