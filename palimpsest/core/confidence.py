"""Confidence: the probability that a statement is still true at a moment, by when it was last confirmed. Pure.

What a reading confirms is certain then; from then on it is trusted the less, the longer nobody looked, and the more
often statements of its aspect were seen to change. Four things make the number, and no other:

rate         how often a day statements of an aspect change. Counted at every scan, as (days watched, changes seen), and
             shrunk: (changes + WEIGHT) / (days + WEIGHT / prior), the mean of a Gamma posterior whose prior is worth
             WEIGHT changes. The prior of an aspect is the rate of all aspects together, of that RATE. What was counted
             fades by half in FADES_DAYS, since catalogs have quiet and busy years.
burst        what has just changed, or is new, changes again soon: the rate is 1 + BURST times as high at first, and
             calms down with exp(-age / CALM_DAYS). So a belief's own history counts by the age of its last change.
existence    a statement about what is gone is not true: it is multiplied with the probability that its entity is still
             there, at the rate at which entities of its source go. That rate has no burst.
testimony    the same said by a source of another origin takes away from the doubt (see `corroborated`).

    P(still true) = exp(-rate · weighed(age, days)) · exp(-rate of going · days)
    weighed(age, days) = days + BURST · CALM_DAYS · (exp(-age / CALM_DAYS) - exp(-(age + days) / CALM_DAYS))

A reading tells at most one change of a cell between it and the one before: a changed interval counts as watched by
half, which makes changes / days the rate of a Poisson process up to the third order of rate · days.

The constants are those of the highest likelihood of the first half in time of six years of one company's catalog (150
tables, 12 readings), each prediction made from what was counted before it, rounded: BURST 4 to 6, CALM_DAYS 90 to 160,
WEIGHT 1 to 2 and FADES_DAYS from two years up are equal within that half. There, all statements together last with a
half-life of 4.7 years; RATE says five. A Gamma rate of its own for each belief (its changes over its age) fitted worse
than the burst, with any shape, and is left out. docs/calibration.md scores all of it on the other half.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import NamedTuple

EXISTENCE = "existence"
DAY_MS = 86_400_000
HALF_LIFE_DAYS = 5 * 365.25
RATE = math.log(2) / HALF_LIFE_DAYS
WEIGHT = 2.0
BURST = 4.0
CALM_DAYS = 120.0
FADES_DAYS = 2 * 365.25
SHARED = 0.5  # how much of the doubt about one source's statement is about the world, which no other one can see either


@dataclass(frozen=True, slots=True)
class Watched:
    """For how many days statements were watched, weighed by their bursts, and how many changes were seen."""

    days: float = 0.0
    changes: float = 0.0

    def faded(self, days: float) -> Watched:
        """What it counts for some days later."""
        left = math.pow(0.5, days / FADES_DAYS)
        return Watched(self.days * left, self.changes * left)

    def plus(self, other: Watched) -> Watched:
        """Both together."""
        return Watched(self.days + other.days, self.changes + other.changes)


NEVER = Watched()


class Rates(NamedTuple):
    """Changes a day by aspect, `other` for an aspect never watched, and how often entities go."""

    by_aspect: Mapping[str, float]
    other: float = RATE
    going: float = RATE

    def of(self, aspect: str) -> float:
        """The rate of an aspect."""
        return self.going if aspect == EXISTENCE else self.by_aspect.get(aspect, self.other)


PRIOR = Rates({})


def rates_of(watched: Mapping[str, Watched]) -> Rates:
    """The learned rates of a source; RATE for all where nothing was watched."""
    others = {aspect: one for aspect, one in watched.items() if aspect != EXISTENCE}
    pooled = _shrunk(reduce(Watched.plus, others.values(), NEVER), RATE)
    going = _shrunk(watched.get(EXISTENCE, NEVER), RATE)
    return Rates({aspect: _shrunk(one, pooled) for aspect, one in others.items()}, pooled, going)


def _shrunk(watched: Watched, prior: float) -> float:
    return (watched.changes + WEIGHT) / (watched.days + WEIGHT / prior)


def weighed(aspect: str, age: float, days: float) -> float:
    """How many calm days so many days are worth, of what changed last `age` days before they began."""
    if aspect == EXISTENCE:
        return days
    return days + BURST * CALM_DAYS * math.exp(-age / CALM_DAYS) * -math.expm1(-days / CALM_DAYS)


def still_true(rates: Rates, aspect: str, *, age: float, days: float, unseen: float) -> float:
    """The probability that a statement is true `days` after it was confirmed, `age` days after it last changed.

    `unseen`: for how many days nobody looked whether its entity exists.
    """
    doubt = rates.of(aspect) * weighed(aspect, max(0.0, age), max(0.0, days))
    if aspect != EXISTENCE:
        doubt += rates.going * max(0.0, unseen)
    return math.exp(-doubt)


def alone(*, age: float, days: float) -> float:
    """The same for what nobody scans, a note: by the prior rate, and whatever becomes of its entity."""
    return math.exp(-RATE * weighed("", max(0.0, age), max(0.0, days)))


def corroborated(confidences: Sequence[float]) -> float:
    """What several testimonies of the same, each of another origin, come to.

    The surest keeps the share SHARED of its doubt: the world may have changed since, and nobody saw it. The rest, that
    this source tells what is outdated, stays only so far as the others are doubtful too, each by itself:
    doubt = d1 · (SHARED + (1 - SHARED) · d2 · d3 · …). So it never falls, and is never certain while each has doubts.
    """
    best, *others = sorted(1.0 - one for one in confidences)
    return 1.0 - best * (SHARED + (1.0 - SHARED) * math.prod(others)) if others else 1.0 - best


# --- counting at a scan -----------------------------------------------------------------------------------------


class Moved(NamedTuple):
    """What one scan found of a kind of cells: changed to another value, appeared, ended."""

    changed: int = 0
    appeared: int = 0
    ended: int = 0


class Counted(NamedTuple):
    """What is counted of one kind of cells from scan to scan.

    cells    how many are held
    fresh    the sum of exp(-age / CALM_DAYS) over them: how many of them may be in a burst
    watched  days and changes so far, faded
    """

    cells: float = 0.0
    fresh: float = 0.0
    watched: Watched = NEVER

    def after(self, aspect: str, days: float, share: float, moved: Moved) -> Counted:
        """The same after a scan, so many days after the last, that read this share of the cells."""
        burst = 0.0 if aspect == EXISTENCE else BURST * CALM_DAYS * -math.expm1(-days / CALM_DAYS)
        each = (days * self.cells + burst * self.fresh) / self.cells if self.cells else 0.0
        seen = share * self.cells
        lost = min(moved.changed + moved.ended, self.cells)
        now = Watched(each * max(seen - lost / 2, lost / 2), float(lost)) if days > 0 else NEVER
        fresh = self.fresh * math.exp(-days / CALM_DAYS)
        fresh -= lost * fresh / self.cells if self.cells else 0.0
        return Counted(
            cells=max(0.0, self.cells + moved.appeared - moved.ended),
            fresh=max(0.0, fresh + moved.changed + moved.appeared),
            watched=self.watched.faded(days).plus(now),
        )


def by_aspect(counted: Mapping[str, Mapping[str, Counted]]) -> dict[str, Watched]:
    """(raw aspect, aspect) → what is counted, as days and changes of each aspect."""
    found: dict[str, Watched] = {}
    for kinds in counted.values():
        for aspect, one in kinds.items():
            found[aspect] = found.get(aspect, NEVER).plus(one.watched)
    return found


def days_between(earlier: int, later: int) -> float:
    """The days from one moment to a later one, 0 for an earlier one."""
    return max(0, later - earlier) / DAY_MS


def spoken(confidence: float) -> str:
    """`94 %`; never a certainty: `> 99 %`, `< 1 %`."""
    if confidence >= 0.995:
        return "> 99 %"
    return "< 1 %" if confidence < 0.01 else f"{confidence * 100:.0f} %"
