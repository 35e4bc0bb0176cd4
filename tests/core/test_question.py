"""Questions: what is to be found, what only leads there, and which aspects they are about."""

from __future__ import annotations

import pytest

from palimpsest.core.question import MOST_WORDS, Role, read


def named(text: str) -> list[str]:
    return [word.text for word in read(text).words if word.role is Role.NAMED]


@pytest.mark.parametrize(
    ("text", "words", "aspect"),
    [
        ("Who owns the orders pipeline?", ["orders"], "ownership"),
        ("who looks after orders", ["orders"], "ownership"),
        ("where does revenue come from", ["revenue"], "upstreams"),
        ("what is customer_value made from?", ["customer", "value"], "upstreams"),
        ("is the cart deprecated", ["cart"], "deprecation"),
        ("what type is orders.amount", ["orders", "amount"], "column"),
        ("谁拥有订单表", ["订单"], "ownership"),
        ("订单表的负责人是谁", ["订单"], "ownership"),
        ("кто владелец таблицы заказов", ["заказов"], "ownership"),
        ("주문 테이블의 담당자는 누구?", ["주문"], "ownership"),
        ("顧客テーブルの所有者は誰ですか", ["顧客"], "ownership"),
    ],
)
def test_a_question_is_taken_apart(text: str, words: list[str], aspect: str) -> None:
    assert named(text) == words
    assert read(text).aspects()[aspect] == 1.0


def test_a_question_about_a_column_and_its_source_is_about_the_lineage_of_columns() -> None:
    aspects = read("where does the column net come from").aspects()
    assert max(aspects, key=lambda aspect: aspects[aspect]) == "column_upstreams"


def test_a_word_that_asks_asks_nothing_where_it_is_a_name() -> None:
    question = read("missing column in telemetry")
    assert "column" in question.aspects()
    assert "column" not in question.aspects({"telemetri", "column"})


def test_parts_of_an_identifier_never_ask() -> None:
    assert read("ga_attribution_owner").aspects() == {}
    assert named("column_owner") == ["column", "owner"]


def test_neighbours_are_sought_as_one_word_too() -> None:
    assert "orderitems" in [word.text for word in read("order items").words if word.role is Role.WHOLE]


@pytest.mark.parametrize("text", ["", "  ", "the of a", "🔥", "\x00", "'\"()*"])
def test_a_text_without_words_seeks_nothing(text: str) -> None:
    assert read(text).words == ()


def test_a_long_text_is_bounded() -> None:
    question = read(" ".join(f"word{n}x" for n in range(10_000)))
    assert len(question.words) <= 2 * MOST_WORDS
