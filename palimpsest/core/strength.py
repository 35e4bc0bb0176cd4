"""Strength: how strongly a belief was recalled lately, a function of what it came to at a time, and of the age of that;
and how strong an episode is, which decides whether it is kept.

A belief's fades by half in HALF_LIFE_MS. A recall brings it nearer to one, the less the shorter the last recall is ago:
two recalls at one moment are as one.

An episode's begins at its base: a rewording in a catalog (minor) at 0.4, half as much for a quiet one, twice as much
for a notable one; again twice as much where a person said it, who will not say it again when asked, as a catalog will.
Each doubling is one EPISODE_HALF_LIFE_MS more until it is weak: 180 days for what is quiet, 360 for a minor rewording,
540 for one by a person. A first recall of its belief keeps it for 48 days: GAIN falls to WEAK in 30 * log2(3).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from palimpsest.core.aspects.aspect import Impact
from palimpsest.core.episode import Kind
from palimpsest.core.moment import Moment
from palimpsest.core.observer import Rank

_DAY_MS = 86_400_000
HALF_LIFE_MS = 30 * _DAY_MS
GAIN = 0.3
_SPACING_MS = 7 * _DAY_MS

EPISODE_HALF_LIFE_MS = 6 * HALF_LIFE_MS  # as long as what is new is favoured over what is old
WEAK = 0.1
_OF_IMPACT = {Impact.QUIET: 0.2, Impact.MINOR: 0.4, Impact.NOTABLE: 0.8, Impact.BREAKING: 1.0}
_OF_RANK = {Rank.NONE: 1.0, Rank.DOCUMENT: 1.0, Rank.AGENT: 1.5, Rank.PERSON: 2.0}
_OF_KIND = {Kind.FIRST: 1.5, Kind.RETURNED: 1.5}  # that something came tells more than that it was worded anew


@dataclass(frozen=True, slots=True, kw_only=True)
class Strength:
    """What a belief's strength came to at its last recall."""

    base: float
    at: Moment


def strength_at(held: Strength | None, now: Moment) -> float:
    """The strength at a moment, 0 to 1; of what was never recalled 0."""
    if held is None:
        return 0.0
    return held.base * math.pow(0.5, max(0, now - held.at) / HALF_LIFE_MS)


def recalled(held: Strength | None, now: Moment) -> Strength:
    """The strength after a recall at a moment. A moment before the last recall changes nothing."""
    if held is None:
        return Strength(base=GAIN, at=now)
    age = now - held.at
    if age <= 0:
        return held
    faded = strength_at(held, now)
    return Strength(base=faded + (1 - faded) * GAIN * (1 - math.exp(-age / _SPACING_MS)), at=now)


def favour(held: Strength | None, valid_from: Moment, now: Moment, *, most: float) -> float:
    """What a score is multiplied with: 1, and up to `most` more for what is new and what is often recalled."""
    newness = math.pow(0.5, max(0, now - valid_from) / (6 * HALF_LIFE_MS))
    return 1 + most * (newness + strength_at(held, now)) / 2


def base_of(kind: Kind, impact: Impact, rank: Rank) -> float:
    """How strong an episode is when it is observed, 0 to 1: by what it is, how much it matters, and who said it."""
    return min(1.0, _OF_IMPACT[impact] * _OF_RANK[rank] * _OF_KIND.get(kind, 1.0))


def episode_strength(base: float, observed_at: Moment, belief: Strength | None, now: Moment) -> float:
    """The strength of an episode at a moment, 0 to 1: its faded base, raised by the recalls of its belief."""
    faded = base * math.pow(0.5, max(0, now - observed_at) / EPISODE_HALF_LIFE_MS)
    return faded + (1 - faded) * strength_at(belief, now)
