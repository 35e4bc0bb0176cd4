"""The labelled questions: enough of each kind, both halves alike, and every label true of the memory it is about."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.recall import labels
from benchmarks.recall.check_labels import Memory, distance, stems, words, wrong
from benchmarks.recall.labels import KINDS, Expected, Question, halves, load
from benchmarks.recall.memories import make

AT_LEAST = {
    "exact": 35,
    "inflected": 25,
    "paraphrase": 40,
    "typo": 25,
    "script": 15,
    "column": 30,
    "owner": 20,
    "superseded": 20,
    "nothing": 45,
}
ORDERS = "urn:li:dataset:(urn:li:dataPlatform:postgres,shop.public.orders,PROD)"


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Memory]:
    """The two memories that are made from files of this repository."""
    folder = tmp_path_factory.mktemp("recall")
    return {name: Memory(database) for name in ("demo", "worlds") if (database := make(name, folder))}


def test_there_are_enough_questions_of_each_kind():
    counts = Counter(one.kind for one in load())
    assert set(counts) == set(KINDS)
    assert {kind: counts[kind] for kind, least in AT_LEAST.items() if counts[kind] < least} == {}
    assert sum(counts.values()) >= 220


def test_the_readme_tells_how_many_questions_there_are():
    questions = load()
    text = (Path(labels.__file__).parent / "README.md").read_text("utf-8")
    told = {kind: int(number) for kind, number in re.findall(r"^\| (\w+) \| (\d+) \|", text, flags=re.MULTILINE)}
    assert told == Counter(one.kind for one in questions)
    assert f"\n{len(questions)} questions over four memories" in text


def test_no_question_is_asked_twice_and_each_has_an_id_of_its_own():
    questions = load()
    assert max(Counter(one.id for one in questions).values()) == 1
    asked = Counter((one.memory, one.question.casefold(), str(one.filters)) for one in questions)
    assert [text for text, times in asked.items() if times > 1] == []


def test_the_halves_follow_from_the_ids_and_are_alike_in_every_kind():
    questions = load()
    assert {one.id: one.half for one in questions} == halves(questions)
    counts = Counter((one.kind, one.half) for one in questions)
    assert all(0 <= counts[kind, "tune"] - counts[kind, "test"] <= 1 for kind in KINDS)


def test_the_halves_do_not_depend_on_the_order_of_the_file():
    questions = load()
    assert halves(reversed(questions)) == halves(questions)


def test_a_word_is_found_in_other_letters_and_inside_a_name():
    assert words("Umsätze of checkoutEvents_v2") == {"umsatze", "of", "checkout", "events", "v2"}
    assert stems({"who", "owns", "orders"}) == {"own", "order"}


@pytest.mark.parametrize(
    ("one", "other", "edits"),
    [("orders", "orders", 0), ("ordrs", "orders", 1), ("crads", "cards", 1), ("dua", "dau", 1), ("", "abc", 3)],
)
def test_an_edit_is_a_letter_more_less_other_or_two_swapped(one: str, other: str, edits: int):
    assert distance(one, other) == edits


def test_every_label_is_true_of_the_demo_and_of_worlds(small: dict[str, Memory]):
    assert wrong(load(), small) == []


@pytest.mark.long
@pytest.mark.needs_shared("makes the memories of real catalogs")
def test_every_label_is_true_of_the_real_catalogs(tmp_path: Path, shared: Path):
    made = {name: make(name, tmp_path, shared / "data") for name in ("mce", "replay")}
    memories = {name: Memory(database) for name, database in made.items() if database is not None}
    assert set(memories) == {"mce", "replay"}
    assert wrong(load(), memories) == []


def asked(kind: str, text: str, *expect: Expected, absent: tuple[str, ...] = (), **filters: object) -> Question:
    return Question(
        id="one",
        memory="demo",
        kind=kind,
        half="tune",
        question=text,
        expect=expect,
        filters=filters,
        absent=absent,
    )


OWNER = Expected(urn=ORDERS, aspect="ownership")
ABOUT = Expected(urn=ORDERS, aspect="description")


@pytest.mark.parametrize(
    ("question", "said"),
    [
        (asked("owner", "who?", replace(OWNER, urn="urn:li:dataset:none")), "is not held"),
        (asked("column", "the discount", Expected(urn=ORDERS, aspect="column", key="discount")), "is not held"),
        (asked("superseded", "who?", replace(OWNER, version=2), as_of="2026-03-04"), "is not held"),
        (asked("owner", "who?", OWNER, platform="kafka"), "is not held"),
        (asked("superseded", "who?", OWNER, include_superseded=True), "needs one current version"),
        (asked("nothing", "who owns shipments?"), "says neither what is absent"),
        (asked("nothing", "who owns refunds?", absent=("refunds",)), "occurs in the memory"),
        (asked("nothing", "who owns it?", absent=("shipments",)), "is not in the question"),
        (asked("nothing", "who owns orders?", platform="postgres"), "its filters leave something"),
        (asked("nothing", "who owns orders?", OWNER, absent=("zzz",)), "has answers and should not"),
        (asked("exact", "who owns it?", OWNER), "names nothing"),
        (asked("paraphrase", "ordering things", ABOUT), "shares ['order']"),
        (asked("inflected", "one row for each order", ABOUT), "in another form"),
        (asked("typo", "who owns zzzzzz?", OWNER, absent=("zzzzzz",)), "is no typo"),
        (asked("owner", "who?", OWNER, colour="red"), "unknown kind, memory or filter"),
        (replace(asked("owner", "who?", OWNER), half="test"), "belongs to the half tune"),
    ],
)
def test_a_label_that_is_wrong_is_named(small: dict[str, Memory], question: Question, said: str):
    assert said in "\n".join(wrong([question], {"demo": small["demo"]}))
