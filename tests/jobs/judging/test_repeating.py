"""R5: consolidating again changes nothing, whatever words the model finds the second time, and whatever it thinks then.

A model is recorded; its recording is worded anew, entry by entry, and judges the same history again.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from palimpsest.adapters.models.recording import Recording, Replay
from palimpsest.core.errors import ModelError
from palimpsest.jobs.judging.judging import Judging
from palimpsest.jobs.note import note
from palimpsest.jobs.verify import verify
from palimpsest.testing import NoProgress
from palimpsest.testing.model import ScriptedModel, sensible
from tests.building import Memory, Record, dataset, mcp, owners, text
from tests.jobs.judging.matters import judging
from tests.robustness.stores import differing, tables

NAME = "scripted:one"
TEXTS = [
    "Orders by day.",
    "orders, by day",
    "Orders by hour.",
    "Orders by week.",
    "orders, by week",
    "Orders by month.",
]
TABLES = 8
NOTES = [
    ("person:mira", "Half of the amounts are missing before May."),
    ("agent:scout", "half of the amounts are missing before May"),
    ("agent:scout", "All of the amounts are there before May."),
    ("person:jon", "All of the amounts are there before May."),
]


def reading(day: int) -> list[Record]:
    """What the catalog says on a day: each table one step further in its own history of texts."""
    records = []
    for number in range(TABLES):
        words = TEXTS[(day + number) % len(TEXTS)]
        records += [
            mcp(dataset(f"t{number}"), "datasetProperties", text(words)),
            mcp(dataset(f"t{number}"), "ownership", owners("ana" if day % 2 else "bo")),
        ]
    return records


def live(memory: Memory, of: Callable[[], Judging], *, days: int = 5, each_day: bool = True) -> None:
    """The whole history: readings and notes, consolidated on every day, or once at the end."""
    for day in range(days):
        memory.scan(reading(day), at=f"2026-03-{day + 2:02}")
        if day < len(NOTES):
            observer, said = NOTES[day]
            at = memory.now(f"2026-03-{day + 2:02}T12:00:00Z")
            urn, clock = dataset("t0"), memory._tick()
            note(memory.store, urn=urn, text=said, observer=observer, at=at, clock=clock, holder="test:1:")
        if each_day:
            memory.consolidate(judging=of())
    memory.consolidate(judging=of())


def versions(memory: Memory) -> list[tuple[Any, ...]]:
    """Every version, without the words of its judge and the moments of its writing."""
    statement = sa.text(
        "SELECT belief_id, number, state, cell_id, episode, valid_from, valid_after, valid_to, reverts_to, successor "
        "FROM version ORDER BY belief_id, number"
    )
    return [tuple(row) for row in memory.store.read(lambda c: c.execute(statement).all())]


def reasons(memory: Memory) -> set[str]:
    """The reasons of all versions."""
    return set(memory.store.read(lambda c: c.execute(sa.text("SELECT reason FROM version")).scalars().all()))


def worded_anew(recording: Path, target: Path, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Path:
    """A recording in which each entry of each answer is another."""
    lines = []
    for line in recording.read_text().splitlines():
        kept = json.loads(line)
        answers = json.loads(kept["answer"]["text"])["answers"]
        kept["answer"]["text"] = json.dumps({"answers": [change(one) for one in reversed(answers)]})
        lines.append(json.dumps(kept))
    target.write_text("\n".join(lines) + "\n")
    return target


def in_other_words(entry: dict[str, Any]) -> dict[str, Any]:
    """The same opinion, said quite differently."""
    return entry | ({"why": f"On reflection no. {entry['item']}, seen afresh"} if "why" in entry else {})


@pytest.fixture
def recorded(tmp_path: Path) -> tuple[Memory, Path]:
    """A memory of the history, and the recording of the model that judged it."""
    memory, recording = Memory(tmp_path, name="first.db"), tmp_path / "answers.jsonl"
    live(memory, lambda: judging(Recording(ScriptedModel(), recording)))
    assert any(reason.startswith("compared: ") for reason in reasons(memory))
    return memory, recording


def test_a_model_that_words_everything_differently_comes_to_the_same_versions(
    tmp_path: Path, recorded: tuple[Memory, Path]
) -> None:
    first, recording = recorded
    other = worded_anew(recording, tmp_path / "anew.jsonl", in_other_words)
    second = Memory(tmp_path, name="second.db")
    live(second, lambda: judging(Replay(NAME, other)))
    assert versions(second) == versions(first)
    assert any(reason.startswith("On reflection") for reason in reasons(second))
    assert verify(second.store, clock=second.clock, progress=NoProgress()).broken == 0


def test_the_same_store_consolidated_again_has_no_new_version(tmp_path: Path, recorded: tuple[Memory, Path]) -> None:
    memory, recording = recorded
    before, held = tables(memory.url), versions(memory)
    other = Replay(NAME, worded_anew(recording, tmp_path / "anew.jsonl", in_other_words))
    again = memory.consolidate(judging=judging(other))
    assert (again.founded, again.episodes, again.run, other.used.calls) == (0, 0, "", 0)
    memory.scan(reading(4), at="2026-03-20")
    assert memory.consolidate(judging=judging(other)).founded == 0
    assert (versions(memory), other.used.calls) == (held, 0)
    memory.store.dispose()
    assert differing(tables(memory.url), before) == []


def test_what_was_judged_before_a_break_keeps_its_words_after_it(tmp_path: Path) -> None:
    """The second half is judged by a model that words everything differently and thinks the opposite of the first."""
    memory = Memory(tmp_path)
    memory.remember(reading(0), at="2026-03-02")
    memory.scan(reading(1), at="2026-03-03")
    work = judging(ScriptedModel([sensible], always=ModelError("gone")), items_at_once=3)
    half = memory.consolidate(judging=work)
    assert half.asked is not None
    assert (half.asked.answered, half.left) == (3, TABLES - 3)
    kept = set(versions(memory))
    told = memory.store.read(lambda c: c.execute(sa.text("SELECT * FROM evidence")).all())
    contrary = ScriptedModel(
        words="on the contrary",
        always=lambda ask: json.dumps(
            {
                "answers": [
                    one
                    | {"restates": None if one["restates"] is not None else one["place"] - 1, "why": "on the contrary"}
                    for one in json.loads(sensible(ask))["answers"]
                ]
            }
        ),
    )
    assert memory.consolidate(judging=judging(contrary)).left == 0
    after = {row[:2]: row for row in versions(memory)}
    assert {row for row in kept if row[2] == "superseded"} <= set(after.values())
    assert {row[:2] for row in kept} <= after.keys()
    assert set(told) <= set(memory.store.read(lambda c: c.execute(sa.text("SELECT * FROM evidence")).all()))
    assert verify(memory.store, clock=memory.clock, progress=NoProgress()).broken == 0


def test_the_same_said_again_in_other_words_founds_nothing(recorded: tuple[Memory, Path]) -> None:
    memory, _ = recorded
    held = versions(memory)
    said = "All of the amounts, are there, before May"
    note(memory.store, urn=dataset("t0"), text=said, observer="person:jon", clock=memory._tick(), holder="test:1:")
    report = memory.consolidate(judging=judging(ScriptedModel(words="again")))
    assert (report.founded, report.left, report.verdicts) == (0, 0, {"reinforce": 1})
    assert versions(memory) == held


def test_judged_at_once_or_day_by_day_the_versions_are_the_same(tmp_path: Path, recorded: tuple[Memory, Path]) -> None:
    daily, _ = recorded
    once = Memory(tmp_path, name="once.db")
    live(once, lambda: judging(ScriptedModel()), each_day=False)
    assert versions(once) == versions(daily)
