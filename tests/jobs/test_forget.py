"""forget: what is weak and bears nothing goes, what is held stays; texts of closed versions go, and are said to have.

What is forgotten is nowhere: not in a table, not in an index, and on SQLite not in the bytes of the file.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa

from palimpsest.core.errors import UsageError
from palimpsest.core.moment import parse
from palimpsest.jobs.embed import embed
from palimpsest.jobs.forget import ForgetReport, ForgetRequest, forget
from palimpsest.jobs.reinforce import Recalled, reinforce
from palimpsest.jobs.verify import verify
from palimpsest.queries.changes import ChangesRequest, changes
from palimpsest.queries.held import When
from palimpsest.queries.history import history, why
from palimpsest.queries.recall import RecallRequest, recall
from palimpsest.queries.show import show
from palimpsest.store.engine import open_store
from palimpsest.surfaces.cli import forget as command
from palimpsest.testing import NoProgress
from palimpsest.testing.embedder import WordEmbedder
from tests.building import Memory, dataset, mcp, owners, status, text

ORDERS = dataset("shop.orders")
SAID = "All orders of the shop, one row for each of them"
MARKED = "Quokkas only, by the zebrafish"


@pytest.fixture
def memory(tmp_path: Path, dialect: str) -> Memory:
    return Memory(tmp_path)


def say(memory: Memory, words: str, day: int, **more: str) -> None:
    """A reading of that day of March 2026, consolidated and indexed."""
    at = f"2026-03-{day:02}T08:00:00Z"
    stated = [mcp(ORDERS, "status", status()), mcp(ORDERS, "datasetProperties", text(words))]
    memory.remember([*stated, mcp(ORDERS, "ownership", owners("jonas"))], at=at, **more)
    memory.index()


def restated(memory: Memory) -> None:
    """One belief with a version that was worded anew three times."""
    for day, words in enumerate([SAID, SAID + ".", SAID + "!", SAID + "!!"], start=1):
        say(memory, words, day)


def do(memory: Memory, at: str, **asked: object) -> ForgetReport:
    memory.now(at)
    request = ForgetRequest(**asked)  # type: ignore[arg-type]
    return forget(memory.store, request, clock=memory._tick(), progress=NoProgress(), holder="test:1:")


def broken(memory: Memory) -> list[tuple[str, tuple[str, ...]]]:
    report = verify(memory.store, clock=memory._tick(), progress=NoProgress())
    return [(rule.rule, rule.examples) for rule in report.rules if rule.broken]


def values(memory: Memory) -> list[tuple[int, str, str | None]]:
    """(number, verdict, value) of the description's episodes."""
    asked = sa.text(
        "SELECT e.number, e.verdict, e.value FROM episode e JOIN cell c ON c.id = e.cell_id "
        "WHERE c.aspect = 'description' ORDER BY e.number"
    )
    return memory.store.read(lambda connection: [tuple(row) for row in connection.execute(asked)])


def when(memory: Memory, **times: str) -> When:
    return When(now=memory.clock.now(), **{name: parse(time) for name, time in times.items()})


def holds(memory: Memory, word: str) -> list[str]:
    """The tables in which a word stands, in any column that is text."""
    found = []

    def work(connection: sa.Connection) -> None:
        names = sa.inspect(connection).get_table_names()
        for name in names:
            for row in connection.execute(sa.text(f'SELECT * FROM "{name}"')):
                if any(word in str(value).lower() for value in row if not isinstance(value, bytes)):
                    found.append(name)

    memory.store.read(work)
    return sorted(set(found))


def in_file(memory: Memory, word: str) -> list[str]:
    """The files of a SQLite store in whose bytes a word stands."""
    names = sorted(memory.folder.glob("memory.db*"))
    return [name.name for name in names if word.encode() in name.read_bytes().lower()]


# --- weak episodes ----------------------------------------------------------------------------------------------


def test_restatements_that_newer_ones_bear_out_too_go_when_they_are_weak(memory: Memory) -> None:
    restated(memory)
    assert [verdict for _, verdict, _ in values(memory)] == ["open", "reinforce", "reinforce", "reinforce"]
    assert do(memory, "2027-02-01", dry_run=True).dropped == 0  # eleven months: 0.4 * 0.5 ** (335 / 180) = 0.11
    plan = do(memory, "2027-04-01", dry_run=True)
    assert (plan.dropped, plan.kept, plan.by_aspect, plan.run) == (2, 0, {"description": 2}, "")
    report = do(memory, "2027-04-01")
    assert (report.dropped, report.emptied, report.by_aspect) == (2, 0, {"description": 2})
    assert [number for number, _, _ in values(memory)] == [1, 4]
    assert broken(memory) == []
    shown = show(memory.store, "orders", when(memory))
    assert f"description: {SAID}!!" in {belief.statement for belief in shown.beliefs}


def test_forgetting_again_finds_nothing_and_writes_nothing(memory: Memory) -> None:
    restated(memory)
    runs = sa.text("SELECT count(*) FROM run WHERE job = 'forget'")
    do(memory, "2027-04-01")
    again = do(memory, "2027-04-02")
    assert (again.run, again.forgotten, again.rewritten) == ("", 0, None)
    assert memory.store.read(lambda connection: connection.execute(runs).scalar_one()) == 1


def test_what_was_recalled_lately_is_kept(memory: Memory) -> None:
    restated(memory)
    belief = why(memory.store, first_belief(memory), when(memory)).belief
    memory.now("2027-04-01T00:00:00Z")
    told = Recalled(
        question="orders?", surface="test", answer="confident",
        versions=[(bytes.fromhex(belief.id), 1)], scores=[1.0],  # type: ignore[list-item]
    )  # fmt: skip
    reinforce(memory.store, told, clock=memory._tick(), holder="test:1:")
    kept = do(memory, "2027-04-10")
    assert (kept.dropped, kept.kept) == (0, 2)
    assert do(memory, "2027-07-01").dropped == 2


def first_belief(memory: Memory) -> str:
    asked = sa.text("SELECT belief_id FROM cell WHERE aspect = 'description'")
    found = memory.store.read(lambda connection: connection.execute(asked).scalar_one())
    return bytes(found).hex() if isinstance(found, bytes) else str(found).replace("-", "")


def test_how_weak_is_weak_enough_can_be_said_and_is_a_share(memory: Memory) -> None:
    restated(memory)
    assert do(memory, "2026-04-01", below=1.0).dropped == 2
    with pytest.raises(UsageError, match="a strength is between 0 and 1, not 2"):
        do(memory, "2026-04-02", below=2.0)


def test_the_change_after_what_was_dropped_is_told_from_what_is_left(memory: Memory) -> None:
    restated(memory)
    do(memory, "2027-04-01")
    memory.remember([mcp(ORDERS, "datasetProperties", text("Refunds"))], at="2027-04-02T08:00:00Z")
    told = changes(memory.store, ChangesRequest(since="2027-04-02"), when(memory))
    assert [line.partition(", between")[0] for line in told.lines] == [f"orders: description was {SAID}!!, now Refunds"]


def test_a_store_without_restatements_has_nothing_to_forget(memory: Memory) -> None:
    for day, words in enumerate([SAID, MARKED, "Refunds"], start=1):
        say(memory, words, day)
    before = values(memory)
    assert do(memory, "2036-01-01", below=1.0).forgotten == 0
    assert values(memory) == before


# --- closed versions --------------------------------------------------------------------------------------------


def test_texts_of_versions_that_were_closed_before_a_day_go_and_history_tells_when(memory: Memory) -> None:
    for day, words in enumerate([SAID, MARKED, "Refunds"], start=1):
        say(memory, words, day)
    report = do(memory, "2026-04-01T10:00:00Z", superseded_before=parse("2026-03-03"))
    assert (report.emptied, report.dropped, report.by_aspect) == (1, 0, {"description": 1})
    assert values(memory) == [(1, "open", "null"), (2, "supersede", f'"{MARKED}"'), (3, "supersede", '"Refunds"')]
    view = history(memory.store, "orders", "description", None, when(memory))
    assert [(one.number, one.statement, one.value) for one in view.beliefs[0].versions] == [
        (3, "description: Refunds", "Refunds"),
        (2, f"description: {MARKED}", MARKED),
        (1, "description: its text was forgotten on 2026-04-01", None),
    ]
    evidence = view.beliefs[0].versions[-1].evidence
    assert evidence.forgotten is not None
    assert evidence.forgotten.isoformat()[:10] == "2026-04-01"
    assert why(memory.store, first_belief(memory), when(memory)).belief.versions == view.beliefs[0].versions
    assert broken(memory) == []


def test_what_held_at_a_time_is_still_said_to_have_held_though_not_what(memory: Memory) -> None:
    for day, words in enumerate([SAID, MARKED], start=1):
        say(memory, words, day)
    do(memory, "2026-04-01", superseded_before=parse("2026-03-20"))
    for asked in ({"as_of": "2026-03-01T12:00:00Z"}, {"known_at": "2026-03-01T12:00:00Z"}):
        shown = show(memory.store, "orders", when(memory, **asked))
        said = {belief.statement for belief in shown.beliefs if belief.aspect == "description"}
        assert said == {"description: its text was forgotten on 2026-04-01"}


def test_what_comes_back_after_its_text_was_forgotten_is_no_return_to_it(memory: Memory) -> None:
    for day, words in enumerate([SAID, MARKED], start=1):
        say(memory, words, day)
    do(memory, "2026-03-10", superseded_before=parse("2026-03-05"))
    say(memory, SAID, 20)
    newest = history(memory.store, "orders", "description", None, when(memory)).beliefs[0].versions[0]
    assert (newest.statement, newest.reverts_to) == (f"description: {SAID}", None)
    assert broken(memory) == []


def test_changes_tell_that_a_text_was_forgotten_and_compare_it_with_nothing(memory: Memory) -> None:
    for day, words in enumerate([SAID, MARKED, "Refunds"], start=1):
        say(memory, words, day)
    do(memory, "2026-04-01", superseded_before=parse("2026-03-20"))
    told = changes(memory.store, ChangesRequest(since="2026-03-01"), when(memory))
    assert [line.partition(", between")[0] for line in told.lines] == [
        "orders: description: its text was forgotten on 2026-04-01",
        "orders: description: Refunds; what it was before: its text was forgotten on 2026-04-01",
    ]


def test_the_newest_of_a_cell_and_existence_are_kept_whatever_is_closed(memory: Memory) -> None:
    say(memory, SAID, 1)
    memory.remember([mcp(ORDERS, "status", status(removed=True))], at="2026-03-02T08:00:00Z")
    memory.remember([mcp(ORDERS, "status", status())], at="2026-03-03T08:00:00Z")
    assert do(memory, "2026-04-01", superseded_before=parse("2026-03-20")).emptied == 0
    with pytest.raises(UsageError, match="--superseded-before is in the future"):
        do(memory, "2026-04-01", superseded_before=parse("2026-05-01"))


def test_a_belief_with_something_that_waits_to_be_judged_is_left_alone(memory: Memory) -> None:
    for day, words in enumerate([SAID, MARKED], start=1):
        say(memory, words, day)
    memory.scan([mcp(ORDERS, "datasetProperties", text("Refunds"))], at="2026-03-03T08:00:00Z")
    assert do(memory, "2026-04-01", superseded_before=parse("2026-03-20")).emptied == 0
    memory.consolidate()
    assert do(memory, "2026-04-02", superseded_before=parse("2026-03-20")).emptied == 1


# --- really gone ------------------------------------------------------------------------------------------------


def test_what_was_forgotten_is_in_no_table_no_index_no_vector_and_not_in_the_file(memory: Memory, dialect: str) -> None:
    say(memory, SAID, 1)
    say(memory, MARKED, 2)
    vectors(memory)
    say(memory, "Refunds", 3)
    vectors(memory)
    assert "episode" in holds(memory, "zebrafish")
    assert found(memory, "zebrafish") != []
    report = do(memory, "2026-04-01", superseded_before=parse("2026-03-20"))
    assert report.rewritten is (True if dialect == "sqlite" else None)
    assert holds(memory, "zebrafish") == []
    assert in_file(memory, "zebrafish") == []
    memory.index()
    vectors(memory)
    assert (holds(memory, "zebrafish"), found(memory, "zebrafish")) == ([], [])
    assert broken(memory) == []


def vectors(memory: Memory) -> None:
    embed(memory.store, WordEmbedder(), clock=memory._tick(), progress=NoProgress(), holder="test:1:")


def found(memory: Memory, question: str) -> list[str]:
    """What is recalled, superseded versions too."""
    view = recall(memory.store, RecallRequest(question=question, include_superseded=True), when(memory), None)
    return [one.belief.statement for one in view.answers]


def test_a_file_that_others_read_meanwhile_is_told_and_written_anew_the_next_time(tmp_path: Path) -> None:
    memory = Memory(tmp_path)
    for day, words in enumerate([SAID, MARKED, "Refunds"], start=1):
        say(memory, words, day)
    impatient = Memory(tmp_path)
    impatient.store = open_store(impatient.url, patience=0.2)
    with closing(sqlite3.connect(tmp_path / "memory.db", isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM episode").fetchone()
        blocked = do(impatient, "2026-04-01", superseded_before=parse("2026-03-20"))
    assert (blocked.emptied, blocked.rewritten, command.rewritten(False)) == (2, False, 1)
    again = do(impatient, "2026-04-02", superseded_before=parse("2026-03-20"))
    assert (again.emptied, again.rewritten, in_file(memory, "zebrafish")) == (0, True, [])
    assert do(impatient, "2026-04-03", superseded_before=parse("2026-03-20")).run == ""


def test_the_command_names_the_strength_below_which_an_episode_is_weak() -> None:
    from palimpsest.core.strength import WEAK

    assert command._WEAK == WEAK
