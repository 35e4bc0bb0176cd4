"""Strength: how strongly a belief was recalled lately, a function of what it came to at a time, and of the age of that.

It fades by half in HALF_LIFE_MS. A recall brings it nearer to one, the less the shorter the last recall is ago: two
recalls at one moment are as one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from palimpsest.core.moment import Moment

_DAY_MS = 86_400_000
HALF_LIFE_MS = 30 * _DAY_MS
GAIN = 0.3
_SPACING_MS = 7 * _DAY_MS


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
