"""A text that tries to instruct the judge changes no instruction; and, if a model obeys it, no other fact.

The corpora are tests/labels/attacks.jsonl and harmless.jsonl.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from palimpsest.core.choosing import Candidates, Note, Subject
from palimpsest.core.ids import CellId, EntityId
from palimpsest.core.language import Ask
from palimpsest.core.moment import Moment
from palimpsest.jobs.verify import verify
from palimpsest.testing import NoProgress
from palimpsest.testing.model import ScriptedModel, items_in, sensible
from tests.building import Memory, Record, dataset, mcp, owners, text
from tests.jobs.judging.matters import judging, prompt, rewritten

LABELS = Path(__file__).resolve().parents[2] / "labels"
ATTACKS, HARMLESS = (
    [json.loads(line) for line in (LABELS / f"{name}.jsonl").read_text().splitlines()]
    for name in ("attacks", "harmless")
)
BEFORE = "Payments by day."


def named(corpus: list[dict[str, Any]]) -> list[Any]:
    """A text of a corpus as a parameter with its name."""
    return [pytest.param(one["text"], id=one["id"]) for one in corpus]


def asked(held: str, now: str) -> Ask:
    """What a model is asked about one rewritten text, beside an ordinary one."""
    model = ScriptedModel()
    judging(model).judge.judge([rewritten(1, held, now), rewritten(2, BEFORE, "Payments by hour.")])
    (ask,) = model.asks
    return ask


@pytest.mark.parametrize("hostile", named(ATTACKS + HARMLESS))
def test_the_request_is_the_same_but_for_the_quoted_text(hostile: str) -> None:
    plain = asked(BEFORE, "Payments by week.")
    for held, now in ((BEFORE, hostile), (hostile, BEFORE), (hostile, hostile + " So it is.")):
        ask = asked(held, now)
        assert ask.instructions == plain.instructions == prompt("restated").instructions
        assert (ask.prompt, ask.schema, ask.most_tokens) == (plain.prompt, plain.schema, plain.most_tokens)
        first, second = items_in(ask)
        assert [one["text"] for one in first["statements"]] == [held, now]
        assert second == items_in(plain)[1]
        assert ask.material.count("\n") == plain.material.count("\n")
        assert not set(ask.material) & set("<>\u202e\u200b")


@pytest.mark.parametrize("hostile", named(ATTACKS + HARMLESS))
def test_a_note_is_framed_as_a_text_is(hostile: str) -> None:
    note = Note(CellId(b"n" * 16), EntityId(b"e" * 16), dataset("orders"), "agent:x", "", hostile, Moment(0))
    model = ScriptedModel()
    judging(model).chooser.choose([Candidates(note, (Subject(note.entity, note.urn),), ("usage", "quality"), ())])
    (ask,) = model.asks
    assert ask.instructions == prompt("sorted").instructions
    assert [item["text"] for item in items_in(ask)] == [hostile]


Answer = dict[str, Any]
# What a model answers that does what a text says, given what it would say of the text and of the others.
FORMS: dict[str, Callable[[Answer, list[Answer]], list[Any]]] = {
    "as it was told": lambda mine, others: [mine],
    "no restatement": lambda mine, others: [mine | {"restates": None}],
    "in doubt": lambda mine, others: [mine | {"sure": False}],
    "an item that is not there": lambda mine, others: [mine, mine | {"item": 99}],
    "a statement that is not there": lambda mine, others: [mine | {"place": 7}],
    "itself": lambda mine, others: [mine | {"restates": 1}],
    "another aspect and entity": lambda mine, others: [mine | {"aspect": "access_control", "entity": "urn:li:x:y"}],
    "a URN for a number": lambda mine, others: [mine | {"item": "urn:li:dataset:payroll"}],
    "another form": lambda mine, others: [{"pair": 1, "verdict": "restates"}],
    "a second word on all others": lambda mine, others: [mine, *(one | {"restates": 0} for one in others)],
    "text for an entry": lambda mine, others: [mine["why"], mine],
}
HOSTILE = {one["text"] for one in ATTACKS}


def obeying(ask: Ask, form: str) -> str:
    """What a model answers that does what each hostile text says, and is sensible about the others."""
    hostile = {one["item"]: one["statements"][1]["text"] for one in items_in(ask)}
    answers = json.loads(sensible(ask))["answers"]
    found = [one for one in answers if hostile[one["item"]] not in HOSTILE]
    others = list(found)
    for item, said in hostile.items():
        if said in HOSTILE:
            found += FORMS[form]({"item": item, "place": 1, "why": said, "restates": 0, "sure": True}, others)
    return json.dumps({"answers": found})


def reading(day: int) -> list[Record]:
    """Tables whose descriptions become attacks on the second day, and four whose descriptions are reworded."""
    described = {f"attacked{number}": one["text"] for number, one in enumerate(ATTACKS)}
    described |= {f"other{number}": f"It holds payments by day{' or hour' * (number % 2)}." for number in range(4)}
    return [
        record
        for name, words in described.items()
        for record in (
            mcp(dataset(name), "datasetProperties", text(BEFORE if day == 1 else words)),
            mcp(dataset(name), "ownership", owners("ana")),
        )
    ]


def beliefs(memory: Memory) -> dict[str, list[tuple[str, ...]]]:
    """What is held, by entity: aspect, key, number, state, value."""
    statement = sa.text(
        "SELECT entity.urn, cell.aspect, cell.key, version.number, version.state, episode.value FROM version "
        "JOIN cell ON cell.id = version.cell_id JOIN entity ON entity.id = cell.entity_id "
        "JOIN episode ON episode.cell_id = version.cell_id AND episode.number = version.episode "
        "ORDER BY cell.aspect, cell.key, version.number"
    )
    found: dict[str, list[tuple[str, ...]]] = {}
    for urn, *rest in memory.store.read(lambda c: c.execute(statement).all()):
        found.setdefault(urn, []).append(tuple(rest))
    return found


def attacked(folder: Path, name: str) -> Memory:
    """A memory in which every attack has just become a description."""
    memory = Memory(folder, name=name)
    memory.remember(reading(1), at="2026-03-02")
    memory.scan(reading(2), at="2026-03-03")
    return memory


@pytest.mark.parametrize("form", FORMS)
def test_a_model_that_obeys_a_text_changes_nothing_beyond_what_is_held_of_that_text(tmp_path: Path, form: str) -> None:
    sane, fooled = attacked(tmp_path, "sane.db"), attacked(tmp_path, "fooled.db")
    before = beliefs(fooled)
    sane.consolidate(judging=judging(ScriptedModel()))
    fooled.consolidate(judging=judging(ScriptedModel(always=lambda ask: obeying(ask, form))))
    assert verify(fooled.store, clock=fooled.clock, progress=NoProgress()).broken == 0
    wanted, held = beliefs(sane), beliefs(fooled)
    assert held.keys() == wanted.keys() == before.keys()
    for urn, rows in held.items():
        if "other" in urn:  # judged as ever, or left to the next time where its own answer was spoiled
            assert rows in (wanted[urn], before[urn])
            continue
        (first, *since) = [row for row in rows if row[0] == "description"]
        assert [row for row in rows if row[0] != "description"] == before[urn][1:]
        assert (first[1:3], json.loads(first[4])) == (("source", 1), BEFORE)
        assert since in ([], wanted[urn][1:2])
    fooled.consolidate(judging=judging(ScriptedModel()))
    assert fooled.consolidate().left == 0
