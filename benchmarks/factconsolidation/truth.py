"""What the set itself says: its facts in order, its questions, and which facts make one claim. For scoring only.

The facts were made from templates (MQuAKE's relations). They are written down here so that a claim key can be scored
against them; nothing that is scored may import this.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
FILE = "benchmarks/factconsolidation_6k.json"

_NUMBERED = re.compile(r"(\d+)\. (.+)")
# A relation: what stands before the subject, between it and the value. All end in the value and a full stop.
_RELATIONS = (
    ("", " was born in the city of "),
    ("", " died in the city of "),
    ("", " worked in the city of "),
    ("", " was founded in the city of "),
    ("", " was founded by "),
    ("", " was created by "),
    ("", " was created in the country of "),
    ("", " was developed by "),
    ("", " was performed by "),
    ("", " was written in the language of "),
    ("", " plays the position of "),
    ("", " speaks the language of "),
    ("", " works in the field of "),
    ("", " is a citizen of "),
    ("", " is married to "),
    ("", " is employed by "),
    ("", " is famous for "),
    ("", " is located in the continent of "),
    ("", " is associated with the sport of "),
    ("", " is affiliated with the religion of "),
    ("", "'s child is "),
    ("The author of ", " is "),
    ("The capital of ", " is "),
    ("The chairperson of ", " is "),
    ("The chief executive officer of ", " is "),
    ("The company that produced ", " is "),
    ("The director of ", " is "),
    ("The headquarters of ", " is located in the city of "),
    ("The name of the current head of state in ", " is "),
    ("The name of the current head of the ", " government is "),
    ("The official language of ", " is "),
    ("The origianl broadcaster of ", " is "),
    ("The Prime Minister of ", " is "),
    ("The type of music that ", " plays is "),
    ("The univeristy where ", " was educated is "),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A fact of the set: its number, its sentence, and by the templates its claim (relation, subject) and value."""

    number: int
    sentence: str
    claim: tuple[str, str]
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question of the set and the answers that it accepts."""

    question: str
    answers: tuple[str, ...]


def load(shared: Path = SHARED) -> tuple[list[Fact], list[Asked], list[Asked]]:
    """The facts in their order, the single-hop questions and the multi-hop ones."""
    subsets = {
        one["metadata"]["source"]: one for one in json.loads((shared / FILE).read_text(encoding="utf-8"))["data"]
    }
    single, multi = subsets["factconsolidation_sh_6k"], subsets["factconsolidation_mh_6k"]
    return list(facts_of(single["context"])), _asked(single), _asked(multi)


def facts_of(context: str) -> Iterator[Fact]:
    """The numbered lines of a context. Raises ValueError for one that is of no relation, or of two."""
    for line in context.splitlines():
        numbered = _NUMBERED.fullmatch(line)
        if numbered is not None:
            claim, value = _taken_apart(numbered[2])
            yield Fact(number=int(numbered[1]), sentence=numbered[2], claim=claim, value=value)


def _taken_apart(sentence: str) -> tuple[tuple[str, str], str]:
    """(relation, subject) and value. Of relations that fit, the one with the longest text is meant."""
    fits = []
    for before, between in _RELATIONS:
        if sentence.startswith(before) and between in sentence[len(before) :] and sentence.endswith("."):
            subject, _, value = sentence[len(before) : -1].partition(between)
            fits.append((len(before) + len(between), (f"{before}…{between}", subject), value))
    if not fits or len([one for one in fits if one[0] == max(fits)[0]]) != 1:
        raise ValueError(f"not one relation: {sentence}")
    _, claim, value = max(fits)
    return claim, value


def _asked(subset: dict[str, list[object]]) -> list[Asked]:
    return [
        Asked(question=str(question), answers=tuple(_texts(answers)))
        for question, answers in zip(subset["questions"], subset["answers"], strict=True)
    ]


def _texts(answers: object) -> list[str]:
    return [str(one) for one in answers] if isinstance(answers, list) else [str(answers)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """How a claim key agrees with labels, in pairs of sentences: told to be one claim, being one, both."""

    told: int
    true: int
    both: int

    @property
    def precision(self) -> float:
        """Which share of what was told to be one claim is one."""
        return self.both / self.told if self.told else 1.0

    @property
    def recall(self) -> float:
        """Which share of what is one claim was told to be one."""
        return self.both / self.true if self.true else 1.0


def agreement(keys: Sequence[str], labels: Sequence[object]) -> Agreement:
    """Compare the keys of sentences with labels, over every pair of them."""
    pairs = [(keys[a] == keys[b], labels[a] == labels[b]) for a, b in combinations(range(len(keys)), 2)]
    return agreement_of(pairs)


def agreement_of(pairs: Iterable[tuple[bool, bool]]) -> Agreement:
    """Compare what was told of pairs with what is true of them."""
    counted = list(pairs)
    return Agreement(
        told=sum(told for told, _ in counted),
        true=sum(true for _, true in counted),
        both=sum(told and true for told, true in counted),
    )


def newest(facts: Iterable[Fact]) -> dict[tuple[str, str], Fact]:
    """The fact that holds of each claim: the last one."""
    return {one.claim: one for one in facts}


def wanted(asked: Asked, facts: Sequence[Fact]) -> list[Fact]:
    """The facts that hold, whose value is an answer and whose subject the question names: what should be recalled.

    Of several the one with the longest subject: `Japan` is also in the name of what is of Japan.
    """
    fits = [one for one in newest(facts).values() if one.value in asked.answers and one.claim[1] in asked.question]
    longest = max((len(one.claim[1]) for one in fits), default=0)
    return [one for one in fits if len(one.claim[1]) == longest]
