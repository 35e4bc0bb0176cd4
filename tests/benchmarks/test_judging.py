"""The labelled texts: enough of each, and the rules agree with the labels no worse than the docs tell."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.judging.__main__ import best_likeness, by_rules, note_rows, text_rows
from benchmarks.judging.pairs import ROOT, Pair, hash_of, lines, note_pairs, own_pairs, rewritten_pairs
from benchmarks.judging.score import Agreement, agreement, table
from palimpsest.core.likeness import SAME_MATTER, restates

DOCS = (ROOT / "docs" / "judging.md").read_text(encoding="utf-8")


def test_agreement_counts_what_was_said_against_what_is_so():
    pairs = [Pair(at, "own", "a", other, is_alike, "") for at, (other, is_alike) in enumerate(
        [("a", True), ("a", True), ("a", False), ("b", True), ("b", False)])]  # fmt: skip
    found = agreement(pairs, lambda pair: pair.one == pair.other)
    assert found == Agreement(right=2, wrong=1, missed=1, apart=1)
    assert (found.precision, found.recall, found.share) == (pytest.approx(2 / 3), pytest.approx(2 / 3), 0.6)


def test_the_labels_are_enough_and_hold_no_text_of_a_catalog():
    rewritten = lines("rewritten.jsonl")
    assert Counter(one["label"] for one in rewritten) == {"differs": 155, "restates": 29}
    assert Counter(bool(one["field"]) for one in rewritten) == {True: 87, False: 97}
    assert len({(one["before"], one["after"]) for one in rewritten}) == len(rewritten)
    assert {key for one in rewritten for key in one} == {
        "id", "origin", "urn", "part", "field", "from", "to", "before", "after", "label", "reason",
    }  # fmt: skip
    assert all(re.fullmatch("[0-9a-f]{16}", one[side]) for one in rewritten for side in ("before", "after"))
    assert len(own_pairs()) >= 100
    assert Counter(pair.is_alike for pair in note_pairs()) == {True: 45, False: 41}


@pytest.mark.parametrize(("name", "least"), [("attacks", 40), ("harmless", 40)])
def test_each_text_for_the_fence_has_an_id_and_says_why(name: str, least: int):
    texts = lines(f"{name}.jsonl")
    assert len(texts) >= least
    assert [one["id"] for one in texts] == [f"{name}-{at:02}" for at in range(1, len(texts) + 1)]
    assert len({one["text"] for one in texts}) == len(texts)
    assert all(one["why"] and one["kind"] and one["text"] for one in texts)


def test_the_rules_agree_with_our_own_pairs_and_never_call_a_change_a_restatement():
    found = agreement(own_pairs(), by_rules)
    assert found.wrong == 0
    assert found.share >= 0.86


def test_no_attack_restates_a_harmless_text_nor_one_harmless_text_another():
    harmless = [one["text"] for one in lines("harmless.jsonl")]
    attacks = [one["text"] for one in lines("attacks.jsonl")]
    assert [(one, two) for one in harmless for two in (*attacks, *harmless) if one != two and restates(one, two)] == []


def test_the_threshold_of_notes_is_the_one_that_the_even_half_gives():
    pairs = note_pairs()
    assert best_likeness([pair for pair in pairs if pair.half == "even"]) == SAME_MATTER
    rows = note_rows(pairs)
    assert [row[3].wrong for row in rows] == [0, 2]
    assert min(row[3].share for row in rows) >= 0.92
    assert table(rows, "same", "other") in DOCS


@pytest.mark.needs_shared("reads the texts of real catalogs")
def test_the_rules_agree_with_the_rewritten_texts_as_the_docs_tell(shared: Path):
    rewritten = rewritten_pairs(shared / "data")
    assert [hash_of(pair.one) for pair in rewritten] == [one["before"] for one in lines("rewritten.jsonl")]
    found = agreement(rewritten, by_rules)
    assert found.wrong == 0
    assert found.share >= 0.9
    assert table(list(text_rows([*rewritten, *own_pairs()])), "restates", "differs") in DOCS
