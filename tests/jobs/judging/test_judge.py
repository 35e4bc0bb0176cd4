"""A model's answers become verdicts where they are whole and possible; every other cluster is left, and counted."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pytest

from palimpsest.core.episode import Kind
from palimpsest.core.errors import BadAnswerError, BudgetError, ModelError, RefusedTextError
from palimpsest.core.language import Ask
from palimpsest.jobs.judging.fence import MOST_LETTERS, tokens_of
from palimpsest.testing.model import ScriptedModel, items_in
from tests.jobs.judging.matters import judging, prompt, rewritten, told

SAME = ("One row per order.", "Holds one row per order.")
OTHER = ("One row per order.", "One row per order line.")


def entry(**changed: Any) -> dict[str, Any]:
    """What a model says of the only statement of the first item that is asked about."""
    return {"item": 1, "place": 1, "restates": None, "sure": True, "why": "lines, not orders"} | changed


def says(*entries: Any) -> str:
    """An answer."""
    return json.dumps({"answers": list(entries)})


def test_a_model_is_asked_about_rewritten_text_and_its_reason_is_kept() -> None:
    model = ScriptedModel([says(entry(), entry(item=2, restates=0, why="same"))])
    judge = judging(model).judge
    found = judge.judge([rewritten(1, *OTHER), rewritten(2, *SAME)])
    assert told(found) == [(1, ["supersede"]), (2, ["reinforce"])]
    assert judge.name == f"scripted:one {prompt('restated').tag}"
    assert {one.judge for one in found} == {judge.name}
    (superseding,) = [verdict for one in found for verdict in one.every if verdict.opened]
    assert (superseding.opened and superseding.opened.reason) == "lines, not orders"
    assert items_in(model.asks[0]) == [
        {
            "item": 1,
            "about": "description",
            "statements": [{"place": 0, "text": OTHER[0]}, {"place": 1, "text": OTHER[1]}],
            "asked": [1],
        },
        {
            "item": 2,
            "about": "description",
            "statements": [{"place": 0, "text": SAME[0]}, {"place": 1, "text": SAME[1]}],
            "asked": [1],
        },
    ]


def test_what_rules_decide_is_not_asked() -> None:
    model = ScriptedModel()
    work = judging(model)
    cluster, _ = rewritten(1, "a", "b")
    first = cluster._replace(episodes=[cluster.episodes[0]._replace(kind=Kind.FIRST, number=1)])
    long = rewritten(2, "a " * MOST_LETTERS, "b " * MOST_LETTERS)
    assert told(work.judge.judge([(first, []), long])) == [(1, ["open"]), (2, ["supersede"])]
    assert (model.asks, work.asked.items) == ([], 0)


@pytest.mark.parametrize(
    "answer",
    [
        says(),
        says(entry(place=0)),
        says(entry(place=2)),
        says(entry(restates=1)),
        says(entry(restates=-1)),
        says(entry(restates=5)),
        says(entry(), entry()),
        says(entry(), entry(place=0)),
        says(entry(), entry(restates=0)),
        says(entry(entity="urn:li:dataset:other")),
        says(entry(), entry(aspect="ownership")),
        says(entry(sure="yes")),
        says(entry(place="1")),
        says(entry(restates=False)),
        says({"item": 1}),
        says(entry(item=0), entry(item=3), entry(item=True), entry(item=None), "text", None, [1]),
    ],
)
def test_an_answer_that_is_not_possible_leaves_its_own_item_and_no_other(answer: str) -> None:
    whole = json.loads(answer)
    whole["answers"].append(entry(item=2, why="another"))
    work = judging(ScriptedModel([json.dumps(whole)]))
    found = work.judge.judge([rewritten(1, *OTHER), rewritten(2, *OTHER)])
    assert told(found) == [(2, ["supersede"])]
    assert (work.asked.items, work.asked.answered, work.asked.left) == (2, 1, {"not answered": 1})


@pytest.mark.parametrize(
    "answer",
    ["", "no JSON", '{"answers":[', "[]", "null", '{"answers":{}}', '{"answers":[],"note":1}', "{}", "[" * 5_000],
)
def test_an_answer_that_is_none_leaves_its_item(answer: str) -> None:
    work = judging(ScriptedModel([answer]))
    assert work.judge.judge([rewritten(1, *OTHER)]) == []
    assert work.asked.left == {"bad answer": 1}
    assert work.asked.problem == ""


def test_each_statement_of_a_cluster_is_answered_or_none_of_them_counts() -> None:
    clusters = [rewritten(1, "a", "b", "c", "d")]
    whole = [entry(place=place) for place in (3, 1, 2)]
    assert told(judging(ScriptedModel([says(*whole)])).judge.judge(clusters)) == [(1, ["supersede"] * 3)]
    assert judging(ScriptedModel([says(*whole[:2])])).judge.judge(clusters) == []


@pytest.mark.parametrize("error", [BadAnswerError("cut off"), RefusedTextError("too much")])
def test_a_batch_whose_answer_is_none_is_asked_again_in_two_halves_once(error: ModelError) -> None:
    clusters = [rewritten(number, *OTHER) for number in range(1, 6)]
    model = ScriptedModel([error, error])
    work = judging(model)
    assert told(work.judge.judge(clusters)) == [(number, ["supersede"]) for number in (3, 4, 5)]
    assert [len(items_in(ask)) for ask in model.asks] == [5, 2, 3]
    assert (work.asked.left, work.asked.bad, work.asked.problem) == ({"bad answer": 2}, error.message, "")


def test_a_model_that_cannot_be_used_is_asked_nothing_more() -> None:
    clusters = [rewritten(number, *OTHER) for number in range(1, 7)]
    model = ScriptedModel([lambda ask: says(entry(), entry(item=2)), ModelError("gone", "come back")])
    work = judging(model, items_at_once=2)
    assert told(work.judge.judge(clusters)) == [(1, ["supersede"]), (2, ["supersede"])]
    assert len(model.asks) == 2
    assert work.judge.judge([rewritten(7, *OTHER)]) == []
    assert len(model.asks) == 2
    asked = work.asked
    assert (asked.problem, asked.hint, asked.left) == ("gone", "come back", {"not asked": 5})


def test_a_budget_is_used_to_its_end() -> None:
    """It is told before anything is sent, so that halving a request costs nothing."""

    def refuse(ask: Ask) -> str:
        if len(items_in(ask)) > 1:
            raise BudgetError("spent")
        return says(entry())

    work = judging(ScriptedModel([refuse, refuse, refuse, BudgetError("spent")]))
    found = work.judge.judge([rewritten(number, *OTHER) for number in range(1, 5)])
    assert told(found) == [(1, ["supersede"])]
    assert (work.asked.problem, work.asked.left) == ("spent", {"not asked": 3})


def test_a_model_that_never_answers_usably_is_not_asked_for_ever() -> None:
    model = ScriptedModel(always="nonsense")
    work = judging(model, items_at_once=1)
    assert work.judge.judge([rewritten(number, *OTHER) for number in range(1, 9)]) == []
    assert len(model.asks) == 3
    assert work.asked.problem == "scripted:one gave no usable answer 3 times in a row; the last: the answer is not JSON"
    assert work.asked.left == {"bad answer": 3, "not asked": 5}


def test_requests_are_filled_up_to_a_limit_of_tokens() -> None:
    model = ScriptedModel()
    work = judging(model, tokens_at_once=300)
    work.judge.judge([rewritten(number, "x " * 100, "y " * 100) for number in range(1, 8)])
    assert [len(items_in(ask)) for ask in model.asks] == [1] * 7
    model.asks.clear()
    judging(model, tokens_at_once=1_000).judge.judge([rewritten(n, "x " * 100, "y " * 100) for n in range(1, 8)])
    sizes = [len(items_in(ask)) for ask in model.asks]
    assert (sum(sizes), max(sizes) > 1) == (7, True)
    assert all(tokens_of(ask.material) <= 1_050 for ask in model.asks)


def test_an_answer_grows_with_what_changed_and_not_with_what_is_held() -> None:
    model = ScriptedModel()
    judging(model).judge.judge([rewritten(1, "x " * 3_000, "y")])
    judging(model).judge.judge([rewritten(1, "x", "y")])
    judging(model).judge.judge([rewritten(1, "x", "y", "z")])
    long, short, two = (ask.most_tokens for ask in model.asks)
    assert (long, two - short) == (short, short - 100)


def test_a_reason_is_one_short_line_without_what_is_not_printed() -> None:
    why = "a\n\x1b[31mred\u202e " + "word " * 30
    work = judging(ScriptedModel([says(entry(why=why))]))
    (judged,) = work.judge.judge([rewritten(1, *OTHER)])
    opened = judged.every[0].opened
    assert opened is not None
    assert opened.reason == "a [31mred " + "word " * 17 + "word"


def test_a_model_can_be_sent_to_another_process_before_it_is_asked() -> None:
    sent = pickle.loads(pickle.dumps(judging(ScriptedModel())))
    assert told(sent.judge.judge([rewritten(1, *SAME)])) == [(1, ["reinforce"])]


def test_the_schema_closes_every_object_and_refers_to_nothing() -> None:
    model = ScriptedModel()
    judging(model).judge.judge([rewritten(1, *OTHER)])
    assert model.asks[0].schema == {
        "type": "object",
        "properties": {
            "answers": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "item": {"type": "integer"},
                        "place": {"type": "integer"},
                        "why": {"type": "string"},
                        "restates": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
                        "sure": {"type": "boolean"},
                    },
                    "required": ["item", "place", "why", "restates", "sure"],
                    "additionalProperties": False,
                },
            }
        },
        "required": ["answers"],
        "additionalProperties": False,
    }


def test_what_would_be_asked_is_told_without_asking() -> None:
    model = ScriptedModel()
    work = judging(model, items_at_once=2)
    would = work.would_ask([rewritten(number, *OTHER) for number in range(1, 4)])
    assert (would.items, would.calls, model.asks) == (3, 2, [])
    work.judge.judge([rewritten(number, *OTHER) for number in range(1, 4)])
    read = sum(tokens_of(ask.material) + tokens_of(ask.instructions) for ask in model.asks)
    assert abs(would.input_tokens - read) <= 0.05 * read
