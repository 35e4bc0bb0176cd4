"""Passages: every word of every version is in one, what is current apart from what is not."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from palimpsest.core.belief import State
from palimpsest.core.ids import BeliefId
from palimpsest.core.passage import MOST_LETTERS, About, Stated, passages_of, spelled_out
from palimpsest.core.terms import terms_of

ABOUT = About("urn:li:dataset:x", "dataset", "postgres", "shop.public.orders")


def stated(
    aspect: str, value: object, key: str = "", *, number: int = 1, state: State = State.CURRENT, source: str = "file"
) -> Stated:
    belief = BeliefId(f"{source}/{aspect}/{key}".encode().ljust(16, b".")[:16])
    return Stated(belief, number, state, source, aspect, key, json.dumps(value))


def test_a_passage_says_what_it_is_about() -> None:
    (passage,) = passages_of(ABOUT, [stated("description", "One row for each order", "source")])
    assert passage.text == "dataset shop.public.orders (postgres): description: One row for each order"
    assert {"aspect=description", "platform=postgres", "order", "row"} <= set(passage.terms.split(" "))
    assert passage.current


def test_the_columns_of_a_table_stand_together() -> None:
    columns = [stated("column", {"native_type": "INT", "path": f"c{n}"}, f"c{n}") for n in range(10)]
    (passage,) = passages_of(ABOUT, columns)
    assert len(passage.states) == 10


def test_what_is_not_current_stands_apart() -> None:
    found = passages_of(
        ABOUT,
        [
            stated("ownership", [["urn:li:corpuser:jonas", ""]], state=State.SUPERSEDED),
            stated("ownership", [["urn:li:corpuser:lea", ""]], number=2),
        ],
    )
    said = [(passage.current, passage.text.rsplit(" ", 1)[-1]) for passage in found]
    assert said == [(False, "jonas"), (True, "lea")]


def test_nothing_of_a_source_is_current_where_it_says_that_the_entity_is_gone() -> None:
    found = passages_of(
        ABOUT,
        [
            stated("existence", {"exists": False, "ground": "status"}),
            stated("description", "gone", "source"),
            stated("description", "here", "source", source="other"),
        ],
    )
    assert {(passage.source, passage.aspect): passage.current for passage in found} == {
        ("file", "existence"): True,
        ("file", "description"): False,
        ("other", "description"): True,
    }


def test_versions_that_say_the_same_share_a_text() -> None:
    found = passages_of(ABOUT, [stated("sub_type", "View", number=n, state=State.SUPERSEDED) for n in (1, 3)])
    belief = stated("sub_type", "View").belief
    assert [(one.current, one.states) for one in found] == [(False, ((belief, 1), (belief, 3)))]


def test_a_long_text_that_repeats_itself_states_its_version_once() -> None:
    found = passages_of(ABOUT, [stated("description", "a" * (4 * MOST_LETTERS), "source")])
    assert len(found) < 4, "some of its pieces are alike"
    assert {len(passage.states) for passage in found} == {1}


def test_a_title_is_part_of_every_passage() -> None:
    found = passages_of(
        About("urn:li:dataProduct:b2", "dataProduct", "", "b2"),
        [stated("name", "Returns & Refunds", "source"), stated("ownership", [["urn:li:corpuser:ann", ""]])],
    )
    assert all(passage.text.startswith("data product Returns & Refunds, b2: ") for passage in found)


def test_a_name_is_found_misspelt_by_its_existence() -> None:
    (passage,) = passages_of(ABOUT, [stated("existence", {"exists": True})])
    assert {"3=_or", "3=ord", "3=ers"} <= set(passage.terms.split(" "))


texts = st.text(max_size=3_000)


@given(st.lists(st.tuples(st.sampled_from(["description", "property", "links", "upstreams"]), texts), max_size=6))
def test_every_word_of_every_version_is_in_a_passage_of_bounded_length(given_texts: list[tuple[str, str]]) -> None:
    versions = [
        stated(aspect, text if aspect in {"description", "property"} else [[f"urn:li:tag:{text}", text]], key=str(at))
        for at, (aspect, text) in enumerate(given_texts)
    ]
    found = passages_of(ABOUT, versions)
    for version in versions:
        mine = [passage for passage in found if (version.belief, version.number) in passage.states]
        terms = {term for passage in mine for term in passage.terms.split(" ")}
        said = spelled_out(version.aspect, version.key, json.loads(version.value))
        own = {term for term in terms_of(said) if len(term) < 30}
        missed = own - terms
        assert not {term for term in missed if term.isascii() and term.isalpha()}, missed
    head = len("dataset shop.public.orders (postgres): ")
    assert all(len(passage.text) <= head + MOST_LETTERS for passage in found)
    assert len({(one.source, one.aspect, one.current, one.text) for one in found}) == len(found)
    assert not any("\x00" in passage.text for passage in found)
