"""Calibration: how well confidence told, on what happened, which statements would still be the same. Pure.

A statement that was current at one reading is looked at again at the next that covers it: the same, changed, or gone
with its entity. Predictions are scored on the readings after a moment; nothing of a reading is known before it.

Brier score = mean (p - same)², log loss = mean -ln p of what happened, calibration error = the mean distance, over ten
bins of p, of the mean p from the share that was the same, weighed by their sizes. The less of each, the better.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from palimpsest.core.confidence import (
    HALF_LIFE_DAYS,
    NEVER,
    Rates,
    Watched,
    days_between,
    rates_of,
    still_true,
    weighed,
)
from palimpsest.core.moment import Moment

BINS = 10
CONSTANT, EXPONENTIAL, LEARNED = "constant", "exponential", "learned"
CONSTANT_ON, LEARNED_STOPPED = "constant, counting on", "learned, stopped"
MODELS = {
    CONSTANT: "the share that was the same, in the first part",
    EXPONENTIAL: f"one half-life of {HALF_LIFE_DAYS / 365.25:.0f} years for all, nothing learned",
    LEARNED: "as confidence is told: by what was counted before each reading",
    CONSTANT_ON: "the share that was the same, in all readings before",
    LEARNED_STOPPED: "as confidence is told, with what was counted in the first part only",
}
DEFAULT = LEARNED
_LEAST = 1e-6  # a log loss is of probabilities no nearer to 0 and 1 than this


class Interval(NamedTuple):
    """How a statement fared from one reading to the next: its age at the first, the days between, what became of it."""

    aspect: str
    age: float
    days: float
    changed: bool
    gone: bool

    @property
    def is_same(self) -> bool:
        """Whether the statement was still true."""
        return not (self.changed or self.gone)


class Look(NamedTuple):
    """One reading, and how many statements fared in which way up to it."""

    at: Moment
    fared: Counter[Interval]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bin:
    """The predictions from `low` up to `high`: how many, their mean, and the share that was the same."""

    low: float
    high: float
    statements: int
    predicted: float
    same: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """How one model did on the held-out part."""

    model: str
    what: str
    statements: int
    brier: float
    log_loss: float
    calibration_error: float
    predicted: float
    same: float
    bins: tuple[Bin, ...]


class Tally:
    """The predictions of one model, summed up."""

    def __init__(self) -> None:
        self._brier = self._loss = 0.0
        self._counts, self._sums, self._same = [0] * BINS, [0.0] * BINS, [0] * BINS

    def add(self, predicted: float, count: int, *, is_same: bool) -> None:
        """So many statements with the same prediction and outcome."""
        clipped = min(max(predicted, _LEAST), 1 - _LEAST)
        self._brier += count * (predicted - is_same) ** 2
        self._loss -= count * math.log(clipped if is_same else 1 - clipped)
        place = min(int(predicted * BINS), BINS - 1)
        self._counts[place] += count
        self._sums[place] += count * predicted
        self._same[place] += count * is_same

    def score(self, model: str) -> Score:
        """What they come to."""
        count = sum(self._counts)
        bins = tuple(
            Bin(
                low=place / BINS,
                high=(place + 1) / BINS,
                statements=of,
                predicted=self._sums[place] / of if of else 0.0,
                same=self._same[place] / of if of else 0.0,
            )
            for place, of in enumerate(self._counts)
        )
        return Score(
            model=model,
            what=MODELS[model],
            statements=count,
            brier=self._brier / count,
            log_loss=self._loss / count,
            calibration_error=sum(one.statements * abs(one.predicted - one.same) for one in bins) / count,
            predicted=sum(self._sums) / count,
            same=sum(self._same) / count,
            bins=bins,
        )


class Learner:
    """What is learned reading by reading: days watched and changes by aspect, and how many were the same."""

    def __init__(self) -> None:
        self.watched: dict[str, Watched] = {}
        self.same = self.statements = 0
        self._at: Moment | None = None

    def learn(self, look: Look) -> None:
        """Take up what one reading showed."""
        passed = days_between(self._at, look.at) if self._at is not None else 0.0
        self._at = look.at
        now: dict[str, Watched] = {}
        for one, count in look.fared.items():
            days = weighed(one.aspect, one.age, one.days) * (0.5 if one.changed else 1.0)
            seen = Watched(days * count, float(one.changed * count))
            now[one.aspect] = now.get(one.aspect, NEVER).plus(seen)
            self.same += count * one.is_same
            self.statements += count
        for aspect in self.watched.keys() | now.keys():
            self.watched[aspect] = self.watched.get(aspect, NEVER).faded(passed).plus(now.get(aspect, NEVER))

    @property
    def share(self) -> float:
        """Which share was the same; with nothing seen, a half."""
        return (self.same + 1) / (self.statements + 2)


def calibrated(looks: Sequence[Look], cut: Moment, tallies: Mapping[str, Tally]) -> Learner:
    """Learn from the readings of one source, and add what each model predicts of those after `cut` to its tally."""
    learner = Learner()
    stopped: tuple[Rates, float] | None = None
    for look in looks:
        if look.at > cut:
            rates = rates_of(learner.watched)
            stopped = stopped or (rates, learner.share)
            for one, count in look.fared.items():
                predictions = {
                    CONSTANT: stopped[1],
                    EXPONENTIAL: math.pow(0.5, one.days / HALF_LIFE_DAYS),
                    LEARNED: _predicted(rates, one),
                    CONSTANT_ON: learner.share,
                    LEARNED_STOPPED: _predicted(stopped[0], one),
                }
                for model, predicted in predictions.items():
                    tallies[model].add(predicted, count, is_same=one.is_same)
        learner.learn(look)
    return learner


def _predicted(rates: Rates, one: Interval) -> float:
    return still_true(rates, one.aspect, age=one.age, days=one.days, unseen=one.days)
