"""Strength: a function of base and age; recalls at one moment are one recall."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from palimpsest.core.moment import Moment
from palimpsest.core.strength import GAIN, HALF_LIFE_MS, Strength, favour, recalled, strength_at

moments = st.integers(min_value=0, max_value=2_000_000_000_000).map(Moment)
held = st.none() | st.builds(Strength, base=st.floats(min_value=0, max_value=1), at=moments)


@given(held, moments)
def test_recalling_twice_at_one_moment_changes_nothing(before: Strength | None, now: Moment) -> None:
    once = recalled(before, now)
    assert recalled(once, now) == once


@given(held, moments)
def test_a_strength_is_of_nothing_to_one_and_a_recall_never_weakens(before: Strength | None, now: Moment) -> None:
    after = recalled(before, now)
    assert 0 <= after.base <= 1
    assert strength_at(after, now) >= strength_at(before, now)


@given(held, moments, moments)
def test_a_favour_is_bounded(before: Strength | None, began: Moment, now: Moment) -> None:
    assert 1 <= favour(before, began, now, most=0.04) <= 1.04


def test_a_strength_halves_in_its_half_life() -> None:
    first = recalled(None, Moment(0))
    assert (first.base, strength_at(first, Moment(HALF_LIFE_MS))) == (GAIN, GAIN / 2)


def test_recalls_far_apart_strengthen_more_than_a_burst() -> None:
    day = 86_400_000
    apart = burst = recalled(None, Moment(0))
    for number in range(1, 6):
        apart = recalled(apart, Moment(number * day))
        burst = recalled(burst, Moment(number))
    assert strength_at(apart, Moment(5 * day)) > strength_at(burst, Moment(5 * day))
