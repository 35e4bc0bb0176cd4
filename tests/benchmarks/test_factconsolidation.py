"""FactConsolidation: the claim key on sentences, labels and scores as pure functions, and a memory of three facts."""

from __future__ import annotations

import json
import re
from contextlib import closing
from pathlib import Path

import pytest

from benchmarks.factconsolidation import claims, truth
from benchmarks.factconsolidation.__main__ import PAIRS, pairs_agreement, value_of
from benchmarks.factconsolidation.claims import Claim, claim_of, key_of
from benchmarks.factconsolidation.memory import Asker, Recalled, remember
from benchmarks.factconsolidation.score import Score, contains, plain, score, table
from benchmarks.factconsolidation.truth import (
    Agreement,
    Asked,
    Fact,
    agreement,
    facts_of,
    load,
    newest,
    wanted,
)

README = Path(claims.__file__).with_name("README.md").read_text(encoding="utf-8")

CONTEXT = """Here is a list of facts:
0. The capital of Ruritania is Strelsau.
1. Rudolf is married to Flavia.
2. The capital of Ruritania is Zenda.
"""
CAPITAL = ("The capital of … is ", "Ruritania")
STRELSAU = Fact(number=0, sentence="The capital of Ruritania is Strelsau.", claim=CAPITAL, value="Strelsau")
ZENDA = Fact(number=2, sentence="The capital of Ruritania is Zenda.", claim=CAPITAL, value="Zenda")
WIFE = Fact(number=1, sentence="Rudolf is married to Flavia.", claim=("… is married to ", "Rudolf"), value="Flavia")
WHICH = Asked(question="What is the capital of Ruritania?", answers=("Zenda",))


@pytest.mark.parametrize(
    ("sentence", "key", "value"),
    [
        ("The owner of the orders table is Jonas.", "owner of orders table is", "Jonas"),
        ("Priya's manager is Tom", "priya's manager is", "Tom"),
        ("Alice now lives in the old town.", "alice lives in", "old town"),
        ("Ana is married to Duke William of Sandham.", "ana is married to", "Duke William of Sandham"),
        ("Bob works for Acme Inc..", "bob works for", "Acme Inc"),
        ("The head of sales in Japan is Ms. Ito.", "head of sales in japan is", "Ms. Ito"),
        ("The team that runs orders is Growth.", "team that runs orders is", "Growth"),
        ("Backups are kept for 35 days.", "backups are kept for", "35 days"),
    ],
)
def test_a_claim_is_what_stands_before_the_last_span(sentence: str, key: str, value: str):
    assert claim_of(sentence) == Claim(key, value)


@pytest.mark.parametrize(
    "sentence",
    ["", "It is raining.", "Alice is tall.", "The orders table is large.", "Alice likes tea.", "Alice lives in the."],
)
def test_a_sentence_that_says_no_more_than_what_something_is_makes_no_claim(sentence: str):
    assert claim_of(sentence) is None


def test_a_sentence_without_a_claim_is_held_under_itself():
    assert key_of(" Alice  likes tea. ") == key_of("alice likes tea") == "alice likes tea"


def test_claims_of_other_subjects_and_relations_have_other_keys():
    keys = [key_of(text) for text in ("Ann was born in Rome.", "Ana was born in Rome.", "Ann is employed in Rome.")]
    assert len(set(keys)) == 3


def test_no_relation_of_the_set_is_known_to_the_claim_key():
    closed = claims._BE | claims._PREPOSITIONS | claims._ARTICLES | claims._NOW | claims._PRONOUNS | claims._RELATIVE
    relations = {word for pair in truth._RELATIONS for word in re.findall(r"\w+", " ".join(pair).casefold())}
    assert relations & closed == {"was", "is", "in", "the", "of", "by", "with", "to", "for", "that", "where", "a"}
    source = Path(claims.__file__).read_text(encoding="utf-8")
    assert [word for word in sorted(relations - closed) if len(word) > 4 and re.search(rf"\b{word}\b", source)] == []


def test_facts_are_taken_apart_by_the_relation_with_the_longest_text():
    assert list(facts_of(CONTEXT)) == [STRELSAU, WIFE, ZENDA]
    seat = next(facts_of("7. The headquarters of Acme is located in the city of Oslo."))
    assert (seat.claim[1], seat.value) == ("Acme", "Oslo")


def test_a_fact_of_no_known_relation_is_an_error():
    with pytest.raises(ValueError, match="not one relation: Grass grows"):
        list(facts_of("0. Grass grows."))


def test_the_newest_fact_of_a_claim_is_the_wanted_one():
    facts = [STRELSAU, WIFE, ZENDA]
    assert newest(facts) == {CAPITAL: ZENDA, WIFE.claim: WIFE}
    assert wanted(WHICH, facts) == [ZENDA]
    assert wanted(Asked(question=WHICH.question, answers=("Strelsau",)), facts) == []


def test_agreement_counts_pairs():
    found = agreement(["a", "a", "b", "b"], [1, 1, 1, 2])
    assert found == Agreement(told=2, true=3, both=1)
    assert (found.precision, found.recall) == (0.5, 1 / 3)
    empty = Agreement(told=0, true=0, both=0)
    assert (empty.precision, empty.recall) == (1.0, 1.0)


def test_texts_are_compared_as_the_benchmark_compares_them():
    assert plain("The  University of the Arts, D.C.") == "university of arts dc"
    assert contains("It is Washington, D.C..", ["Paris", "washington dc"])
    assert not contains("It is Paris.", ["Rome"])


def test_a_score_counts_what_stands_first_and_what_is_out_of_date():
    def stale(question: str, *, past: bool = False) -> list[Recalled]:
        older, current = Recalled(STRELSAU.sentence, not past), Recalled(ZENDA.sentence, True)
        return [older, current]

    def fresh(question: str, *, past: bool = False) -> list[Recalled]:
        return [Recalled(ZENDA.sentence, True), *([Recalled(STRELSAU.sentence, False)] if past else [])]

    facts = [STRELSAU, WIFE, ZENDA]
    found, missed = score(stale, [WHICH], facts, value_of)
    assert missed == ["What is the capital of Ruritania? → The capital of Ruritania is Strelsau. (Zenda)"]
    assert found == Score(
        asked=1,
        first=0,
        value=0,
        five=1,
        right=0,
        right_in_five=1,
        stale=1,
        stale_past=1,
        current_above=0,
        shown_past=1,
        nothing=0,
    )
    found, missed = score(fresh, [WHICH], facts, value_of)
    assert (found.first, found.value, found.right, found.stale_past, missed) == (1, 1, 1, 0, [])
    assert (found.current_above, found.shown_past) == (1, 1)
    assert table({"fresh": found}).splitlines()[-1] == "| fresh | 1 | 1 | 1 | 1 | 1 | 0 | 0 | 0 | 1 of 1 |"


def test_nothing_recalled_is_counted_and_answers_nothing():
    found, missed = score(lambda question, *, past=False: [], [WHICH], [ZENDA], value_of)
    assert (found.asked, found.first, found.stale, found.nothing, found.shown_past) == (1, 0, 0, 1, 0)
    assert missed == ["What is the capital of Ruritania? → (nothing) (Zenda)"]


def test_the_newest_fact_is_recalled_and_the_older_one_stays_below(tmp_path: Path):
    facts = [STRELSAU, WIFE, ZENDA]
    remember(tmp_path / "facts.db", [fact.sentence for fact in facts], lambda place, text: key_of(text))
    with closing(Asker(tmp_path / "facts.db", len(facts))) as ask:
        assert _facts(ask(WHICH.question)) == [Recalled(ZENDA.sentence, True)]
        found = _facts(ask(WHICH.question, past=True))
        assert found == [Recalled(ZENDA.sentence, True), Recalled(STRELSAU.sentence, False)]


def _facts(found: list[Recalled]) -> list[Recalled]:
    """What was recalled without that a fact's entity exists."""
    return [one for one in found if one.text.endswith(".")]


def test_the_pairs_are_half_and_half_and_the_readme_tells_how_the_key_does_on_them():
    pairs = [json.loads(line) for line in PAIRS.read_text(encoding="utf-8").splitlines()]
    assert sum(one["replaces"] for one in pairs) * 2 == len(pairs) == 50
    assert f"| {_row('own pairs', pairs_agreement())} |" in README


@pytest.mark.needs_shared("reads the facts of FactConsolidation")
def test_the_readme_tells_how_the_key_does_on_the_set():
    facts, single, multi = load()
    assert [fact.number for fact in facts] == list(range(455))
    assert (len(single), len(multi), len(newest(facts))) == (100, 100, 294)
    assert [one.question for one in single if len(wanted(one, facts)) != 1] == []
    found = agreement([key_of(fact.sentence) for fact in facts], [fact.claim for fact in facts])
    assert f"| {_row('the set', found)} |" in README


def _row(name: str, one: Agreement) -> str:
    return f"{name} | {one.told} | {one.true} | {one.both} | {one.precision:.2f} | {one.recall:.2f}"
