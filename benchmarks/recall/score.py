"""Scores what recall answers to the labelled questions: recall@1, recall@5, false answers, current above superseded.

Pure functions. Recall itself comes in as `Ask`, one for each memory; what it takes and gives is stated here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, Protocol

from benchmarks.recall.labels import HALVES, KINDS, Question

Verdict = Literal["confident", "weak", "nothing"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One belief that recall gives, as far as it is scored."""

    urn: str
    aspect: str
    key: str
    version: int
    score: float = 0.0
    is_superseded: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """What recall says to one question: its verdict and its answers, best first."""

    verdict: Verdict
    answers: tuple[Answer, ...] = ()


class Ask(Protocol):
    """Recall over one memory. Filters have the names of `labels.FILTERS`; times are ISO 8601 texts."""

    def __call__(self, question: str, **filters: Any) -> Answered:
        """Answer a question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """A question and what was said to it."""

    question: Question
    answered: Answered


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """Counts over some questions; two of them can be added."""

    answerable: int = 0
    at_1: int = 0
    at_5: int = 0
    entity_at_5: int = 0
    missed: int = 0  # has an answer, and recall said "nothing"
    unanswerable: int = 0
    false: int = 0  # has no answer, and recall did not say "nothing"
    false_confident: int = 0
    past: int = 0  # asked for superseded versions too
    past_at_5: int = 0  # of those, a superseded version that is asked for is among the first five
    ordered: int = 0  # of those, a superseded version is given at all
    current_above: int = 0  # of the ordered, the current version stands above it

    def __add__(self, other: Score) -> Score:
        """Both together."""
        return Score(**{one.name: getattr(self, one.name) + getattr(other, one.name) for one in fields(Score)})


def ask_all(questions: Iterable[Question], asks: Mapping[str, Ask]) -> list[Result]:
    """Ask every question of its memory; questions of a memory that is not here are left out."""
    return [
        Result(question=one, answered=asks[one.memory](one.question, **one.filters))
        for one in questions
        if one.memory in asks
    ]


def rank(result: Result) -> int | None:
    """The place of the first right answer, from 1. None if there is none, or recall said that it has nothing."""
    for place, answer in enumerate(_given(result), 1):
        if _fits(result.question, answer):
            return place
    return None


def current_above(result: Result) -> bool | None:
    """Whether the current version stands above every superseded one of what was asked; None if none was given."""
    changed = [one for one in result.question.expect if one.superseded]
    places = [
        (place, answer.is_superseded)
        for place, answer in enumerate(_given(result))
        if any((one.urn, one.aspect, one.key) == (answer.urn, answer.aspect, answer.key) for one in changed)
    ]
    current = [place for place, superseded in places if not superseded]
    superseded = [place for place, superseded in places if superseded]
    if not superseded:
        return None
    return bool(current) and max(current) < min(superseded)


def score_one(result: Result) -> Score:
    """The score of one question."""
    question, verdict = result.question, result.answered.verdict
    if not question.answerable:
        return Score(unanswerable=1, false=verdict != "nothing", false_confident=verdict == "confident")
    place = rank(result)
    first = _given(result)[:5]
    above = current_above(result) if question.with_superseded else None
    expected = {one.urn for one in question.expect}
    return Score(
        answerable=1,
        at_1=place == 1,
        at_5=place is not None and place <= 5,
        entity_at_5=any(answer.urn in expected for answer in first),
        missed=verdict == "nothing",
        past=question.with_superseded,
        past_at_5=question.with_superseded
        and any(
            one.superseded and one.fits(a.urn, a.aspect, a.key, a.version) for one in question.expect for a in first
        ),
        ordered=above is not None,
        current_above=above is True,
    )


def score(results: Iterable[Result]) -> Score:
    """The score of several questions."""
    return sum(map(score_one, results), Score())


def by_kind(results: Sequence[Result], half: str) -> dict[str, Score]:
    """The score of a half: kind → score for the kinds that were asked, and `all`."""
    mine = [one for one in results if one.question.half == half]
    found = {kind: score(one for one in mine if one.question.kind == kind) for kind in KINDS}
    asked = {one.question.kind for one in mine}
    return {kind: of_kind for kind, of_kind in found.items() if kind in asked} | {"all": score(mine)}


def kinds_table(results: Sequence[Result]) -> str:
    """A Markdown table of one way to recall: a line for each kind and in total, for each half."""
    rows = [
        (half, kind, str(of_kind.answerable + of_kind.unanswerable), *_cells(of_kind))
        for half in HALVES
        for kind, of_kind in by_kind(results, half).items()
    ]
    return _markdown(("half", "kind", "questions", *_COLUMNS), rows)


def ways_table(ways: Mapping[str, Sequence[Result]]) -> str:
    """A Markdown table of several ways to recall (text, vectors, fused, …): a line for each way and half."""
    rows = [(way, half, *_cells(by_kind(results, half)["all"])) for half in HALVES for way, results in ways.items()]
    return _markdown(("way", "half", *_COLUMNS), rows)


def failures(results: Iterable[Result]) -> list[str]:
    """One line for each question that was not answered right at once, to see why."""
    lines = []
    for result in results:
        question, verdict, given = result.question, result.answered.verdict, _given(result)
        if rank(result) == 1 or (not question.answerable and verdict == "nothing"):
            continue
        first = f"{given[0].urn} {given[0].aspect} {given[0].key}".strip() if given else "no answer"
        place = rank(result) or "-"
        lines.append(
            f"{question.id} ({question.memory}) {question.question!r}: {verdict}, rank {place}, first: {first}"
        )
    return lines


_COLUMNS = (
    "recall@1",
    "recall@5",
    "entity@5",
    "missed",
    "false answers",
    "of them confident",
    "superseded@5",
    "current above superseded",
)


def _fits(question: Question, answer: Answer, *, past: bool = False) -> bool:
    """Whether an answer is an expected one; with `past`, an expected superseded one."""
    return any(
        one.fits(answer.urn, answer.aspect, answer.key, answer.version)
        for one in question.expect
        if one.superseded or not past
    )


def _given(result: Result) -> tuple[Answer, ...]:
    return () if result.answered.verdict == "nothing" else result.answered.answers


def _cells(of: Score) -> tuple[str, ...]:
    return (
        _share(of.at_1, of.answerable),
        _share(of.at_5, of.answerable),
        _share(of.entity_at_5, of.answerable),
        _share(of.missed, of.answerable),
        _share(of.false, of.unanswerable),
        _share(of.false_confident, of.unanswerable),
        _share(of.past_at_5, of.past),
        _share(of.current_above, of.ordered),
    )


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} % ({part}/{whole})" if whole else "-"


def _markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
