"""Consolidating with a model: what it does not answer stays pending, nothing else does, and the next run completes it.

R4: an episode is consolidated only in the transaction that commits a verdict for it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import sqlalchemy as sa

from palimpsest.adapters.clock import SystemClock
from palimpsest.core.errors import BadAnswerError, BudgetError, ModelError, RefusedTextError
from palimpsest.core.language import Ask
from palimpsest.jobs.consolidate import consolidate
from palimpsest.jobs.consolidate_together import consolidate_together
from palimpsest.jobs.verify import verify
from palimpsest.store.engine import open_store
from palimpsest.store.schema import entity, run
from palimpsest.testing import NoProgress
from palimpsest.testing.model import ScriptedModel, Told, items_in, sensible
from tests.building import Memory
from tests.jobs.judging.catalogs import DATASETS, changed, judges, pending
from tests.jobs.judging.matters import judging, prompt
from tests.robustness.stores import differing, tables

PROSE = {"column": DATASETS, "description": DATASETS}


def extra(ask: Ask) -> str:
    """A sensible answer with a field in each entry that nobody asked for."""
    answers = json.loads(sensible(ask))["answers"]
    return json.dumps({"answers": [one | {"aspect": "ownership"} for one in answers]})


def foreign(ask: Ask) -> str:
    """An answer about items and places that are not there."""
    return json.dumps(
        {"answers": [{"item": 900 + n, "place": 7, "restates": 3, "sure": True, "why": ""} for n in range(40)]}
    )


def swapped(ask: Ask) -> str:
    """An answer that names statements of other items."""
    return json.dumps(
        {
            "answers": [
                {"item": item["item"], "place": 1, "restates": 40 + item["item"], "sure": True, "why": ""}
                for item in items_in(ask)
            ]
        }
    )


STOPPED = {
    "429": ModelError("takes no more requests now"),
    "500": ModelError("failed (500)"),
    "timeout": ModelError("did not answer in whole"),
    "cut stream": ModelError("did not answer in whole: peer closed connection"),
    "200 with an error": ModelError("answered with an error"),
    "no budget": BudgetError("spent"),
}
BAD: dict[str, Told] = {
    "truncated JSON": '{"answers":[{"item":1,"pla',
    "refusal": BadAnswerError("refused to answer"),
    "cut at its longest": BadAnswerError("the answer was cut off"),
    "text refused": RefusedTextError("does not take this request"),
    "empty": "",
    "no object": "[]",
    "wrong aspect": json.dumps({"aspect": "ownership", "answers": []}),
    "extra fields": extra,
    "unknown entity": json.dumps({"answers": [], "entity": "urn:li:dataset:other"}),
    "unknown item": foreign,
    "unknown statement": swapped,
    "nothing said": '{"answers":[]}',
}


@pytest.fixture
def calm(tmp_path: Path) -> Memory:
    """A memory that a model in its right mind has consolidated, undisturbed."""
    memory = changed(tmp_path, name="calm.db")
    report = memory.consolidate(judging=judging(ScriptedModel()))
    assert (report.left, report.asked and report.asked.left) == (0, {})
    return memory


def completed(memory: Memory, calm: Memory) -> None:
    """The next run with a healthy model ends where an undisturbed one does."""
    assert memory.consolidate(judging=judging(ScriptedModel())).left == 0
    assert verify(memory.store, clock=memory.clock, progress=NoProgress()).broken == 0
    for one in (memory, calm):
        one.store.dispose()
    assert differing(tables(memory.url), tables(calm.url)) == []


@pytest.mark.parametrize("fault", STOPPED)
def test_a_model_that_cannot_be_used_leaves_its_matters_and_the_next_run_judges_them(
    tmp_path: Path, calm: Memory, fault: str
) -> None:
    memory = changed(tmp_path)
    report = memory.consolidate(judging=judging(ScriptedModel(always=STOPPED[fault])))
    assert report.asked is not None
    assert (report.left, report.verdicts) == (2 * DATASETS, {"supersede": DATASETS})
    assert (report.asked.problem, report.asked.answered) == (STOPPED[fault].message, 0)
    assert pending(memory) == PROSE
    assert verify(memory.store, clock=memory.clock, progress=NoProgress()).broken == 0
    completed(memory, calm)


@pytest.mark.parametrize("fault", BAD)
def test_an_answer_that_is_none_leaves_its_matters_and_the_next_run_judges_them(
    tmp_path: Path, calm: Memory, fault: str
) -> None:
    memory = changed(tmp_path)
    report = memory.consolidate(judging=judging(ScriptedModel(always=BAD[fault])))
    assert report.asked is not None
    assert (report.left, report.asked.items, report.asked.answered) == (2 * DATASETS, 2 * DATASETS, 0)
    assert (report.asked.problem, sum(report.asked.left.values())) == ("", 2 * DATASETS)
    assert pending(memory) == PROSE
    assert verify(memory.store, clock=memory.clock, progress=NoProgress()).broken == 0
    completed(memory, calm)


@pytest.mark.parametrize("fault", [*STOPPED, *BAD])
def test_a_fault_in_the_middle_loses_nothing_else(tmp_path: Path, calm: Memory, fault: str) -> None:
    told = (STOPPED | BAD)[fault]
    memory = changed(tmp_path)
    work = judging(ScriptedModel([sensible], always=told), items_at_once=8)
    report = memory.consolidate(judging=work)
    assert report.asked is not None
    assert report.asked.answered == 8
    assert report.left == 2 * DATASETS - report.asked.answered == sum(pending(memory).values())
    assert verify(memory.store, clock=memory.clock, progress=NoProgress()).broken == 0
    completed(memory, calm)


def test_every_verdict_names_who_judged_and_by_which_instructions(calm: Memory) -> None:
    assert judges(calm) == {"rules": 7 * DATASETS, f"scripted:one {prompt('restated').tag}": 2 * DATASETS}


def test_the_run_keeps_what_was_asked_and_what_it_cost(calm: Memory) -> None:
    counts = json.loads(
        calm.store.read(lambda c: c.scalars(sa.select(run.c.counts).order_by(run.c.started_at.desc())).first()) or ""
    )
    asked = counts["asked"]
    assert (asked["model"], asked["items"], asked["answered"], asked["calls"]) == ("scripted:one", 24, 24, 1)
    assert (asked["cost"], asked["left"], asked["problem"]) == (0.01, {}, "")
    assert asked["input_tokens"] > 24 * 20


def test_a_dry_run_asks_nothing_and_tells_how_much_would_be_asked(tmp_path: Path) -> None:
    memory, model = changed(tmp_path), ScriptedModel()
    report = consolidate(
        memory.store,
        clock=memory.clock,
        progress=NoProgress(),
        holder="test:1:",
        dry_run=True,
        judging=judging(model),
    )
    assert report.asked is not None
    assert (report.asked.items, report.asked.calls, model.asks) == (2 * DATASETS, 1, [])
    assert (report.episodes, report.left) == (DATASETS, 3 * DATASETS)


def test_without_a_model_the_rules_judge_all_of_it(tmp_path: Path) -> None:
    memory = changed(tmp_path)
    report = memory.consolidate()
    assert (report.left, report.asked) == (0, None)
    assert report.verdicts == {"reinforce": DATASETS, "supersede": 2 * DATASETS}
    assert judges(memory) == {"rules": 9 * DATASETS}


@pytest.mark.usefixtures("dialect")
def test_several_workers_each_with_a_model_come_to_what_one_comes_to(tmp_path: Path, calm: Memory) -> None:
    memory = changed(tmp_path)
    work = [judging(ScriptedModel(), items_at_once=4) for _ in range(3)]
    report = consolidate_together(
        memory.store, workers=3, clock=SystemClock(), progress=NoProgress(), holder="here", judging=work
    )
    assert report.asked is not None
    assert (report.left, report.verdicts) == (0, {"reinforce": 12, "supersede": 24})
    assert (report.asked.items, report.asked.answered, report.asked.left) == (24, 24, {})
    assert report.asked.cost == pytest.approx(report.asked.calls * 0.01)
    for one in (memory, calm):
        one.store.dispose()
    assert differing(tables(memory.url), tables(calm.url)) == []


def while_asked(memory: Memory, do: Callable[[], None]) -> ScriptedModel:
    """A model during whose first request something happens."""

    def told(ask: Ask) -> str:
        do()
        return sensible(ask)

    return ScriptedModel([told])


@pytest.mark.usefixtures("dialect")
def test_of_an_entity_whose_lease_was_lost_meanwhile_nothing_is_written(tmp_path: Path) -> None:
    memory = changed(tmp_path)

    def take_one() -> None:
        first = sa.select(entity.c.id).order_by(entity.c.id).limit(1).scalar_subquery()
        late = memory.clock.at + 10 * 60 * 1000
        taken = sa.update(entity).where(entity.c.id == first).values(holder="elsewhere:1:1", held_until=late)
        memory.store.write(lambda c: c.execute(taken))

    report = memory.consolidate(judging=judging(while_asked(memory, take_one)))
    assert report.asked is not None
    assert (report.left, report.asked.left) == (2, {"lease lost": 2})
    assert pending(memory) == {"column": 1, "description": 1}
    held = memory.store.read(lambda c: c.scalars(sa.select(entity.c.holder).where(entity.c.holder.is_not(None))).all())
    assert held == ["elsewhere:1:1"]


@pytest.mark.usefixtures("dialect")
def test_a_lease_that_ran_out_while_the_model_thought_and_nobody_took_is_still_ours(tmp_path: Path) -> None:
    memory = changed(tmp_path)

    def wait() -> None:
        memory.clock.at = type(memory.clock.at)(memory.clock.at + 6 * 60 * 1000)

    report = memory.consolidate(judging=judging(while_asked(memory, wait)))
    assert (report.left, report.asked and report.asked.left) == (0, {})


def test_no_transaction_is_open_while_the_model_thinks(tmp_path: Path) -> None:
    memory = changed(tmp_path)

    def write() -> None:
        store = open_store(memory.url)
        store.write(lambda c: c.execute(sa.update(entity).values(indexed_at=1)))
        store.dispose()

    report = memory.consolidate(judging=judging(while_asked(memory, write)))
    assert report.left == 0
