"""Stale: rules on facts written as text, with what they find as people read it."""

from __future__ import annotations

import pytest

from palimpsest.core.ids import BeliefId, EntityId
from palimpsest.core.moment import Moment, parse
from palimpsest.core.stale import (
    Finding,
    Kind,
    Lack,
    Later,
    Owned,
    Reader,
    Text,
    cut,
    is_rebuilt,
    lacking,
    outdated,
    owner,
    ranked,
    rewired,
    still_read,
)

DAY = 86_400_000


def day(number: int) -> Moment:
    """The moment that many days after 2026-01-01."""
    return Moment(parse("2026-01-01") + number * DAY)


def belief(name: str) -> BeliefId:
    return BeliefId(name.encode().ljust(16, b"-"))


def texts(said: str) -> list[Text]:
    """`source @3, edited @5`: descriptions and the day each was last worded on."""
    parts = [part.split(" @") for part in said.split(", ") if part]
    return [Text(day(int(at)), belief(name)) for name, at in parts]


def later(said: str) -> Later:
    """`+column a added @4 after 2`: a change seen on day 4, not so on day 2; + took nothing away."""
    what, _, times = said.lstrip("+").partition(" @")
    at, _, after = times.partition(" after ")
    return Later(what, day(int(at)), day(int(after)) if after else None, belief(what[-12:]), said.startswith("+"))


def told(finding: Finding | None) -> str:
    """A finding in words: order, since which day by a change, what it says; `nothing` for none."""
    if finding is None:
        return "nothing"
    at = "-" if finding.at is None else str((finding.at - day(0)) // DAY)
    return f"{finding.order} @{at} {finding.said}"


@pytest.mark.parametrize(
    ("described", "changes", "expected"),
    [
        ("", ["column a gone @9"], "nothing"),
        ("source @3", [], "nothing"),
        ("source @3", ["column a gone @2"], "nothing"),
        # seen in one reading with the text: which came first is not known
        ("source @3", ["column a gone @3"], "nothing"),
        ("source @3", ["column a gone @4 after 2"], "nothing"),
        (
            "source @3",
            ["column a gone @4 after 3"],
            "0 @4 description since 2026-01-04 is older than 1 later change: column a gone 2026-01-05",
        ),
        # what only added something weighs less, and one that took something away outweighs it
        (
            "source @3",
            ["+column b added @5"],
            "1 @5 description since 2026-01-04 is older than 1 later change: column b added 2026-01-06",
        ),
        (
            "source @3",
            ["+column b added @5", "column a gone @6"],
            "0 @5 description since 2026-01-04 is older than 2 later changes: "
            "column a gone 2026-01-07, column b added 2026-01-06",
        ),
        # the newest text counts, whichever it is
        ("source @3, edited @7", ["column a gone @6"], "nothing"),
        (
            "source @8, edited @7",
            ["column a gone @9 after 8"],
            "0 @9 description since 2026-01-09 is older than 1 later change: column a gone 2026-01-10",
        ),
        # it became stale by the first of many
        (
            "source @0",
            ["column a gone @1", "column b gone @2", "column c gone @3", "column d gone @4"],
            "0 @1 description since 2026-01-01 is older than 4 later changes: column d gone 2026-01-05, "
            "column c gone 2026-01-04, column b gone 2026-01-03 and 1 more",
        ),
    ],
)
def test_a_description_is_stale_by_what_changed_certainly_after_it(
    described: str, changes: list[str], expected: str
) -> None:
    assert told(outdated(texts(described), map(later, changes))) == expected


def test_the_evidence_of_an_old_description_is_itself_and_the_newest_changes_once_each() -> None:
    changes = [
        *(later(f"column {name} gone @{at}") for at, name in enumerate("abcdef", start=1)),
        later("column f gone @9"),
    ]
    finding = outdated([Text(day(0), belief("text"))], changes)
    assert finding is not None
    assert finding.evidence == (belief("text"), *(belief(f"olumn {name} gone") for name in "fedc"))


COLUMN = {"path": "a", "type": "NUMBER", "native_type": "INT", "nullable": True}


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (None, COLUMN, True),
        (COLUMN, None, True),
        (COLUMN, COLUMN | {"native_type": "TEXT"}, True),
        (COLUMN, COLUMN | {"nullable": False}, True),
        (COLUMN, COLUMN | {"part_of_key": True}, True),
        (COLUMN, COLUMN | {"description": "another"}, False),
        (COLUMN, COLUMN | {"tags": ["urn:li:tag:pii"]}, False),
    ],
)
def test_a_column_is_rebuilt_by_its_type_nullability_or_key_and_by_no_text_or_label(before, after, expected) -> None:
    assert is_rebuilt(before, after) is expected


def made_of(*names: str) -> list[list[str]]:
    return [[f"urn:li:dataset:(urn:li:dataPlatform:bigquery,{name},PROD)", "TRANSFORMED"] for name in names]


@pytest.mark.parametrize(
    ("before", "after", "new", "lost"),
    [
        ("shop.a.t", "shop.a.t shop.a.u", "shop.a.u", ""),
        ("shop.a.t", "shop.a.u", "shop.a.u", "shop.a.t"),
        ("shop.a.t_v1", "shop.a.t_v2", "", ""),
        ("shop.a.logs_20*", "shop.a.logs", "", ""),
        ("shop.a.t_v1", "shop.a.u_v1", "shop.a.u_v1", "shop.a.t_v1"),
        ("a.t", "shop.a.t", "", ""),
        ("views.a.t", "shop.a.t", "", ""),
        ("t", "shop.a.t", "", ""),
        ("shop.a.t", "shop.b.t", "shop.b.t", "shop.a.t"),
        # itself is no upstream, new or lost
        ("shop.a.t", "shop.a.t shop.a.own", "", ""),
        ("shop.a.t", "shop.a.own", "", "shop.a.t"),
        ("a.own", "shop.a.own", "", ""),
    ],
)
def test_upstreams_are_others_only_where_their_last_two_parts_are(before: str, after: str, new: str, lost: str) -> None:
    found = rewired(made_of(*before.split()), made_of(*after.split()), str(made_of("shop.a.own")[0][0]))
    assert (" ".join(sorted(found.new)), " ".join(sorted(found.lost))) == (new, lost)


# --- owners -------------------------------------------------------------------------------------------------------


def entity(name: str) -> EntityId:
    return EntityId(name.encode().ljust(8, b"-") + bytes(8))


def owned(said: str) -> list[Owned]:
    """`orders, carts until 3`: what is owned, and what was until some day."""
    found = []
    for part in filter(None, said.split(", ")):
        name, _, until = part.partition(" until ")
        found.append(Owned(entity(name), day(int(until)) if until else None, belief(name)))
    return found


@pytest.mark.parametrize(
    ("urn", "places", "expected"),
    [
        ("urn:li:corpuser:mira", "orders, carts", "nothing"),
        ("urn:li:corpuser:mira", "orders, carts until 3, stock", "nothing"),
        (
            "urn:li:corpuser:mira",
            "orders, carts until 3",
            "0 @3 owner mira no longer owns the only other one of before, the last until 2026-01-04",
        ),
        (
            "urn:li:corpuser:mira",
            "orders, carts until 5, stock until 3",
            "0 @5 owner mira no longer owns any of 2 others of before, the last until 2026-01-06",
        ),
        # a group that left is told, one that owns one thing is nothing strange
        (
            "urn:li:corpGroup:shop",
            "orders, carts until 3",
            "0 @3 owner shop no longer owns the only other one of before, the last until 2026-01-04",
        ),
        ("urn:li:corpuser:mira", "orders", "1 @- owner mira owns nothing else"),
        ("urn:li:corpGroup:shop", "orders", "nothing"),
    ],
)
def test_an_owner_is_stale_who_left_everything_else_or_owns_nothing_else(urn: str, places: str, expected: str) -> None:
    assert told(owner(urn, belief("held"), entity("orders"), owned(places))) == expected


# --- what is read, and what lacks something -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("state", "at", "readers", "expected"),
    [
        ("gone", 3, "", "nothing"),
        ("gone", 3, "report", "0 @3 gone since 2026-01-04 and still read by 1: report"),
        ("deprecated", None, "report facts report", "1 @- deprecated and still read by 2: facts, report"),
    ],
)
def test_what_is_gone_or_deprecated_is_stale_while_something_reads_it(
    state: str, at: int | None, readers: str, expected: str
) -> None:
    since = day(at) if at is not None else None
    found = still_read(state, since, belief("held"), [Reader(name, belief(name)) for name in readers.split()])
    assert told(found) == expected


def test_what_lacks_both_comes_before_what_lacks_one_and_is_news_where_it_was_lost() -> None:
    lost = Lack("owner", day(3), belief("owner"))
    assert told(lacking([], [belief("edge")])) == "nothing"
    assert told(lacking([lost], [])) == "1 @3 no owner since 2026-01-04"
    assert told(lacking([lost, Lack("description")], [])) == "0 @3 no owner since 2026-01-04 and no description"
    assert told(lacking([Lack("description")], [])) == "1 @- no description"


def finding(kind: Kind, order: int = 0) -> Finding:
    return Finding(kind=kind, said="so", evidence=(belief("one"),), order=order)


def test_findings_come_by_kind_then_by_weight_and_what_lacks_something_by_what_depends_on_it() -> None:
    given = [
        (finding(Kind.LACKING, 1), "urn:b", 9),
        (finding(Kind.LACKING, 0), "urn:a", 2),
        (finding(Kind.LACKING, 0), "urn:c", 9),
        (finding(Kind.DESCRIPTION, 1), "urn:a", 50),
        (finding(Kind.DESCRIPTION, 0), "urn:b", 1),
        (finding(Kind.READ), "urn:z", 0),
    ]
    found = ranked(given)
    assert [(one.kind.value, urn) for one, urn, _ in found] == [
        ("read", "urn:z"),
        ("description", "urn:b"),
        ("description", "urn:a"),
        ("lacking", "urn:c"),
        ("lacking", "urn:b"),
        ("lacking", "urn:a"),
    ]
    assert ranked(reversed(given)) == found
    shown, counts = cut(found, 1)
    assert [urn for _, urn, _ in shown] == ["urn:z", "urn:b", "urn:c"]
    assert counts == {Kind.READ: 1, Kind.DESCRIPTION: 2, Kind.LACKING: 3}
