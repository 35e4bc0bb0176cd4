"""Ranking: how well passages answer a question by their terms, the fusion with another order, and the verdict. Pure.

Text: BM25 (Robertson and Zaragoza 2009) over the fetched candidates, each term counted once, so that every database
ranks alike. Fusion: reciprocal ranks (Cormack, Clarke and Büttcher 2009), each order with its weight.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from palimpsest.core.question import Question, Role, Word
from palimpsest.core.terms import terms_of

_K1 = 1.2
_B = 0.4
_MEAN_LENGTH = 60
_RANK_OFFSET = 10  # of reciprocal ranks: the first few places count most
COMMON_SHARE = 0.05
COMMON_LEAST = 200


class Verdict(StrEnum):
    """How sure an answer is."""

    CONFIDENT = "confident"
    WEAK = "weak"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """What was chosen on one half of the labelled questions (benchmarks/recall).

    exact         more for a word as it was asked for than for its stem
    named         more for a word of the entity's name
    whole         of parts written as one, beside the parts
    leading       of words that only lead to kinds and aspects
    asked         more for the aspects that are asked about
    short         more for an entity whose short name the question says whole
    missed_pair   how much a pair of letters is missed, where a word is missed wholly
    sure, unsure  what share of a question an answer must have to be confident, or any answer
    trust         how strongly a place in the order of texts counts by the share of the question that it has
    """

    exact: float = 0.15
    named: float = 0.6
    whole: float = 0.5
    leading: float = 0.3
    asked: float = 0.6
    short: float = 0.4
    missed_pair: float = 0.35
    sure: float = 0.75
    unsure: float = 0.5
    trust: float = 2.0


WEIGHTS = Weights()


@dataclass(frozen=True, slots=True, kw_only=True)
class Nearness:
    """What similarities of one embedder's vectors mean, chosen as the weights are.

    floor      from where on a passage is an answer at all
    sure_from  from where on it is a confident one
    weight     how much a place in the order of vectors counts beside one in that of texts, which is 1
    aside      how much where some text is sure: enough to decide between texts that are as good
    """

    floor: float
    sure_from: float
    weight: float
    aside: float


# By provider, the first part of an embedder's name. Of one that was not measured little is believed.
_NEARNESS = {
    "hashed": Nearness(floor=0.45, sure_from=2.0, weight=0.1, aside=0.02),
    "minilm": Nearness(floor=0.36, sure_from=2.0, weight=0.3, aside=0.03),
}
_UNMEASURED = Nearness(floor=0.5, sure_from=2.0, weight=0.2, aside=0.02)


def nearness_of(embedder: str) -> Nearness:
    """What the similarities of an embedder mean."""
    return _NEARNESS.get(embedder.partition(":")[0], _UNMEASURED)


class Sought(NamedTuple):
    """A word of a question with the terms that stand for it, each with its worth, and how rare it is."""

    word: Word
    terms: tuple[tuple[str, float], ...]
    idf: float
    is_common: bool = False


class Read(NamedTuple):
    """A candidate as it is ranked: its terms, those of its head, and those of its short names.

    `asked`: how much its aspect is asked about, 0 to 1. `worth` is what it is worth where only its head has something
    of what is sought: how much it tells of its entity.
    """

    id: int
    terms: frozenset[str]
    head: frozenset[str]
    shorts: tuple[frozenset[str], ...]
    asked: float
    worth: float = 1.0


class Scored(NamedTuple):
    """How well a passage answers: its score, the share of the question that it has, and the words found."""

    id: int
    score: float
    coverage: float
    found: tuple[str, ...]


def sought(
    question: Question,
    frequencies: Mapping[str, int],
    total: int,
    corrections: Mapping[str, Sequence[tuple[str, float]]],
    weights: Weights = WEIGHTS,
) -> list[Sought]:
    """The words of a question as they are looked for. Words in many passages are left out while there are rarer ones.

    `frequencies`: in how many passages a stem is, of `total`; `corrections`: for words that are in none, what was
    perhaps meant, with its likeness.
    """
    common = max(COMMON_LEAST, COMMON_SHARE * total)
    found = []
    for word in question.words:
        count = frequencies.get(word.stem, 0)
        terms: list[tuple[str, float]] = [(word.stem, 1.0)]
        if word.text != word.stem:
            terms.append((word.text, 1.0 + weights.exact))
        others = corrections.get(word.stem, ())
        if not count and others:
            terms = list(others)
            count = max(frequencies.get(other, 0) for other, _ in others)
        found.append(Sought(word, tuple(terms), _idf(count, total), count > common))
    rarer = any(one.word.role is Role.NAMED and one.idf and not one.is_common for one in found)
    return [one for one in found if not (one.is_common and rarer)]


def _idf(count: int, total: int) -> float:
    return math.log(1 + (max(total, count) - count + 0.5) / (count + 0.5))


def score(candidates: Iterable[Read], wanted: Sequence[Sought], weights: Weights = WEIGHTS) -> list[Scored]:
    """The candidates that have anything of what is sought, the best first; equal ones by their number."""
    named = [one for one in wanted if one.word.role is Role.NAMED]
    said = {term for one in wanted for term, _ in one.terms}
    found = []
    for candidate in candidates:
        norm = (_K1 + 1) / (1 + _K1 * (1 - _B + _B * len(candidate.terms) / _MEAN_LENGTH))
        points = got = whole = 0.0
        own, words = False, []
        for one in wanted:
            has, term = _has(candidate.terms, one)
            in_name = term in candidate.head
            if one.word.role is Role.NAMED or (one.word.role is Role.LEADING and in_name):
                share = min(1.0, has)
                got += one.idf * share
                whole += one.idf * (share + (1 - share) * (weights.missed_pair if one.word.is_pair else 1.0))
            if not has:
                continue
            if one.word.role is not Role.LEADING or in_name:
                words.append(one.word.text if term in {one.word.text, one.word.stem} else f"{one.word.text} → {term}")
            own = own or not in_name
            more = 1 + weights.named if in_name else 1.0
            points += one.idf * has * more * _weight_of(one.word.role, in_name, weights)
        if not points and not (candidate.asked and not named):
            continue
        whole_names = sum(1 for short in candidate.shorts if short and short <= said)
        points = (points * norm + 0.1 * candidate.asked) * (1 + weights.short * whole_names)
        told = 1.0 if own else max(candidate.worth, candidate.asked)
        points *= (1 + weights.asked * candidate.asked) * told
        coverage = got / whole if whole else weights.sure if candidate.asked else 0.0
        found.append(Scored(candidate.id, points, coverage, tuple(dict.fromkeys(words))))
    return sorted(found, key=lambda one: (-one.score, one.id))


def _has(terms: frozenset[str], one: Sought) -> tuple[float, str]:
    """What the best term of a word that a passage has is worth, and that term."""
    best = (0.0, "")
    for term, worth in one.terms:
        if term in terms and worth > best[0]:
            best = (worth, term)
    return best


def _weight_of(role: Role, in_name: bool, weights: Weights) -> float:
    match role:
        case Role.NAMED:
            return 1.0
        case Role.LEADING:
            return 1.0 if in_name else weights.leading
        case Role.WHOLE:
            return weights.whole


class Fused(NamedTuple):
    """A passage in the order of both: the text's score and coverage, and the similarity of its vector, None unknown."""

    id: int
    score: float
    text: Scored | None
    similarity: float | None


def fuse(
    by_text: Sequence[Scored], by_vector: Sequence[tuple[int, float]], nearness: Nearness, weights: Weights = WEIGHTS
) -> list[Fused]:
    """One order of two, the best first. Vectors below their floor join no order; equal scores share a place.

    Where some text has enough of the question to be sure, vectors only decide between texts that are as good; where
    none has, a place in the order of texts counts by how much of it the text has.
    """
    is_sure = any(one.coverage >= weights.sure for one in by_text)
    weight = nearness.aside if is_sure else nearness.weight
    points: dict[int, float] = {}
    place, last = 0, math.inf
    for at, one in enumerate(by_text):
        if one.score < last - 1e-9:
            place, last = at, one.score
        points[one.id] = (1.0 if is_sure else one.coverage**weights.trust) / (_RANK_OFFSET + place)
    texts = {one.id: one for one in by_text}
    near = [(number, similarity) for number, similarity in by_vector if similarity >= nearness.floor]
    for at, (number, _) in enumerate(near):
        points[number] = points.get(number, 0.0) + weight / (_RANK_OFFSET + at)
    best = (1.0 + (weight if near else 0.0)) / _RANK_OFFSET
    likeness = dict(by_vector)
    found = [Fused(number, score / best, texts.get(number), likeness.get(number)) for number, score in points.items()]
    return sorted(found, key=lambda one: (-one.score, one.id))


def verdict_of(coverage: float, similarity: float | None, nearness: Nearness, weights: Weights = WEIGHTS) -> Verdict:
    """How sure one answer is, by what share of the question it has, or by how near its vector is."""
    if coverage >= weights.sure or (similarity is not None and similarity >= nearness.sure_from):
        return Verdict.CONFIDENT
    return Verdict.WEAK


def head_terms(text: str) -> frozenset[str]:
    """The terms of what a passage is about: of its text up to the first colon and blank."""
    return _terms_of_head(text.partition(": ")[0])


@lru_cache(maxsize=20_000)
def _terms_of_head(head: str) -> frozenset[str]:
    return frozenset(terms_of(head))
