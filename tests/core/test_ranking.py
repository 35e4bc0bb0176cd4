"""Ranking: rare words count most, common ones join only alone; the fusion never lets vectors outweigh sure texts."""

from __future__ import annotations

import pytest

from palimpsest.core.question import read
from palimpsest.core.ranking import (
    Nearness,
    Read,
    Scored,
    Sought,
    Verdict,
    fuse,
    nearness_of,
    score,
    sought,
    verdict_of,
)
from palimpsest.core.terms import terms_of

NEAR = Nearness(floor=0.3, sure_from=2.0, weight=0.3, aside=0.03)


def wanted(text: str, total: int = 10_000, **counts: int) -> list[Sought]:
    return sought(read(text), counts, total, {})


def passage(number: int, head: str, said: str, asked: float = 0.0) -> Read:
    of = frozenset(terms_of(head))
    return Read(id=number, terms=of | terms_of(said), head=of, shorts=(), asked=asked)


def order(found: list[Scored]) -> list[int]:
    return [one.id for one in found]


def test_a_rare_word_counts_more_than_a_frequent_one() -> None:
    words = wanted("voucher order", voucher=2, order=400)
    assert order(score([passage(1, "a", "orders"), passage(2, "a", "vouchers")], words)) == [2, 1]


def test_a_word_in_many_passages_joins_no_ranking_while_there_are_rarer_ones() -> None:
    assert [one.word.text for one in wanted("order voucher", voucher=2, order=600)] == ["voucher", "ordervoucher"]
    assert [one.word.text for one in wanted("order", order=600)] == ["order"]


def test_a_name_counts_more_than_a_mention() -> None:
    words = wanted("orders", order=9)
    assert order(score([passage(1, "customers", "orders of"), passage(2, "orders", "text of")], words)) == [2, 1]


def test_the_word_as_asked_for_counts_more_than_its_stem() -> None:
    words = wanted("orders", order=9)
    assert order(score([passage(1, "x", "order"), passage(2, "x", "orders")], words)) == [2, 1]


def test_what_is_asked_about_comes_first() -> None:
    words = wanted("who owns orders", order=9)
    found = score([passage(1, "orders", "some text"), passage(2, "orders", "owner mira", asked=1.0)], words)
    assert order(found) == [2, 1]


def test_coverage_is_the_share_of_the_words_by_their_rarity() -> None:
    (found,) = score([passage(1, "orders", "paid")], wanted("orders flux", order=9))
    assert 0 < found.coverage < 0.5
    assert verdict_of(found.coverage, None, NEAR) is Verdict.WEAK
    (whole,) = score([passage(1, "orders", "paid")], wanted("orders paid", order=9, paid=3))
    assert (whole.coverage, verdict_of(whole.coverage, None, NEAR)) == (1.0, Verdict.CONFIDENT)


def test_a_corrected_word_counts_by_its_likeness_and_says_so() -> None:
    words = sought(read("ordrs"), {"orders": 9}, 10_000, {"ordr": [("orders", 0.8)]})
    (found,) = score([passage(1, "orders", "paid")], words)
    assert (round(found.coverage, 2), found.found) == (0.8, ("ordrs → orders",))


@pytest.mark.parametrize("vectors", [[], [(3, 0.9), (2, 0.8)]])
def test_vectors_move_nothing_where_a_text_is_sure(vectors: list[tuple[int, float]]) -> None:
    texts = [Scored(1, 9.0, 1.0, ()), Scored(2, 5.0, 1.0, ()), Scored(4, 3.0, 1.0, ())]
    assert [one.id for one in fuse(texts, vectors, NEAR)][:2] == [1, 2]


def test_vectors_decide_between_texts_that_are_as_good() -> None:
    texts = [Scored(1, 9.0, 1.0, ()), Scored(2, 9.0, 1.0, ())]
    assert [one.id for one in fuse(texts, [(2, 0.8)], NEAR)] == [2, 1]


def test_vectors_lead_where_no_text_has_much_of_the_question() -> None:
    assert [one.id for one in fuse([Scored(1, 9.0, 0.4, ())], [(3, 0.6)], NEAR)] == [3, 1]


def test_a_vector_below_the_floor_joins_no_order() -> None:
    assert fuse([], [(3, 0.29)], NEAR) == []


def test_little_is_believed_of_an_embedder_that_was_not_measured() -> None:
    assert nearness_of("other:model").floor >= nearness_of("hashed:1").floor
