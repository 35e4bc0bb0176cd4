"""Scores what was recalled against what the set accepts, without a model between. Pure."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

from benchmarks.factconsolidation.truth import Asked, Fact, newest, wanted

if TYPE_CHECKING:
    from benchmarks.factconsolidation.memory import Recalled

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(a|an|the)\b")


class Ask(Protocol):
    """Recall over one memory; with `past`, of what is superseded too."""

    def __call__(self, question: str, *, past: bool = False) -> list[Recalled]:
        """The facts that answer, the best first."""


def plain(text: str) -> str:
    """A text as MemoryAgentBench compares it: small letters, no punctuation, no articles, single blanks."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def contains(text: str, answers: Iterable[str]) -> bool:
    """Whether a text has an accepted answer in it: MemoryAgentBench's `substring_exact_match`."""
    return any(plain(answer) in plain(text) for answer in answers)


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """Of `asked` questions, in how many …

    first          the first fact has an accepted answer in it
    value          its value alone, as the claim is cut, is an accepted answer: what would be said without a model
    five           one of the first five facts has an accepted answer in it
    right          the first fact is the one that states the answer
    right_in_five  one of the first five is
    stale          the first fact is one that a later fact of the set contradicts
    stale_past     the same where superseded facts were asked for too
    current_above  of `shown_past`, where an older fact of the wanted claim was among those, the current one was above
    nothing        nothing was recalled
    """

    asked: int
    first: int
    value: int
    five: int
    right: int
    right_in_five: int
    stale: int
    stale_past: int
    current_above: int
    shown_past: int
    nothing: int


class _One(NamedTuple):
    """What was recalled for one question."""

    asked: Asked
    now: Sequence[Recalled]
    past: Sequence[Recalled]


def score(
    ask: Ask, questions: Sequence[Asked], facts: Sequence[Fact], value_of: Callable[[str], str | None]
) -> tuple[Score, list[str]]:
    """Ask every question. Gives the counts, and the questions whose first fact has no accepted answer, as lines."""
    holds = {one.sentence for one in newest(facts).values()}
    ones = [_One(asked, ask(asked.question), ask(asked.question, past=True)) for asked in questions]
    rights = [{fact.sentence for fact in wanted(one.asked, facts)} for one in ones]
    firsts = [one.now[0].text if one.now else "" for one in ones]
    orders = [_order(one, facts) for one in ones]
    missed = [
        f"{one.asked.question} → {first or '(nothing)'} ({', '.join(one.asked.answers)})"
        for one, first in zip(ones, firsts, strict=True)
        if not contains(first, one.asked.answers)
    ]
    return Score(
        asked=len(ones),
        first=len(ones) - len(missed),
        value=sum(
            plain(value_of(first) or "") in {plain(answer) for answer in one.asked.answers}
            for one, first in zip(ones, firsts, strict=True)
        ),
        five=sum(any(contains(each.text, one.asked.answers) for each in one.now[:5]) for one in ones),
        right=sum(first in right for first, right in zip(firsts, rights, strict=True)),
        right_in_five=sum(
            any(each.text in right for each in one.now[:5]) for one, right in zip(ones, rights, strict=True)
        ),
        stale=sum(bool(first) and first not in holds for first in firsts),
        stale_past=sum(bool(one.past) and one.past[0].text not in holds for one in ones),
        current_above=sum(order is True for order in orders),
        shown_past=sum(order is not None for order in orders),
        nothing=sum(not one.now for one in ones),
    ), missed


def _order(one: _One, facts: Sequence[Fact]) -> bool | None:
    """Whether the wanted fact stands above each older one of its claim, None where no older one was recalled."""
    for right in wanted(one.asked, facts):
        older = {fact.sentence for fact in facts if fact.claim == right.claim and fact != right}
        texts = [each.text for each in one.past]
        first = next((place for place, text in enumerate(texts) if text in older), None)
        if first is not None:
            return right.sentence in texts[:first]
    return None


_COLUMNS: Mapping[str, str] = {
    "first": "first fact",
    "value": "its value, exactly",
    "five": "first five",
    "right": "right fact first",
    "right_in_five": "right fact in five",
    "stale": "superseded first",
    "stale_past": "superseded first, when asked for",
    "nothing": "nothing said",
}


def table(scores: Mapping[str, Score]) -> str:
    """The scores of several ways as a Markdown table."""
    lines = [
        f"| way | {' | '.join(_COLUMNS.values())} | current above older |",
        "|---|" + "---:|" * (len(_COLUMNS) + 1),
    ]
    for way, one in scores.items():
        counts = " | ".join(str(getattr(one, column)) for column in _COLUMNS)
        lines.append(f"| {way} | {counts} | {one.current_above} of {one.shown_past} |")
    return "\n".join(lines)
