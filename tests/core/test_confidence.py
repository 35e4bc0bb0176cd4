"""Confidence: a probability that falls from certainty, by learned rates, and that another origin raises."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest.core.confidence import (
    BURST,
    CALM_DAYS,
    EXISTENCE,
    FADES_DAYS,
    HALF_LIFE_DAYS,
    NEVER,
    PRIOR,
    RATE,
    WEIGHT,
    Counted,
    Moved,
    Watched,
    alone,
    by_aspect,
    corroborated,
    rates_of,
    spoken,
    still_true,
    weighed,
)

days = st.floats(min_value=0, max_value=20_000)
ages = st.floats(min_value=0, max_value=20_000)
aspects = st.sampled_from(("ownership", "column", EXISTENCE))
watches = st.dictionaries(
    aspects,
    st.builds(Watched, st.floats(min_value=0, max_value=1e7), st.floats(min_value=0, max_value=1e5)),
    max_size=3,
)
probabilities = st.floats(min_value=0, max_value=1)


@given(watches, aspects, ages, days, days)
def test_it_is_a_probability_and_certain_only_when_just_confirmed(
    watched: dict[str, Watched], aspect: str, age: float, passed: float, unseen: float
) -> None:
    rates = rates_of(watched)
    assert 0 <= still_true(rates, aspect, age=age, days=passed, unseen=unseen) <= 1
    assert still_true(rates, aspect, age=age, days=0, unseen=0) == 1
    assert still_true(rates, aspect, age=age, days=1 + passed, unseen=1 + passed) < 1


@given(watches, aspects, ages, days, st.floats(min_value=0.01, max_value=5_000))
def test_it_falls_with_the_time_since_it_was_confirmed(
    watched: dict[str, Watched], aspect: str, age: float, passed: float, more: float
) -> None:
    rates = rates_of(watched)
    sooner = still_true(rates, aspect, age=age, days=passed, unseen=passed)
    later = still_true(rates, aspect, age=age, days=passed + more, unseen=passed + more)
    assert later < sooner or later == sooner == 0


@given(watches, ages, days, st.floats(min_value=1, max_value=5_000))
def test_what_changed_longer_ago_is_surer(watched: dict[str, Watched], age: float, passed: float, more: float) -> None:
    rates = rates_of(watched)
    young = still_true(rates, "column", age=age, days=passed, unseen=0)
    assert still_true(rates, "column", age=age + more, days=passed, unseen=0) >= young


@given(aspects, ages, days)
def test_with_nothing_watched_it_is_the_prior(aspect: str, age: float, passed: float) -> None:
    never = dict.fromkeys(("ownership", "column", EXISTENCE), NEVER)
    expected = still_true(PRIOR, aspect, age=age, days=passed, unseen=passed)
    assert still_true(rates_of(never), aspect, age=age, days=passed, unseen=passed) == pytest.approx(expected)
    assert still_true(rates_of({}), aspect, age=age, days=passed, unseen=passed) == pytest.approx(expected)


@given(st.floats(min_value=0, max_value=1e-9), st.floats(min_value=0, max_value=1e-9))
def test_with_next_to_nothing_watched_it_tends_to_the_prior(watched: float, changes: float) -> None:
    rates = rates_of({"column": Watched(watched, changes), EXISTENCE: Watched(watched, changes)})
    assert (rates.of("column"), rates.of(EXISTENCE), rates.of("tags")) == pytest.approx((RATE, RATE, RATE))


def test_with_much_watched_it_is_what_was_seen() -> None:
    rates = rates_of({"tags": Watched(1e8, 1e6), "column": Watched(1e8, 1e4), EXISTENCE: Watched(1e8, 1e3)})
    assert rates.of("tags") == pytest.approx(1e-2, rel=1e-3)
    assert rates.of("column") == pytest.approx(1e-4, rel=1e-2)
    assert rates.of(EXISTENCE) == pytest.approx(1e-5, rel=1e-2)
    # What was never watched is as all aspects together: (1e6 + 1e4) changes in 2e8 days.
    assert rates.of("domain") == pytest.approx(1.01e6 / 2e8, rel=1e-3)


def test_a_rate_is_shrunk_by_so_many_changes() -> None:
    # 3 changes in 1,000 days, of one aspect: pooled = (3 + W) / (1,000 + W / RATE), then once more around that.
    pooled = (3 + WEIGHT) / (1_000 + WEIGHT / RATE)
    rates = rates_of({"tags": Watched(1_000, 3)})
    assert rates.other == pytest.approx(pooled)
    assert rates.of("tags") == pytest.approx((3 + WEIGHT) / (1_000 + WEIGHT / pooled))


def test_a_calm_statement_lasts_by_its_half_life() -> None:
    # Its entity was seen just now, and the burst of its last change is long over: only its own rate counts.
    assert still_true(PRIOR, "tags", age=1e6, days=HALF_LIFE_DAYS, unseen=0) == pytest.approx(0.5)
    # Nobody looked for its entity either, which goes as often: a half of a half.
    assert still_true(PRIOR, "tags", age=1e6, days=HALF_LIFE_DAYS, unseen=HALF_LIFE_DAYS) == pytest.approx(0.25)


def test_days_right_after_a_change_weigh_more() -> None:
    assert weighed("tags", 1e6, 10) == pytest.approx(10)
    assert weighed("tags", 0, 1e-3) == pytest.approx((1 + BURST) * 1e-3, rel=1e-4)
    assert weighed("tags", 0, 1e6) == pytest.approx(1e6 + BURST * CALM_DAYS)
    # Two stretches after another weigh what one weighs.
    assert weighed("tags", 5, 20) + weighed("tags", 25, 30) == pytest.approx(weighed("tags", 5, 50))
    assert weighed(EXISTENCE, 0, 10) == 10


@given(ages, days)
def test_what_nobody_scans_fades_by_the_prior(age: float, passed: float) -> None:
    assert alone(age=age, days=passed) == still_true(PRIOR, "tags", age=age, days=passed, unseen=0)


# --- corroboration ----------------------------------------------------------------------------------------------


@given(probabilities, st.lists(probabilities, max_size=4), probabilities)
def test_another_testimony_never_lowers_it_and_never_makes_it_certain(
    first: float, others: list[float], another: float
) -> None:
    before = corroborated([first, *others])
    after = corroborated([first, *others, another])
    assert 0 <= before <= after <= 1
    if max(first, *others, another) < 1 - 1e-9:
        assert after < 1


@given(st.floats(min_value=0.01, max_value=0.99), st.floats(min_value=0.01, max_value=0.99))
def test_another_testimony_raises_it(one: float, other: float) -> None:
    assert corroborated([one, other]) > max(one, other)
    assert corroborated([one, other]) == corroborated([other, one])


def test_two_testimonies_of_nine_tenths() -> None:
    # Doubt 0.1, of which half stays and half is left to a tenth: 0.1 * (0.5 + 0.5 * 0.1) = 0.055.
    assert corroborated([0.9, 0.9]) == pytest.approx(0.945)
    assert corroborated([0.9]) == 0.9
    # One that knows nothing adds nothing.
    assert corroborated([0.9, 0.0]) == pytest.approx(0.9)


# --- counting ---------------------------------------------------------------------------------------------------


def test_a_scan_without_changes_watches_every_cell_it_read() -> None:
    calm = Counted(cells=10)
    after = calm.after("tags", 3, 1.0, Moved())
    assert after == Counted(cells=10, fresh=0, watched=Watched(30, 0))
    assert calm.after("tags", 3, 0.5, Moved()).watched == Watched(15, 0)
    assert calm.after("tags", 0, 1.0, Moved()).watched == NEVER


def test_a_changed_cell_was_watched_by_half() -> None:
    after = Counted(cells=10).after("tags", 4, 1.0, Moved(changed=2, ended=1, appeared=5))
    # 7 unchanged for 4 days, 3 changed or ended for 2.
    assert after.watched == Watched(34, 3)
    assert after.cells == 14
    assert after.fresh == 7


def test_fresh_cells_are_watched_as_their_burst_weighs() -> None:
    first = Counted().after("tags", 0, 0.0, Moved(appeared=4))
    assert (first.cells, first.fresh, first.watched) == (4, 4, NEVER)
    second = first.after("tags", 30, 1.0, Moved())
    assert second.watched.days == pytest.approx(4 * weighed("tags", 0, 30))
    third = second.after("tags", 60, 1.0, Moved())
    left = math.pow(0.5, 60 / FADES_DAYS)
    expected = 4 * weighed("tags", 0, 30) * left + 4 * weighed("tags", 30, 60)
    assert third.watched.days == pytest.approx(expected)
    assert third.fresh == pytest.approx(4 * math.exp(-90 / CALM_DAYS))


@given(
    st.lists(
        st.tuples(
            st.floats(min_value=0, max_value=1_000),
            probabilities,
            st.builds(Moved, *[st.integers(min_value=0, max_value=50)] * 3),
        ),
        max_size=8,
    ),
    aspects,
)
def test_counting_never_goes_below_nothing(scans: list[tuple[float, float, Moved]], aspect: str) -> None:
    counted = Counted(cells=5)
    for passed, share, moved in scans:
        counted = counted.after(aspect, passed, share, moved)
        assert min(counted.cells, counted.fresh, counted.watched.days, counted.watched.changes) >= 0
    assert 0 < rates_of(by_aspect({"p": {aspect: counted}})).of(aspect) < math.inf


def test_what_is_counted_of_several_raw_aspects_is_one_by_aspect() -> None:
    one = Counted(cells=1, watched=Watched(10, 1))
    found = by_aspect({"a": {"description": one}, "b": {"description": one, "tags": one}})
    assert found == {"description": Watched(20, 2), "tags": Watched(10, 1)}


@pytest.mark.parametrize(
    ("confidence", "said"), [(1, "> 99 %"), (0.996, "> 99 %"), (0.94, "94 %"), (0.5, "50 %"), (0.001, "< 1 %")]
)
def test_it_is_never_spoken_as_a_certainty(confidence: float, said: str) -> None:
    assert spoken(confidence) == said
