"""What was forgotten, erased and put into working memory moves with a dump, and stays so where it is loaded."""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa

from palimpsest.core.moment import parse
from palimpsest.jobs import task
from palimpsest.jobs.dump import record
from palimpsest.jobs.erase import erase
from palimpsest.jobs.forget import ForgetRequest, forget
from palimpsest.store import dumps_made
from palimpsest.testing import NoProgress
from tests.building import Memory, dataset, mcp, owners, text
from tests.jobs.dumps import dumped, empty, loaded

ORDERS = dataset("orders")


def lived(folder: Path) -> Memory:
    """A memory in which a text was forgotten, a person erased, and a task begun."""
    memory = Memory(folder)
    for day, words in enumerate(["One", "Two", "Three, by alice"], start=1):
        stated = [mcp(ORDERS, "ownership", owners("alice")), mcp(ORDERS, "datasetProperties", text(words))]
        memory.remember(stated, at=f"2026-03-0{day}T08:00:00Z")
    at = {"clock": memory._tick(), "progress": NoProgress(), "holder": "test:1:"}
    memory.now("2026-03-10T08:00:00Z")
    forget(memory.store, ForgetRequest(superseded_before=parse("2026-03-05")), **at)
    erase(memory.store, "urn:li:corpuser:alice", salt=lambda: "7f3a", **at)
    task.start(memory.store, "triage", hours=500, about="late orders", observer="agent:scout", clock=memory._tick())
    task.put(memory.store, "triage", "suspect", "the loader", observer="agent:scout", clock=memory._tick())
    return memory


def test_a_dump_carries_all_of_it_and_another_one_of_the_loaded_store_is_equal(tmp_path: Path, dialect: str) -> None:
    memory = lived(tmp_path)
    lines = dumped(memory.store)
    store = empty(tmp_path)
    assert loaded(store, lines).verify.broken == 0
    assert dumped(store)[1:-1] == lines[1:-1]
    asked = sa.text("SELECT count(*) FROM episode WHERE forgotten_at IS NOT NULL AND value = 'null'")
    assert store.read(lambda connection: connection.execute(asked).scalar_one()) == 2
    kept = task.get(store, "triage", clock=memory._tick())
    assert [(item.key, item.value) for item in kept.items] == [("suspect", "the loader")]


def test_the_pseudonym_still_stands_for_the_person_where_the_dump_was_loaded(tmp_path: Path) -> None:
    memory = lived(tmp_path)
    store = empty(tmp_path)
    loaded(store, dumped(memory.store))
    memory.store, memory.url = store, str(store.url)
    report = memory.scan([mcp(ORDERS, "datasetProperties", text("Four, by Alice"))], at="2026-03-20T08:00:00Z")
    assert report.written == 1
    newest = sa.text("SELECT value FROM episode ORDER BY observed_at DESC LIMIT 1")
    assert store.read(lambda connection: connection.execute(newest).scalar_one()) == '"Four, by erased-7f3a"'


def test_that_a_store_was_dumped_is_kept_and_is_no_part_of_a_dump(tmp_path: Path) -> None:
    memory = lived(tmp_path)
    before = dumped(memory.store)
    record(memory.store, "/backups/a.jsonl", clock=memory._tick(), holder="test:1:")
    record(memory.store, "/backups/b.jsonl", clock=memory._tick(), holder="test:1:")
    record(memory.store, "/backups/a.jsonl", clock=memory._tick(), holder="test:1:")
    assert [made.file for made in memory.store.read(dumps_made.listed)] == ["/backups/b.jsonl", "/backups/a.jsonl"]
    assert dumped(memory.store)[1:-1] == before[1:-1]
