"""Where a note goes: among candidates that code makes, by the rules, and never by what a chooser makes up."""

from __future__ import annotations

import pytest

from palimpsest.core.choosing import (
    Candidates,
    Choice,
    Note,
    OpenMatter,
    RulesChooser,
    Subject,
    aspect_of,
    candidates_of,
    is_valid,
    names_in,
    placed,
)
from palimpsest.core.ids import CellId, EntityId
from palimpsest.core.moment import Moment
from tests.building import dataset

ORDERS = Subject(EntityId(b"orders__" + bytes(8)), dataset("shop.public.orders"))
USERS = Subject(EntityId(b"users___" + bytes(8)), dataset("shop.public.users"))


def note(text: str, kind: str = "") -> Note:
    """A note about orders."""
    return Note(CellId(bytes(16)), ORDERS.entity, ORDERS.urn, "agent:bot", kind, text, Moment(1))


def candidates(text: str, *matters: OpenMatter, kind: str = "", named: tuple[Subject, ...] = ()) -> Candidates:
    return candidates_of(note(text, kind), named, matters)


def matter(text: str, key: str = "it", aspect: str = "quality", about: Subject = ORDERS) -> OpenMatter:
    return OpenMatter(about.entity, aspect, key, text)


def where(one: Candidates) -> tuple[EntityId, str, str]:
    """Where the rules put a note."""
    (found,) = placed([one], RulesChooser().choose([one]), [])
    return found.entity, found.aspect, found.key


@pytest.mark.parametrize(
    ("text", "aspect"),
    [
        ("Who owns this?", "question"),
        ("Кто это читает?", "question"),
        ("We decided to drop it in May", "decision"),
        ("3 % of the customer ids are null", "quality"),
        ("Finance reports join it with users", "usage"),
        ("It grew by half in March", "insight"),
    ],
)
def test_the_words_of_a_note_suggest_its_aspect(text: str, aspect: str) -> None:
    assert aspect_of(text) == aspect


def test_the_aspect_that_the_author_gave_is_the_only_candidate() -> None:
    one = candidates("Who owns this?", kind="usage")
    assert one.aspects == ("usage",)
    assert where(one) == (ORDERS.entity, "usage", "who-owns-this")


def test_a_note_joins_the_matter_that_it_is_about_even_where_it_contradicts_it() -> None:
    late = matter("Refreshed daily at 6", "refresh")
    nulls = matter("Null customer ids", "nulls")
    assert where(candidates("Not refreshed daily at 6", nulls, late, kind="quality"))[2] == "refresh"
    assert where(candidates("Baskets are duplicated", nulls, late, kind="quality"))[2] == "baskets-are-duplicated"


def test_matters_of_another_aspect_or_entity_are_no_candidates() -> None:
    elsewhere = [matter("Refreshed daily at 6", aspect="usage"), matter("Refreshed daily at 6", about=USERS)]
    assert candidates("Refreshed daily at 6", *elsewhere, kind="quality").matters == ()


def test_a_note_is_about_what_it_was_said_of_unless_it_begins_with_the_one_other_that_it_names() -> None:
    assert where(candidates("shop.public.users is stale", named=(USERS,)))[0] == USERS.entity
    assert where(candidates("joined with shop.public.users", named=(USERS,)))[0] == ORDERS.entity
    assert (
        where(candidates("shop.public.users and shop.public.orders are stale", named=(USERS, ORDERS)))[0]
        == USERS.entity
    )


def test_names_are_urns_and_dotted_names() -> None:
    urn = dataset("a.b.c")
    assert names_in(f"see {urn}, then shop.public.users; not e.g. or 1.5") == [urn, "shop.public.users", "e.g"]


@pytest.mark.parametrize(
    "choice",
    [
        Choice(1, 0, None),
        Choice(-1, 0, None),
        Choice(0, 9, None),
        Choice(0, 0, 1),
        Choice(0, 0, -1),
        Choice(0, 1, 0),
    ],
)
def test_a_choice_of_what_is_no_candidate_places_nothing(choice: Choice) -> None:
    one = candidates("Refreshed daily", matter("Refreshed hourly", aspect="usage"))
    assert not is_valid(choice, one)
    assert placed([one], [choice], []) == []
    assert placed([one], [None], []) == []


def test_keys_are_made_of_words_and_never_taken_twice() -> None:
    ones = [candidates(text, kind="quality") for text in ("Baskets, twice!", "Nulls in the id", "日本語のメモ", "?!")]
    choices = [Choice(0, 0, None)] * len(ones)
    taken = [(ORDERS.entity, "quality", "baskets-twice"), (ORDERS.entity, "quality", "baskets-twice-2")]
    found = placed(ones, choices, taken)
    assert [one.key for one in found] == ["baskets-twice-3", "nulls-in-the-id", "日本語のメモ", "matter"]


def test_notes_that_open_the_same_matter_in_one_pass_share_it() -> None:
    ones = [candidates(text, kind="quality") for text in ("Refreshed daily at 6", "Refreshed daily at 7")]
    found = placed(ones, [Choice(0, 0, None), Choice(0, 0, None, sure=False)], [])
    assert [(one.key, one.sure) for one in found] == [("refreshed-daily-at-6", True), ("refreshed-daily-at-6", False)]
