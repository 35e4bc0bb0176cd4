"""A text that was only said in other words: shown and found by its newest, told by those of the time asked about."""

from __future__ import annotations

from pathlib import Path

import pytest

from palimpsest.core.moment import parse
from palimpsest.jobs.verify import verify
from palimpsest.queries import brief, changes, history, recall, show
from palimpsest.queries.held import When
from palimpsest.store import answers
from palimpsest.testing import NoProgress
from tests.building import Memory, dataset, mcp, text

ORDERS = dataset("shop.public.orders")
WORDINGS = ("Contains the organisations of the shop.", "Contains the organizations of the shop")


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    """The description on the 2nd of March, worded anew on the 4th, judged so on the 5th."""
    memory = Memory(tmp_path)
    memory.remember([mcp(ORDERS, "datasetProperties", text(WORDINGS[0]))], at="2026-03-02T08:00:00Z")
    memory.scan([mcp(ORDERS, "datasetProperties", text(WORDINGS[1]))], at="2026-03-04T08:00:00Z")
    assert memory.consolidate(at="2026-03-05T08:00:00Z").verdicts == {"reinforce": 1}
    memory.index()
    return memory


def when(as_of: str | None = None, known_at: str | None = None) -> When:
    """The times of a question that is asked on the 9th."""
    return When(
        now=parse("2026-03-09"),
        as_of=parse(as_of) if as_of else None,
        known_at=parse(known_at) if known_at else None,
    )


@pytest.mark.parametrize(
    ("asked", "wording"),
    [
        (when(), WORDINGS[1]),
        (when(as_of="2026-03-03"), WORDINGS[0]),
        (when(as_of="2026-03-04T09:00:00Z"), WORDINGS[1]),
        (when(known_at="2026-03-04T12:00:00Z"), WORDINGS[0]),
        (when(known_at="2026-03-06"), WORDINGS[1]),
        (when(as_of="2026-03-03", known_at="2026-03-06"), WORDINGS[0]),
    ],
)
def test_what_is_shown_is_worded_as_it_was_at_the_time_of_the_question(
    memory: Memory, asked: When, wording: str
) -> None:
    (belief,) = show.show(memory.store, ORDERS, asked).beliefs
    assert (belief.value, belief.version, belief.revised) == (wording, 1, 0)
    assert f'"description: {wording}"' in brief.brief(memory.store, [ORDERS], 2_000, asked).text
    versions = history.history(memory.store, ORDERS, "description", None, asked).beliefs[0].versions
    assert [(one.number, one.value) for one in versions] == [(1, wording)]
    told = [one.statement for one in versions[0].rewordings]
    assert told == ([f"description: {one}" for one in WORDINGS] if wording == WORDINGS[1] else [])


def test_a_reworded_text_is_found_by_its_new_words_as_long_as_it_is_held(memory: Memory) -> None:
    found = recall.recall(memory.store, recall.RecallRequest(question="organizations"), when())
    assert [one.belief.value for one in found.answers] == [WORDINGS[1]]
    memory.scan([mcp(ORDERS, "datasetProperties", text("Something else entirely"))], at="2026-03-06T08:00:00Z")
    memory.consolidate()
    memory.index()
    assert recall.recall(memory.store, recall.RecallRequest(question="organizations"), when()).answers == ()


def test_a_rewording_is_no_change_and_no_revision(memory: Memory) -> None:
    view = changes.changes(memory.store, changes.ChangesRequest(since="2026-03-03"), when())
    assert (view.changes, view.pending) == ((), 0)
    entity = memory.store.ids.entity(ORDERS)
    assert memory.store.read(lambda connection: answers.label_count(connection, entity)).revisions == 0


def test_what_was_worded_anew_and_then_changed_is_told_by_its_last_words(memory: Memory) -> None:
    memory.remember([mcp(ORDERS, "datasetProperties", text("The carts."))], at="2026-03-06T08:00:00Z")
    (change,) = changes.changes(memory.store, changes.ChangesRequest(since="2026-03-03"), when()).changes
    assert (change.before, change.after) == (WORDINGS[1], "The carts.")
    versions = history.history(memory.store, ORDERS, "description", None, when()).beliefs[0].versions
    assert [(one.number, one.value, one.current) for one in versions] == [
        (2, "The carts.", True),
        (1, WORDINGS[1], False),
    ]


def test_every_rule_holds_on_what_was_worded_anew(memory: Memory) -> None:
    report = verify(memory.store, clock=memory.clock, progress=NoProgress())
    assert [rule.rule for rule in report.rules if rule.broken] == []
