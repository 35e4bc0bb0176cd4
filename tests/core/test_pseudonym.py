"""Pseudonyms: where a name stands in a text, and where the same letters are no name."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest.core.aspects.aspect import Json
from palimpsest.core.errors import UsageError
from palimpsest.core.ids import Ids
from palimpsest.core.observation import Observation, Patch, Seen, Stamp
from palimpsest.core.pseudonym import Pseudonyms, folded, name_in

IDS = Ids(b"0123456789abcdef")
NAMES = Pseudonyms(
    {
        IDS.person(folded(name)): pseudonym
        for name, pseudonym in {
            "alice": "erased-7f3a",
            "Mira O'Neil": "erased-1111",
            "bob@shop.org": "erased-2222",
            "d.smith": "erased-3333",
        }.items()
    },
    IDS.person,
)


@pytest.mark.parametrize(
    ("text", "replaced"),
    [
        ("Ask Alice.", "Ask erased-7f3a."),
        ("ALICE, alice's and (@alice)", "erased-7f3a, erased-7f3a's and (@erased-7f3a)"),
        ("alice@corp.com or bob@shop.org", "erased-7f3a@erased.invalid or erased-2222"),
        ("owned by urn:li:corpuser:alice.", "owned by urn:li:corpuser:erased-7f3a."),
        ("(urn:li:corpuser:alice,urn:li:corpuser:carl)", "(urn:li:corpuser:erased-7f3a,urn:li:corpuser:carl)"),
        ("urn:li:assertion:(urn:li:corpuser:alice,x)", "urn:li:assertion:(urn:li:corpuser:erased-7f3a,x)"),
        ("urn:palimpsest:person:Mira O'Neil said", "urn:palimpsest:person:erased-1111 said"),
        ("mira  o'neil and d.smith.", "erased-1111 and erased-3333."),
    ],
)
def test_a_name_is_replaced_where_it_stands_as_whole_words_an_address_or_a_urn(text: str, replaced: str) -> None:
    assert NAMES.text(text) == replaced


@pytest.mark.parametrize(
    "text",
    [
        "malice, alices and alice_backup",
        "the table alice.orders, the branch alice-fix",
        "urn:li:dataset:(urn:li:dataPlatform:postgres,shop.alice,PROD)",
        "urn:li:tag:alice",
        "bob and smith",
        "",
    ],
)
def test_the_same_letters_within_a_longer_word_or_the_urn_of_something_else_are_no_name(text: str) -> None:
    assert NAMES.text(text) == text


@pytest.mark.parametrize(
    ("aspect", "value", "replaced"),
    [
        ("description", "by alice", "by erased-7f3a"),
        ("ownership", [["urn:li:corpuser:alice", "alice"]], [["urn:li:corpuser:erased-7f3a", "alice"]]),
        ("tags", [["urn:li:tag:alice"]], [["urn:li:tag:alice"]]),
        (
            "column",
            {"path": "alice", "native_type": "TEXT", "description": "alice knows", "tags": ["urn:li:tag:alice"]},
            {"path": "alice", "native_type": "TEXT", "description": "erased-7f3a knows", "tags": ["urn:li:tag:alice"]},
        ),
        ("existence", {"exists": True}, {"exists": True}),
        ("property", "alice", "erased-7f3a"),
        ("attribute", {"by": ["alice", 1, None]}, {"by": ["erased-7f3a", 1, None]}),
    ],
)
def test_in_a_value_words_are_names_only_where_it_is_free_text(aspect: str, value: Json, replaced: Json) -> None:
    assert NAMES.value(aspect, value) == replaced


def test_observers_and_keys_of_notes_are_replaced_and_a_column_that_is_called_so_is_not() -> None:
    assert [NAMES.observer(one) for one in ("person:Alice", "agent:alice", "document:notes/alice.md", "")] == [
        "person:erased-7f3a",
        "agent:erased-7f3a",
        "document:notes/alice.md",
        "",
    ]
    assert NAMES.key("usage", "ask-alice-before") == "ask-erased-7f3a-before"
    assert NAMES.key("usage", "d-smith-knows") == "erased-3333-knows"
    assert (NAMES.key("column", "alice"), NAMES.key("property", "alice")) == ("alice", "erased-7f3a")


def test_an_observation_its_stamp_and_a_patch_are_replaced_alike() -> None:
    seen = Seen(
        [Observation("ownership", "", [["urn:li:corpuser:alice", "X"]])], Stamp(actor="urn:li:corpuser:alice", run="r")
    )
    assert NAMES.seen(seen) == Seen(
        [Observation("ownership", "", [["urn:li:corpuser:erased-7f3a", "X"]])],
        Stamp(actor="urn:li:corpuser:erased-7f3a", run="r"),
    )
    patch = Patch("ownership", "", "remove", ("urn:li:corpuser:alice", "X"))
    assert NAMES.patch(patch).member == ("urn:li:corpuser:erased-7f3a", "X")


@given(st.text(alphabet="alice.@ -_'bo:urn", max_size=60))
def test_replacing_again_changes_nothing(text: str) -> None:
    once = NAMES.text(text)
    assert NAMES.text(once) == once


@pytest.mark.parametrize("urn", ["alice", "urn:li:corpGroup:alice", "urn:li:corpuser:", "urn:li:corpuser:" + "a" * 201])
def test_only_the_urn_of_a_person_names_one(urn: str) -> None:
    with pytest.raises(UsageError, match="is no URN of a person"):
        name_in(urn)


def test_a_pseudonym_cannot_be_told_from_the_name_without_the_key_of_the_store() -> None:
    other = Ids(b"fedcba9876543210")
    assert IDS.person("alice") != other.person("alice")
