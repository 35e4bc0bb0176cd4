"""Calibration: scores worked out by hand, and a learner that never sees a reading before it is predicted."""

from __future__ import annotations

import math
from collections import Counter

import pytest

from palimpsest.core.calibration import (
    CONSTANT,
    CONSTANT_ON,
    EXPONENTIAL,
    LEARNED,
    LEARNED_STOPPED,
    MODELS,
    Interval,
    Learner,
    Look,
    Tally,
    calibrated,
)
from palimpsest.core.confidence import DAY_MS, HALF_LIFE_DAYS, Watched, rates_of, still_true
from palimpsest.core.moment import Moment

CALM = 1e6


def look(day: int, *, tags: tuple[int, int] = (0, 0), apart: float = 10) -> Look:
    """One reading at which so many tags were the same, and so many changed, `apart` days after the last."""
    same, changed = tags
    fared = {Interval("tags", CALM, apart, False, False): same, Interval("tags", CALM, apart, True, False): changed}
    return Look(Moment(day * DAY_MS), Counter({one: count for one, count in fared.items() if count}))


def test_scores_by_hand() -> None:
    tally = Tally()
    tally.add(0.9, 3, is_same=True)
    tally.add(0.9, 1, is_same=False)
    tally.add(0.25, 1, is_same=True)
    score = tally.score(LEARNED)
    assert score.statements == 5
    assert score.brier == pytest.approx((3 * 0.01 + 0.81 + 0.5625) / 5)
    assert score.log_loss == pytest.approx(-(3 * math.log(0.9) + math.log(0.1) + math.log(0.25)) / 5)
    # Two bins: four told 0.9 of which 3/4 held, and one told 0.25 that held.
    assert score.calibration_error == pytest.approx((4 * 0.15 + 0.75) / 5)
    assert (score.predicted, score.same) == pytest.approx((3.85 / 5, 0.8))
    assert [(one.low, one.statements) for one in score.bins if one.statements] == [(0.2, 1), (0.9, 4)]
    assert len(score.bins) == 10


def test_a_certainty_lies_in_the_last_bin_and_costs_no_infinite_loss() -> None:
    tally = Tally()
    tally.add(1.0, 1, is_same=False)
    score = tally.score(LEARNED)
    assert (score.brier, score.bins[-1].statements) == (1, 1)
    assert score.log_loss == pytest.approx(-math.log(1e-6), rel=1e-3)


def test_what_is_predicted_of_a_reading_was_learned_before_it() -> None:
    tallies = {model: Tally() for model in MODELS}
    looks = [look(10, tags=(9, 1)), look(20, tags=(8, 2)), look(30, tags=(5, 5))]
    calibrated(looks, Moment(15 * DAY_MS), tallies)
    scores = {model: tally.score(model) for model, tally in tallies.items()}
    assert {score.statements for score in scores.values()} == {20}
    assert {round(score.same, 6) for score in scores.values()} == {0.65}
    # 9 of 10 before the cut, with one of each added: 10/12. Counting on, the third reading is told by 17 of 20: 18/22.
    assert scores[CONSTANT].predicted == pytest.approx(10 / 12)
    assert scores[CONSTANT_ON].predicted == pytest.approx((10 / 12 + 18 / 22) / 2)
    assert scores[EXPONENTIAL].predicted == pytest.approx(0.5 ** (10 / HALF_LIFE_DAYS))
    # 9 tags for 10 days, one for 5: 95 days with 1 change. The next reading adds 90 days and 2 changes, and what was
    # counted before it fades over the 10 days between.
    first = still_true(rates_of({"tags": Watched(95, 1)}), "tags", age=CALM, days=10, unseen=10)
    both = Watched(95, 1).faded(10).plus(Watched(90, 2))
    second = still_true(rates_of({"tags": both}), "tags", age=CALM, days=10, unseen=10)
    assert scores[LEARNED_STOPPED].predicted == pytest.approx(first)
    assert scores[LEARNED].predicted == pytest.approx((first + second) / 2)


def test_what_went_with_its_entity_is_no_change_of_its_own() -> None:
    learner = Learner()
    gone = Interval("tags", CALM, 10, False, True)
    learner.learn(Look(Moment(0), Counter({gone: 2, Interval("existence", 0, 10, True, False): 1})))
    assert learner.watched == {"tags": Watched(20, 0), "existence": Watched(5, 1)}
    assert (learner.same, learner.statements) == (0, 3)
