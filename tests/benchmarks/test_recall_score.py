"""The scorer of recall: whole scores of hand-made answers, and the tables."""

from __future__ import annotations

from typing import Any

from benchmarks.recall.labels import Expected, Question
from benchmarks.recall.score import (
    Answer,
    Answered,
    Result,
    Score,
    Verdict,
    ask_all,
    by_kind,
    current_above,
    failures,
    kinds_table,
    rank,
    score,
    score_one,
    ways_table,
)

ORDERS, CARTS = "urn:li:dataset:orders", "urn:li:dataset:carts"
OWNER = Expected(urn=ORDERS, aspect="ownership")
PAST_OWNER = Expected(urn=ORDERS, aspect="ownership", key="", version=1, superseded=True)
OWNER_NOW = Expected(urn=ORDERS, aspect="ownership", key="", version=2)


def question(*expect: Expected, kind: str = "owner", half: str = "tune", id: str = "q", **filters: Any) -> Question:
    return Question(
        id=id, memory="demo", kind=kind, half=half, question="who owns orders?", expect=expect, filters=filters
    )


def answer(urn: str, aspect: str, key: str = "", version: int = 1, *, past: bool = False) -> Answer:
    return Answer(urn=urn, aspect=aspect, key=key, version=version, score=0.5, is_superseded=past)


def result(asked: Question, *answers: Answer, verdict: Verdict = "confident") -> Result:
    return Result(question=asked, answered=Answered(verdict=verdict, answers=answers))


def test_a_right_answer_at_the_top_counts_at_1_and_at_5():
    told = result(question(OWNER), answer(ORDERS, "ownership"), answer(CARTS, "ownership"))
    assert rank(told) == 1
    assert score_one(told) == Score(answerable=1, at_1=1, at_5=1, entity_at_5=1)


def test_a_right_answer_in_fifth_place_counts_at_5_and_in_sixth_does_not():
    wrong = answer(CARTS, "tags")
    fifth = result(question(OWNER), *[wrong] * 4, answer(ORDERS, "ownership"))
    sixth = result(question(OWNER), *[wrong] * 5, answer(ORDERS, "ownership"))
    assert (rank(fifth), score_one(fifth)) == (5, Score(answerable=1, at_5=1, entity_at_5=1))
    assert (rank(sixth), score_one(sixth)) == (6, Score(answerable=1))


def test_another_aspect_of_the_right_entity_is_no_right_answer():
    told = result(question(OWNER), answer(ORDERS, "description", "source"))
    assert score_one(told) == Score(answerable=1, entity_at_5=1)


def test_what_is_expected_is_as_narrow_as_its_label():
    given = answer(ORDERS, "column", "total", 3)
    column = Expected(urn=ORDERS, aspect="column")
    labels = [
        Expected(urn=ORDERS),
        Expected(urn=ORDERS, key="total"),
        column,
        Expected(urn=ORDERS, aspect="column", key="total", version=3),
        Expected(urn=ORDERS, aspect="column", key="status"),
        Expected(urn=ORDERS, aspect="column", key="total", version=2),
        Expected(urn=CARTS),
    ]
    assert [rank(result(question(label), given)) for label in labels] == [1, 1, 1, 1, None, None, None]


def test_any_of_several_right_answers_will_do():
    asked = question(Expected(urn=CARTS, aspect="name"), OWNER)
    assert rank(result(asked, answer(CARTS, "tags"), answer(ORDERS, "ownership"))) == 2


def test_answers_under_the_verdict_nothing_do_not_count():
    told = result(question(OWNER), answer(ORDERS, "ownership"), verdict="nothing")
    assert score_one(told) == Score(answerable=1, missed=1)


def test_a_question_without_an_answer_is_false_unless_recall_says_nothing():
    asked = question(kind="nothing")
    given = answer(ORDERS, "ownership")
    assert score_one(result(asked, verdict="nothing")) == Score(unanswerable=1)
    assert score_one(result(asked, given, verdict="weak")) == Score(unanswerable=1, false=1)
    assert score_one(result(asked, given)) == Score(unanswerable=1, false=1, false_confident=1)


def test_the_current_version_must_stand_above_every_superseded_one():
    asked = question(PAST_OWNER, OWNER_NOW, kind="superseded", include_superseded=True)
    now, past = answer(ORDERS, "ownership", "", 2), answer(ORDERS, "ownership", "", 1, past=True)
    good, turned, alone, only_now = (
        result(asked, now, past),
        result(asked, past, now),
        result(asked, past),
        result(asked, now),
    )
    assert [current_above(one) for one in (good, turned, alone, only_now)] == [True, False, False, None]
    hit = {"answerable": 1, "at_1": 1, "at_5": 1, "entity_at_5": 1, "past": 1}
    assert score_one(good) == Score(**hit, past_at_5=1, ordered=1, current_above=1)
    assert score_one(turned) == Score(**hit, past_at_5=1, ordered=1)
    assert score_one(only_now) == Score(**hit)


def test_the_order_is_of_what_was_asked_and_of_no_other_belief():
    asked = question(PAST_OWNER, OWNER_NOW, kind="superseded", include_superseded=True)
    other = answer(ORDERS, "tags", "", 1, past=True)
    told = result(asked, other, answer(ORDERS, "ownership", "", 2), answer(ORDERS, "ownership", "", 1, past=True))
    assert current_above(told) is True


def test_the_order_is_looked_at_only_where_superseded_versions_were_asked_for():
    asked = question(Expected(urn=ORDERS, aspect="ownership", version=1), kind="superseded", as_of="2026-03-04")
    told = result(asked, answer(ORDERS, "ownership", "", 1, past=True))
    assert score_one(told) == Score(answerable=1, at_1=1, at_5=1, entity_at_5=1)


def test_questions_are_asked_of_their_own_memory_with_their_filters():
    heard = []

    def ask(asked: str, **filters: Any) -> Answered:
        heard.append((asked, filters))
        return Answered(verdict="nothing")

    mine = question(OWNER, platform="dbt")
    elsewhere = Question(id="x", memory="mce", kind="exact", half="test", question="x", expect=(), filters={})
    assert ask_all([mine, elsewhere], {"demo": ask}) == [Result(question=mine, answered=Answered(verdict="nothing"))]
    assert heard == [("who owns orders?", {"platform": "dbt"})]


def some_results() -> list[Result]:
    right, wrong = answer(ORDERS, "ownership"), answer(CARTS, "ownership")
    return [
        result(question(OWNER, id="a"), right),
        result(question(OWNER, id="b"), wrong, verdict="weak"),
        result(question(kind="nothing", id="c"), wrong, verdict="weak"),
        result(question(OWNER, half="test", id="d"), wrong, right),
    ]


def test_scores_add_up_by_kind_and_half():
    owner = Score(answerable=2, at_1=1, at_5=1, entity_at_5=1)
    nothing = Score(unanswerable=1, false=1)
    last = Score(answerable=1, at_5=1, entity_at_5=1)
    assert by_kind(some_results(), "tune") == {"owner": owner, "nothing": nothing, "all": owner + nothing}
    assert by_kind(some_results(), "test") == {"owner": last, "all": last}
    assert score(some_results()) == owner + nothing + last


def test_the_table_of_kinds_has_a_line_for_each_kind_and_half():
    assert kinds_table(some_results()).splitlines() == [
        "| half | kind | questions | recall@1 | recall@5 | entity@5 | missed | false answers | of them confident "
        "| superseded@5 | current above superseded |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
        "| tune | owner | 2 | 50 % (1/2) | 50 % (1/2) | 50 % (1/2) | 0 % (0/2) | - | - | - | - |",
        "| tune | nothing | 1 | - | - | - | - | 100 % (1/1) | 0 % (0/1) | - | - |",
        "| tune | all | 3 | 50 % (1/2) | 50 % (1/2) | 50 % (1/2) | 0 % (0/2) | 100 % (1/1) | 0 % (0/1) | - | - |",
        "| test | owner | 1 | 0 % (0/1) | 100 % (1/1) | 100 % (1/1) | 0 % (0/1) | - | - | - | - |",
        "| test | all | 1 | 0 % (0/1) | 100 % (1/1) | 100 % (1/1) | 0 % (0/1) | - | - | - | - |",
    ]


def test_the_table_of_ways_holds_them_against_each_other_on_each_half():
    lines = ways_table({"text": some_results(), "fused": some_results()[:1]}).splitlines()
    assert [line.split(" | ")[:3] for line in lines[2:]] == [
        ["| text", "tune", "50 % (1/2)"],
        ["| fused", "tune", "100 % (1/1)"],
        ["| text", "test", "0 % (0/1)"],
        ["| fused", "test", "-"],
    ]


def test_failures_name_the_question_and_what_came_first():
    assert failures(some_results()) == [
        "b (demo) 'who owns orders?': weak, rank -, first: urn:li:dataset:carts ownership",
        "c (demo) 'who owns orders?': weak, rank -, first: urn:li:dataset:carts ownership",
        "d (demo) 'who owns orders?': confident, rank 2, first: urn:li:dataset:carts ownership",
    ]
