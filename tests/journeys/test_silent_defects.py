"""Six defects that such memories have and do not show: here each is shown to be absent, from end to end.

tests/mutants holds a patch for each that takes its cure away; with it, and nothing else, its journey fails.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from palimpsest.adapters.embed.hashed import HashedEmbedder
from palimpsest.core.aspects import ASPECTS
from palimpsest.core.language import Ask
from palimpsest.core.moment import parse
from palimpsest.jobs.forget import ForgetRequest, forget
from palimpsest.jobs.note import note
from palimpsest.jobs.verify import verify
from palimpsest.surfaces.cli.app import main
from palimpsest.testing import NoProgress
from palimpsest.testing.model import ScriptedModel, items_in
from tests.building import Memory, dataset, mcp, owners, text
from tests.jobs.judging.matters import judging

ORDERS = dataset("shop.orders")
Told = Callable[..., Any]


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    """An empty store."""
    return Memory(tmp_path)


@pytest.fixture
def told(memory: Memory, capsys: pytest.CaptureFixture[str]) -> Told:
    """Runs one command on the store and gives back its JSON."""

    def run(*arguments: str) -> Any:
        assert main(["--store", memory.url, *arguments, "--json"]) == 0
        return json.loads(capsys.readouterr().out)["data"]

    return run


def described(memory: Memory, words: str, day: int, **asked: Any) -> None:
    """Read and consolidate a description of the orders on a day of March."""
    memory.remember([mcp(ORDERS, "datasetProperties", text(words))], at=f"2026-03-{day:02}", **asked)


def lines(told: Told) -> list[str]:
    """What changed since the first reading."""
    return [change["line"] for change in told("changes", "--since", "2026-03-02T12:00:00Z")["changes"]]


def states(told: Told, aspect: str) -> list[tuple[int, str, str]]:
    """(number, state, judge) of the versions of the one belief about an aspect of the orders, the newest first."""
    (belief,) = told("history", "orders", aspect)["beliefs"]
    return [(one["number"], one["state"], one["judge"]) for one in belief["versions"]]


def sound(memory: Memory) -> bool:
    """Whether no rule is broken."""
    return verify(memory.store, clock=memory.clock, progress=NoProgress()).broken == 0


def test_a_text_that_is_near_and_says_the_opposite_is_a_version(memory: Memory, told: Told) -> None:
    """Two texts that any embedder calls alike, and that say opposite things, are two versions."""
    before = "Orders that were paid in full and shipped to the customer, refreshed every day by the nightly job."
    after = before.replace("were paid", "were not paid")
    one, other = HashedEmbedder().embed_passages([before, after])
    assert float(one @ other) > 0.9
    described(memory, before, 2)
    described(memory, after, 3)
    assert [state for _, state, _ in states(told, "description")] == ["current", "superseded"]
    assert len(lines(told)) == 1
    assert sound(memory)


def test_what_a_second_source_says_is_no_change(memory: Memory, told: Told) -> None:
    """The same catalog read another way: what the second source says differently is its own, and no change."""
    memory.remember([mcp(ORDERS, "ownership", owners("ana"))], at="2026-03-02", source="export")
    second = memory.remember([mcp(ORDERS, "ownership", owners("bo"))], at="2026-03-03", source="live")
    assert (second.changes, second.contradicting, lines(told)) == ({}, 0, [])
    beliefs = told("history", "orders", "ownership")["beliefs"]
    assert [
        (one["source"], [(version["statement"], version["state"]) for version in one["versions"]]) for one in beliefs
    ] == [("export", [("owner: ana", "current")]), ("live", [("owner: bo", "current")])]
    assert sound(memory)


def test_a_kind_that_is_not_on_the_list_is_not_chosen(memory: Memory, told: Told) -> None:
    """A model that names a kind which is not on the list names none: the note waits, and is sorted the next time."""
    described(memory, "One row per order.", 2)
    memory.now("2026-03-03")
    said = "Amounts are doubled on the last day of a month."
    note(memory.store, urn=ORDERS, text=said, observer="person:mira", clock=memory.clock, holder="test:1:")

    def invents(ask: Ask) -> str:
        chosen = [
            {"item": item["item"], "entity": 1, "kind": 0, "matter": None, "sure": True} for item in items_in(ask)
        ]
        return json.dumps({"answers": chosen})

    report = memory.consolidate(judging=judging(ScriptedModel(always=invents)))
    assert (report.chosen, report.left) == (0, 1)
    assert report.asked is not None
    assert report.asked.left == {"not answered": 1}
    held = {belief["aspect"] for belief in told("show", ORDERS)["beliefs"]}
    assert held <= ASPECTS.keys() - {"insight", "quality", "usage"}
    assert (memory.consolidate(judging=judging(ScriptedModel())).left, sound(memory)) == (0, True)


def test_what_was_not_answered_is_not_consolidated(memory: Memory, told: Told) -> None:
    """An answer that breaks off is none: what it was about is still pending, and what is held is what was held."""
    described(memory, "One row per order.", 2)
    memory.scan([mcp(ORDERS, "datasetProperties", text("One row per order line."))], at="2026-03-03")
    report = memory.consolidate(judging=judging(ScriptedModel(['{"answers":[{"item":1,"pla'])))
    assert (report.episodes, report.left) == (0, 1)
    assert states(told, "description") == [(1, "current", "rules")]
    assert memory.consolidate(judging=judging(ScriptedModel())).episodes == 1
    assert [state for _, state, _ in states(told, "description")] == ["current", "superseded"]
    assert sound(memory)


def test_other_words_for_the_same_are_no_contradiction(memory: Memory, told: Told) -> None:
    """The same in other words, to the rules or to a model, is no change and no version; the new words are shown."""
    described(memory, "One row per order.", 2)
    described(memory, "Holds one row per order.", 3)
    memory.scan([mcp(ORDERS, "datasetProperties", text("Each order is one row."))], at="2026-03-04")
    same = {"answers": [{"item": 1, "place": 1, "why": "the same", "restates": 0, "sure": True}]}
    memory.consolidate(judging=judging(ScriptedModel([json.dumps(same)])))
    assert [state for _, state, _ in states(told, "description")] == ["current"]
    assert lines(told) == []
    assert "Each order is one row." in json.dumps(told("show", ORDERS))
    assert sound(memory)


def test_what_a_current_belief_rests_on_is_not_forgotten(memory: Memory, told: Told) -> None:
    """Years later everything weak is forgotten, and closed versions too: what is current still says why."""
    described(memory, "One row per order line.", 2)
    described(memory, "One row per order.", 3)
    described(memory, "Holds one row per order.", 4)
    described(memory, "Holds one row per order", 5)
    memory.now("2031-01-01")
    forgotten = [
        forget(memory.store, request, clock=memory._tick(), progress=NoProgress(), holder="test:1:").forgotten
        for request in (ForgetRequest(below=1.0), ForgetRequest(superseded_before=parse("2030-01-01")))
    ]
    (belief,) = told("history", "orders", "description")["beliefs"]
    current, closed = belief["versions"]
    assert (current["state"], closed["state"]) == ("current", "superseded")
    assert "One row per order." in json.dumps(current)
    assert '"Holds one row per order"' in json.dumps(told("show", ORDERS))
    assert "One row per order." in json.dumps(told("why", belief["ref"]))
    assert (forgotten, sound(memory)) == ([1, 1], True)
