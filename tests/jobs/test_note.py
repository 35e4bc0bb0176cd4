"""Notes: taken down at once, placed once, decided by people; many at a time, and never two for one."""

from __future__ import annotations

from pathlib import Path

import pytest
import sqlalchemy as sa

from palimpsest.core.errors import UsageError
from palimpsest.core.ids import short_ref
from palimpsest.core.moment import parse
from palimpsest.jobs.choose import choose
from palimpsest.jobs.note import Said, notes
from palimpsest.store.schema import cell, choice, episode, run
from palimpsest.testing import NoProgress
from tests.building import Memory, dataset, mcp, owners

ORDERS, USERS = dataset("shop.public.orders"), dataset("shop.public.users")


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    memory = Memory(tmp_path)
    first = [mcp(ORDERS, "ownership", owners("jonas")), mcp(USERS, "ownership", owners("ann"))]
    memory.remember(first, at="2026-03-02T08:00:00Z")
    return memory


def rows(memory: Memory, *columns: sa.ColumnElement[object], of: sa.Table) -> list[tuple[object, ...]]:
    """The rows of a table, sorted."""
    statement = sa.select(*columns).select_from(of)
    return sorted(tuple(row) for row in memory.store.read(lambda connection: connection.execute(statement).all()))


def placed(memory: Memory) -> list[tuple[object, ...]]:
    """(observer, aspect, key) of the cells of notes."""
    found = rows(memory, cell.c.source, cell.c.observer, cell.c.aspect, cell.c.key, of=cell)
    return [row[1:] for row in found if row[0] == "notes"]


def chosen(memory: Memory) -> int:
    """Choose by the rules; how many were placed."""
    return choose(memory.store, clock=memory.clock, progress=NoProgress(), holder="test:1:").chosen


def test_a_note_is_one_run_one_cell_and_one_episode_that_waits(memory: Memory) -> None:
    report = memory.note(ORDERS, "  Late on\r\nMondays\x07 ", by="agent:bot", kind="quality")
    assert placed(memory) == [("agent:bot", "note", report.run)]
    written = rows(memory, episode.c.kind, episode.c.value, episode.c.verdict, of=episode)
    assert [row for row in written if row[0] == "said"] == [("said", '"Late on\\nMondays"', None)]
    assert ("note", "notes", "done", 1) in rows(memory, run.c.job, run.c.source, run.c.state, run.c.written, of=run)


def test_the_same_again_while_it_waits_is_one_note(memory: Memory) -> None:
    first = memory.note(ORDERS, "late", by="agent:bot")
    again = memory.note(ORDERS, "late", by="agent:bot")
    assert (again.is_new, again.run) == (False, first.run)
    assert memory.note(ORDERS, "late", by="agent:two").is_new
    assert memory.note(USERS, "late", by="agent:bot").is_new
    chosen(memory)
    assert not memory.note(ORDERS, "late", by="agent:bot").is_new
    memory.consolidate()
    assert memory.note(ORDERS, "late", by="agent:bot").is_new


def test_a_thousand_notes_take_as_many_statements_as_ten(memory: Memory) -> None:
    memory.note(ORDERS, "the first of all makes the source known", by="agent:bot")
    counts = []
    for many in (10, 1_000):
        statements: list[str] = []

        def heard(connection: object, cursor: object, statement: str, *rest: object) -> None:
            statements.append(statement)  # noqa: B023  listened to within the loop only

        sa.event.listen(memory.store.engine, "before_cursor_execute", heard)
        said = [Said(urn=ORDERS, text=f"note {number} of {many}", observer="agent:bot") for number in range(many)]
        reports = notes(memory.store, said, clock=memory.clock, holder="test:1:")
        sa.event.remove(memory.store.engine, "before_cursor_execute", heard)
        counts.append(len(statements))
        assert len({one.run for one in reports}) == many
    assert counts[0] == counts[1]


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (Said(urn=ORDERS, text=" \x00\x07 ", observer="agent:bot"), "1 to 10,000 letters"),
        (Said(urn=ORDERS, text="a" * 10_001, observer="agent:bot"), "not 10,001"),
        (Said(urn=ORDERS, text="late", observer="robot:bot"), "names no observer"),
        (Said(urn=ORDERS, text="late", observer="agent:bot", kind="gossip"), "no kind of note"),
        (Said(urn=ORDERS, text="late", observer="agent:bot", at=parse("2030-01-01")), "yet to come"),
        (Said(urn=dataset("nobody"), text="late", observer="agent:bot"), "nothing is remembered"),
    ],
)
def test_what_is_not_to_be_taken_down_is_refused_and_nothing_is_written(
    memory: Memory, said: Said, message: str
) -> None:
    before = rows(memory, episode.c.cell_id, of=episode)
    with pytest.raises(UsageError, match=message):
        notes(memory.store, [Said(urn=ORDERS, text="fine", observer="agent:bot"), said], clock=memory.clock, holder="t")
    assert rows(memory, episode.c.cell_id, of=episode) == before


def test_a_note_moves_to_the_place_that_is_chosen_and_the_choice_is_kept(memory: Memory) -> None:
    memory.note(ORDERS, "Null customer ids on Mondays", by="agent:bot")
    memory.note(ORDERS, "Who reads this?", by="person:mira")
    assert chosen(memory) == 2
    assert placed(memory) == [
        ("agent:bot", "quality", "null-customer-ids-on-mondays"),
        ("person:mira", "question", "who-reads-this"),
    ]
    assert rows(memory, choice.c.episode, choice.c.judge, choice.c.sure, of=choice) == [(1, "rules", True)] * 2
    runs = rows(memory, run.c.id, of=run)
    assert (chosen(memory), rows(memory, run.c.id, of=run)) == (0, runs)


def test_notes_on_one_matter_share_it_within_a_pass_and_after(memory: Memory) -> None:
    memory.note(ORDERS, "Refreshed daily at 6", by="agent:bot", kind="quality")
    memory.note(ORDERS, "Refreshed daily at 7", by="agent:two", kind="quality")
    chosen(memory)
    memory.consolidate()
    memory.note(ORDERS, "Refreshed hourly", by="person:mira", kind="quality")
    memory.note(ORDERS, "Duplicated baskets in 2019", by="person:mira", kind="quality")
    chosen(memory)
    assert placed(memory) == [
        ("agent:bot", "quality", "refreshed-daily-at-6"),
        ("agent:two", "quality", "refreshed-daily-at-6"),
        ("person:mira", "quality", "duplicated-baskets-in-2019"),
        ("person:mira", "quality", "refreshed-daily-at-6"),
    ]


def test_the_matter_of_one_entity_is_never_joined_by_a_note_of_another(memory: Memory) -> None:
    memory.note(ORDERS, "Refreshed daily at 6", by="agent:bot", kind="quality")
    memory.note(USERS, "Refreshed daily at 6", by="agent:bot", kind="quality")
    memory.consolidate()
    beliefs = {row for row in rows(memory, cell.c.belief_id, cell.c.aspect, of=cell) if row[1] == "quality"}
    assert len(beliefs) == 2


def test_a_note_that_begins_with_the_name_of_another_entity_is_about_that(memory: Memory) -> None:
    memory.note(ORDERS, "shop.public.users has no deleted accounts", by="agent:bot", kind="quality")
    memory.note(ORDERS, "Joined with shop.public.users on id", by="agent:bot", kind="usage")
    memory.consolidate()
    ids = memory.store.ids
    about = dict(rows(memory, cell.c.aspect, cell.c.entity_id, of=cell))
    assert (about["quality"], about["usage"]) == (ids.entity(USERS), ids.entity(ORDERS))


def test_what_was_decided_or_is_settled_is_not_decided_again(memory: Memory) -> None:
    memory.note(ORDERS, "Refreshed daily", by="person:mira", kind="quality", at="2026-03-03T08:00:00Z")
    memory.note(ORDERS, "Not refreshed daily", by="agent:bot", kind="quality", at="2026-03-04T08:00:00Z")
    memory.consolidate()
    (item,) = memory.inbox()
    for wrong, message in (
        ("nonsense", "no item"),
        (item.item[:-1] + "7", "nothing in"),
        ("0" * 12 + "@1", "nothing in"),
    ):
        with pytest.raises(UsageError, match=message):
            memory.decide(wrong, "accept", by="person:mira")
    with pytest.raises(UsageError, match="no person"):
        memory.decide(item.item, "accept", by="agent:bot")
    with pytest.raises(UsageError, match="never said that"):
        memory.decide(item.item, "withdraw", by="person:mira")
    with pytest.raises(UsageError, match="is current"):
        memory.decide(item.item[:-1] + "1", "reject", by="person:mira")
    memory.decide(item.item, "reject", by="person:jonas")
    with pytest.raises(UsageError, match="was decided by jonas"):
        memory.decide(item.item, "accept", by="person:mira")
    assert memory.consolidate().verdicts == {"retract": 1}
    with pytest.raises(UsageError, match="is settled: it was retracted"):
        memory.decide(item.item, "accept", by="person:mira")


def test_one_takes_back_what_one_said(memory: Memory) -> None:
    memory.note(ORDERS, "Refreshed daily", by="agent:bot", kind="quality", at="2026-03-03T08:00:00Z")
    memory.consolidate()
    beliefs = dict(rows(memory, cell.c.aspect, cell.c.belief_id, of=cell))
    memory.decide(f"{short_ref(beliefs['quality'])}@1", "withdraw", by="agent:bot")
    assert memory.consolidate().verdicts == {"retract": 1}
