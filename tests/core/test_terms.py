"""Terms: the same for every spelling of a word, and harmless to every database."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest.core.terms import MOST_LETTERS, fold, likeness, mark, stem, terms_of, tokens_of, trigrams


def words(text: str) -> list[tuple[str, str]]:
    return [(token.text, token.kind) for token in tokens_of(text)]


@given(st.text())
def test_a_term_holds_nothing_that_a_query_language_would_take_for_its_own(text: str) -> None:
    found = terms_of(text) | {mark("aspect", text)} | {gram for word in terms_of(text) for gram in trigrams(word)}
    for term in found:
        assert re.search(r"[\s'\"\\:&|!()<>*^\x00-\x1f\x7f-\x9f\ud800-\udfff-]", term) is None, term
        assert 0 < len(term) <= MOST_LETTERS + 16


@given(st.text())
def test_a_text_is_found_by_itself_in_any_case(text: str) -> None:
    assert {token.text for token in tokens_of(text)} <= terms_of(text)
    assert {token.stem for token in tokens_of(text)} <= terms_of(text)


@pytest.mark.parametrize("spelled", ["order_items", "orderItems", "OrderItems", "order-items", "ORDER_ITEMS"])
def test_an_identifier_gives_its_parts_and_the_whole(spelled: str) -> None:
    assert {"order", "items", "item", "orderitems"} <= terms_of(spelled)


def test_a_name_in_a_schema_gives_the_whole_of_each_part_and_of_all() -> None:
    assert words("shop.order_items") == [
        ("shop", "part"),
        ("order", "part"),
        ("items", "part"),
        ("orderitems", "whole"),
        ("shoporderitems", "whole"),
    ]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Orders", "order"),
        ("заказов", "заказ"),
        ("Größe", "GROSSE"),
        ("Café", "cafe"),
        ("ёлка", "елка"),
        ("ﬁle", "file"),
        ("１２", "12"),
    ],
)
def test_spellings_of_one_word_share_a_term(one: str, other: str) -> None:
    assert {token.stem for token in tokens_of(one)} == {token.stem for token in tokens_of(other)}


@pytest.mark.parametrize(
    ("text", "part"), [("订单明细表", "订单"), ("顧客データ", "データ"), ("주문내역", "내역"), ("ข้อมูลลูกค้า", "ข้อมูล")]
)
def test_a_part_of_a_text_without_blanks_is_found_by_its_pairs(text: str, part: str) -> None:
    assert {token.text for token in tokens_of(part)} <= terms_of(text)
    assert set(part[0]) <= terms_of(text)


def test_marks_stay_with_their_letter() -> None:
    assert words("हिन्दी में") == [("हिन्दी", "word"), ("में", "word")]


def test_a_long_word_is_cut() -> None:
    assert terms_of("x" * 1000) == {"x" * MOST_LETTERS}


@pytest.mark.parametrize(
    ("typo", "name"),
    [
        ("ordres", "orders"),
        ("custmer", "customer"),
        ("paymments", "payments"),
        ("invemtory", "inventory"),
        ("сustomer", "customer"),
    ],
)
def test_a_slip_is_likely_the_name(typo: str, name: str) -> None:
    assert likeness(fold(typo), name) > 0.7


@pytest.mark.parametrize(
    ("word", "name"), [("orders", "borders2x"), ("flux", "orders"), ("abcd", "wxyz"), ("cat", "dog")]
)
def test_another_word_is_not(word: str, name: str) -> None:
    assert likeness(word, name) == 0.0


def test_the_beginning_of_a_name_is_half_as_likely() -> None:
    assert likeness("cust", "customers") == 0.5


def test_a_slip_keeps_some_letters_in_a_row() -> None:
    assert set(trigrams("customr")) & set(trigrams("customer")) >= {"3=_cu", "3=cus", "3=ust", "3=sto", "3=tom"}


def test_stems_are_of_words_only() -> None:
    assert (stem("running"), stem("order2"), stem("订单")) == ("run", "order2", "订单")
