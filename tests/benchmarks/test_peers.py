"""Peers: the facts, the questions, the table, and Palimpsest's own side on few facts; no other memory is installed."""

from __future__ import annotations

from pathlib import Path

from benchmarks.peers.facts import facts, questions, write_catalogs
from benchmarks.peers.measure import Bound, asked, measure
from benchmarks.peers.run import table
from benchmarks.peers.with_palimpsest import open_memory


def test_a_third_of_the_facts_supersede_an_earlier_one_each_of_the_same_subject() -> None:
    first, later = facts(300)
    held = {(fact.subject, fact.predicate): fact.value for fact in first}
    assert (len(first), len(later), len(held)) == (200, 100, 200)
    assert len({(fact.subject, fact.predicate) for fact in later}) == 100
    assert all(held[fact.subject, fact.predicate] != fact.value for fact in later)
    assert facts(300) == (first, later)


def test_a_question_has_the_value_that_holds_at_the_end() -> None:
    first, later = facts(300)
    now = {(fact.subject, fact.value) for fact in first} | {(fact.subject, fact.value) for fact in later}
    ended = {(f.subject, f.predicate) for f in later}
    ended_values = {(f.subject, f.value) for f in first if (f.subject, f.predicate) in ended}
    given = [one for one in questions(first, later) if one.subject]
    assert len(given) == 160
    assert all(
        (one.subject, one.value) in now - (ended_values - {(f.subject, f.value) for f in later}) for one in given
    )


def test_the_catalogs_come_out_the_same_each_time(tmp_path: Path) -> None:
    first, later = facts(60)
    before = [path.read_bytes() for path in write_catalogs(tmp_path, first, later)]
    assert [path.read_bytes() for path in write_catalogs(tmp_path, first, later)] == before


def test_palimpsest_holds_each_fact_and_what_it_superseded_and_finds_them(tmp_path: Path) -> None:
    found = measure(lambda folder: open_memory(folder, ""), tmp_path, 60, float("inf"))
    datasets = len({fact.subject for fact in facts(60)[0]})
    holds = found["holds"]
    assert isinstance(holds, dict)
    assert holds["versions"] == {"current": 40 + datasets, "superseded": 20}
    assert holds["passage_vector"] == 40 + datasets
    assert found["search"]["right_among_ten"] == found["search"]["right_of"] == 160  # type: ignore[index]
    assert len(list(table(60, {"palimpsest": found}))) == 3


def test_without_time_a_single_question_is_asked(tmp_path: Path) -> None:
    class Silent:
        def search(self, question: str) -> list[str]:
            return []

    first, later = facts(60)
    assert asked(Silent(), questions(first, later), Bound(0.0))["questions"] == 1  # type: ignore[arg-type]
