"""Volatility: how often an entity is revised, as revisions in 30 days, over all the time since it is held."""

from __future__ import annotations

from palimpsest.core.moment import Moment

PERIOD = 30 * 86_400_000  # milliseconds; what is held for less counts as held for as long


def volatility(revisions: int, first_at: Moment | None, now: Moment) -> float:
    """Revisions in 30 days, at a time: 6 in the 90 days since `first_at` are 2.0. None: nothing is held, 0.0."""
    if first_at is None or not revisions:
        return 0.0
    return float(revisions) * PERIOD / max(now - first_at, PERIOD)
