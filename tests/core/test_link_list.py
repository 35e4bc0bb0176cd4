"""Our link in a list: whatever the list, every other link stays as and where it is."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest.core.link_list import (
    LinkResult,
    WantedLink,
    decide,
    is_taken_by_person,
    merged,
    our_links,
    their_links,
)
from palimpsest.core.moment import Moment

URL = "https://memory.example.org/entity/0011223344556677?from=palimpsest-memory"
WANTED = WantedLink(urn="urn:li:dataset:x", url=URL, label="Agent memory", at=Moment(1))

_THEIRS = st.one_of(
    st.fixed_dictionaries({"url": st.sampled_from(["https://a", "https://b"]), "description": st.text(max_size=3)}),
    st.sampled_from([{"url": 5}, {"description": "no URL"}, {}, None, "no link", [1]]),
)
_OURS = st.fixed_dictionaries(
    {
        "url": st.sampled_from([URL, "https://old.example.org/entity/00?from=palimpsest-memory"]),
        "description": st.sampled_from(["Agent memory", "older"]),
    }
)
_LISTS: Any = st.lists(st.one_of(_THEIRS, _OURS), max_size=6)


@given(held=_LISTS, settled=st.booleans(), published=st.booleans(), deleted=st.booleans(), taken=st.booleans())
def test_others_stay_ours_is_there_once_at_most_and_a_second_look_finds_nothing_to_do(
    held: list[Any], settled: bool, published: bool, deleted: bool, taken: bool
) -> None:
    link = WantedLink(
        urn=WANTED.urn, url=URL, label="Agent memory", at=Moment(1),
        settled=settled, published=published, kept_deleted=deleted,
    )  # fmt: skip
    made = decide(link, held, taken_by_person=taken)
    assert their_links(made.links) == their_links(held)
    assert len(our_links(made.links)) == (0 if made.result is LinkResult.KEPT_DELETED else 1)
    again = decide(link, made.links, taken_by_person=taken)
    assert again.links == made.links
    assert again.result in (LinkResult.UNCHANGED, LinkResult.KEPT_DELETED)


@given(held=_LISTS)
def test_without_a_url_only_ours_goes(held: list[Any]) -> None:
    made = decide(WantedLink(urn=WANTED.urn, at=Moment(1)), held, taken_by_person=False)
    assert list(made.links) == their_links(held)
    assert (made.result is LinkResult.REMOVED) == bool(our_links(held))


@given(base=_LISTS, theirs=_LISTS)
def test_what_others_did_to_the_list_that_we_wrote_over_is_done_again(base: list[Any], theirs: list[Any]) -> None:
    ours = decide(WANTED, base, taken_by_person=False).links
    assert their_links(merged(base, theirs, ours)) == their_links(theirs)


@given(base=_LISTS, theirs=_LISTS, now=_LISTS)
def test_nothing_that_stands_now_is_dropped_but_what_others_dropped(
    base: list[Any], theirs: list[Any], now: list[Any]
) -> None:
    result = merged(base, theirs, now)
    if their_links(now) != their_links(base):
        assert all(link in result for link in now if link in theirs or link not in base)
    assert all(link in result for link in their_links(theirs) if link not in base)


@pytest.mark.parametrize(
    ("actor", "run_id", "person"),
    [
        ("urn:li:corpuser:ana", "", True),
        ("urn:li:corpuser:ana@example.org", "no-run-id-provided", True),
        ("urn:li:corpuser:ana", "snowflake-2026_03_04", False),
        ("urn:li:corpuser:__ingestion", "", False),
        ("urn:li:corpuser:__datahub_system", "", False),
        ("urn:li:corpuser:datahub", "", False),
        ("urn:li:corpuser:service_12", "", False),
        ("urn:li:corpuser:palimpsest", "", False),
        ("", "", False),
    ],
)
def test_who_is_a_person(actor: str, run_id: str, person: bool) -> None:
    assert is_taken_by_person([], [], actor=actor, run_id=run_id) is person
    assert is_taken_by_person(None, [], actor=actor, run_id=run_id) is person
    assert not is_taken_by_person([{"url": "https://a"}], [], actor=actor, run_id=run_id)
