"""volatility: revisions in 30 days over the time since something is held."""

from __future__ import annotations

import pytest

from palimpsest.core.moment import Moment, parse
from palimpsest.core.volatility import volatility

MARCH = parse("2026-03-01")


@pytest.mark.parametrize(
    ("revisions", "days", "often"),
    [(6, 90, 2.0), (1, 60, 0.5), (3, 30, 3.0), (3, 1, 3.0), (3, -5, 3.0), (0, 90, 0.0)],
)
def test_it_is_counted_over_thirty_days_at_least(revisions: int, days: int, often: float) -> None:
    assert volatility(revisions, MARCH, Moment(MARCH + days * 86_400_000)) == often


def test_of_what_is_not_held_it_is_nought() -> None:
    assert volatility(2, None, MARCH) == 0.0
