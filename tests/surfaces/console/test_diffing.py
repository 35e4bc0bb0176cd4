"""The difference of two texts by words."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest.surfaces.console.diffing import Piece, by_words

WORDS = st.lists(st.sampled_from(["a", "bb", "ccc", ".", ",", "naïve", "東京"]), max_size=30).map(" ".join)


@pytest.mark.parametrize(
    ("older", "newer", "erased", "written"),
    [
        ("jonas", "lena", ["jonas"], ["lena"]),
        ("Prices are in cents.", "Prices are in euros.", ["cents"], ["euros"]),
        ("one two three", "one three", ["two "], []),
        ("one three", "one two three", [], ["two "]),
        ("same", "same", [], []),
        ("", "new", [], ["new"]),
        ("old words here", "new text here", ["old words"], ["new text"]),
    ],
)
def test_only_the_words_that_differ_are_marked(older: str, newer: str, erased: list[str], written: list[str]) -> None:
    found = by_words(older, newer)
    assert [piece.text for piece in found.older if piece.is_changed] == erased
    assert [piece.text for piece in found.newer if piece.is_changed] == written


@given(WORDS, WORDS)
def test_the_pieces_of_a_text_are_the_text(older: str, newer: str) -> None:
    found = by_words(older, newer)
    assert "".join(piece.text for piece in found.older) == older
    assert "".join(piece.text for piece in found.newer) == newer
    assert found.cut == 0


@given(WORDS, WORDS)
def test_what_is_not_marked_is_in_both(older: str, newer: str) -> None:
    found = by_words(older, newer)
    kept, there = (
        "".join(piece.text for piece in side if not piece.is_changed).replace(" ", "")
        for side in (found.older, found.newer)
    )
    assert kept == there


def test_long_texts_are_cut_and_told_so() -> None:
    found = by_words("a " * 5_000, "b " * 3_000)
    assert found.cut == 6_000
    assert sum(len(piece.text) for piece in found.older) == 4_000


def test_what_is_too_long_to_be_compared_counts_as_rewritten_at_once() -> None:
    older, newer = ("x y z " * 650, "z y x " * 650)
    began = time.perf_counter()
    found = by_words(older, newer)
    assert time.perf_counter() - began < 1
    assert Piece(older[:5], True).text in found.older[0].text
    assert found.older[0].is_changed
