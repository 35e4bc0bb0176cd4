"""Strength: a function of base and age; recalls at one moment are one recall."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest.core.aspects.aspect import Impact
from palimpsest.core.episode import Kind
from palimpsest.core.moment import Moment
from palimpsest.core.observer import Rank
from palimpsest.core.strength import (
    GAIN,
    HALF_LIFE_MS,
    WEAK,
    Strength,
    base_of,
    episode_strength,
    favour,
    recalled,
    strength_at,
)

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


def days(count: float) -> Moment:
    return Moment(round(count * 86_400_000))


@pytest.mark.parametrize(
    ("kind", "impact", "rank", "weak_after"),
    [
        (Kind.CHANGED, Impact.QUIET, Rank.NONE, 180),
        (Kind.CHANGED, Impact.MINOR, Rank.NONE, 360),
        (Kind.SAID, Impact.MINOR, Rank.DOCUMENT, 360),
        (Kind.SAID, Impact.MINOR, Rank.PERSON, 540),
        (Kind.CHANGED, Impact.NOTABLE, Rank.NONE, 540),
    ],
)
def test_an_episode_is_weak_after_one_half_life_for_each_doubling_of_its_base(
    kind: Kind, impact: Impact, rank: Rank, weak_after: int
) -> None:
    base = base_of(kind, impact, rank)
    assert episode_strength(base, Moment(0), None, days(weak_after - 1)) > WEAK
    assert episode_strength(base, Moment(0), None, days(weak_after + 1)) < WEAK


def test_what_an_agent_said_lasts_longer_than_a_catalogs_words_and_less_long_than_a_persons() -> None:
    ranks = [Rank.NONE, Rank.AGENT, Rank.PERSON]
    assert [base_of(Kind.SAID, Impact.MINOR, rank) for rank in ranks] == pytest.approx([0.4, 0.6, 0.8])


def test_one_recall_of_its_belief_keeps_an_old_episode_for_48_days() -> None:
    at = days(3_600)
    belief = recalled(None, at)
    base = base_of(Kind.CHANGED, Impact.MINOR, Rank.NONE)
    assert episode_strength(base, Moment(0), belief, Moment(at + days(47))) > WEAK
    assert episode_strength(base, Moment(0), belief, Moment(at + days(48))) < WEAK


@given(st.sampled_from(Kind), st.sampled_from(Impact), st.sampled_from(Rank), held, moments, moments)
def test_an_episodes_strength_is_of_nothing_to_one_and_a_recall_never_weakens_it(
    kind: Kind, impact: Impact, rank: Rank, belief: Strength | None, observed: Moment, now: Moment
) -> None:
    base = base_of(kind, impact, rank)
    before = episode_strength(base, observed, belief, now)
    assert 0 <= before <= 1
    assert episode_strength(base, observed, recalled(belief, now), now) >= before - 1e-12
