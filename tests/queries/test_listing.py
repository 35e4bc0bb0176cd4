"""listing: numbers as they are held, narrowed and sorted, in pages that neither lose nor repeat an entity."""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from palimpsest.core.errors import UsageError
from palimpsest.core.moment import Moment, parse, to_datetime
from palimpsest.queries.listing import ListedEntity, ListingPage, Shown, Sort, UsedView, Wanted, listing
from tests.building import Memory, dataset, mcp, owners, status, tags
from tests.queries.plans import planned, walked

pytestmark = pytest.mark.usefixtures("dialect")

ORDERS, USERS = dataset("shop.public.orders"), dataset("shop.public.users")
EVENTS, NEVER = dataset("events", "kafka"), dataset("shop.a_never%")
FINANCE = "urn:li:domain:9f2c"
MARCH_2, MARCH_12, APRIL_11 = "2026-03-02T08:00:00Z", "2026-03-12T08:00:00Z", "2026-04-11T08:00:00Z"
MAY_1 = parse("2026-05-01T08:00:00Z")  # 60 days after the first reading


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    """Orders are revised twice, events and users once, of which the users are gone."""
    memory = Memory(tmp_path)
    first = [
        *(mcp(urn, "status", status()) for urn in (ORDERS, USERS, EVENTS, NEVER)),
        mcp(ORDERS, "ownership", owners("jonas")),
        mcp(ORDERS, "globalTags", tags("pii")),
        mcp(USERS, "ownership", owners("lea")),
        mcp(EVENTS, "ownership", owners("jonas")),
        mcp(EVENTS, "domains", {"domains": [FINANCE]}),
        mcp(FINANCE, "domainProperties", {"name": "Finance"}),
    ]
    memory.remember(first, at=MARCH_2)
    memory.index()
    memory.remember([mcp(ORDERS, "ownership", owners("ana"))], at=MARCH_12)
    last = [
        mcp(ORDERS, "globalTags", tags("pii", "gold")),
        mcp(EVENTS, "ownership", owners("lea")),
        mcp(USERS, "status", status(removed=True)),
    ]
    memory.remember(last, at=APRIL_11)
    return memory


def page(memory: Memory, **wanted: Any) -> ListingPage:
    return listing(memory.store, Wanted(**({"kind": "dataset"} | wanted)), MAY_1)


def names(memory: Memory, **wanted: Any) -> list[str]:
    return [one.name for one in page(memory, **wanted).entities]


def by_name(found: ListingPage) -> dict[str, ListedEntity]:
    return {one.name: one for one in found.entities}


@pytest.mark.parametrize("indexed", [True, False])
def test_what_is_shown_is_what_is_held_whether_indexed_or_not(memory: Memory, indexed: bool) -> None:
    if indexed:
        memory.index()
    view = page(memory)
    assert view.waiting == (0 if indexed else 3)
    found = by_name(view)
    assert list(found) == ["events", "shop.a_never%", "shop.public.orders", "shop.public.users"]
    orders, users = found["shop.public.orders"], found["shop.public.users"]
    assert (orders.revisions, orders.volatility, orders.beliefs) == (2, 1.0, 3)
    assert orders.changed == to_datetime(parse(APRIL_11))
    assert (orders.urn, orders.kind, orders.platform, orders.gone) == (ORDERS, "dataset", "postgres", False)
    assert (users.revisions, users.volatility, users.gone) == (1, 0.5, True)
    never = found["shop.a_never%"]
    assert (never.revisions, never.changed, never.volatility, never.gone) == (0, None, 0.0, False)


def test_entities_that_were_never_indexed_are_listed_with_their_numbers(memory: Memory) -> None:
    memory.store.write(
        lambda c: c.execute(
            sa.text("UPDATE entity SET indexed_at = NULL, beliefs = NULL, revisions = NULL, gone = NULL")
        )
    )
    for sort in Sort:
        view = page(memory, sort=sort)
        assert view.waiting == 5
        assert {one.name: one.revisions for one in view.entities} == {
            "events": 1,
            "shop.a_never%": 0,
            "shop.public.orders": 2,
            "shop.public.users": 1,
        }


@pytest.mark.parametrize(
    ("wanted", "groups"),
    [
        ({"sort": Sort.NAME}, [["events"], ["shop.a_never%"], ["shop.public.orders"], ["shop.public.users"]]),
        ({"sort": Sort.CHANGED}, [["events", "shop.public.orders", "shop.public.users"], ["shop.a_never%"]]),
        ({"sort": Sort.REVISIONS}, [["shop.public.orders"], ["events", "shop.public.users"], ["shop.a_never%"]]),
        ({"sort": Sort.VOLATILITY}, [["shop.public.orders"], ["events", "shop.public.users"], ["shop.a_never%"]]),
    ],
)
def test_the_order_is_by_what_was_asked_and_can_be_turned(
    memory: Memory, wanted: dict[str, Any], groups: list[list[str]]
) -> None:
    """Of entities that are alike in it the order is not told; what never changed stands last either way."""
    memory.index()

    def grouped(found: list[str], groups: list[list[str]]) -> list[list[str]]:
        bounds = [0, *(sum(len(group) for group in groups[: at + 1]) for at in range(len(groups)))]
        return [sorted(found[start:end]) for start, end in pairwise(bounds)]

    assert grouped(names(memory, **wanted), groups) == groups
    turned = groups if wanted["sort"] is Sort.CHANGED else groups[::-1]
    assert grouped(names(memory, **wanted, reverse=True), turned) == turned


@pytest.mark.parametrize("sort", list(Sort))
@pytest.mark.parametrize("reverse", [False, True])
def test_pages_hold_every_entity_once_in_the_order_of_one_page(memory: Memory, sort: Sort, reverse: bool) -> None:
    memory.index()
    memory.store.write(lambda c: c.execute(sa.text("UPDATE entity SET changed_at = NULL WHERE platform = 'kafka'")))
    whole = names(memory, sort=sort, reverse=reverse)
    found, after = [], ""
    for at in range(len(whole)):
        view = listing(
            memory.store,
            Wanted(kind="dataset", sort=sort, reverse=reverse, after=after, page=1),
            Moment(MAY_1 + at * 86_400_000),
        )
        found += [one.name for one in view.entities]
        after = view.next
    assert (found, after) == (whole, "")


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({"platform": "kafka"}, ["events"]),
        ({"search": "ORDERS public"}, ["shop.public.orders"]),
        ({"search": "never%"}, ["shop.a_never%"]),
        ({"search": "public%orders"}, []),
        ({"owner": "ana"}, ["shop.public.orders"]),
        ({"owner": "urn:li:corpuser:ana"}, ["shop.public.orders"]),
        ({"owner": "an"}, []),
        ({"owner": "jonas"}, []),
        ({"owner": "lea"}, ["events"]),  # the users are gone, and what is gone has no current owner
        ({"tag": "PII"}, ["shop.public.orders"]),
        ({"tag": "pii", "owner": "lea"}, []),
        ({"domain": FINANCE, "owner": "lea", "platform": "kafka"}, ["events"]),
        ({"shown": Shown.GONE}, ["shop.public.users"]),
        ({"shown": Shown.HERE}, ["events", "shop.a_never%", "shop.public.orders"]),
        ({"kind": "domain"}, ["9f2c"]),
        ({"owner": "x\x00", "search": "\ud800"}, []),
    ],
)
def test_it_is_narrowed_to_what_is_current(memory: Memory, wanted: dict[str, Any], found: list[str]) -> None:
    memory.index()
    assert names(memory, **wanted) == found


def test_a_label_that_was_lost_finds_an_entity_no_more_though_it_waits_to_be_indexed(memory: Memory) -> None:
    assert names(memory, owner="jonas") == []
    assert names(memory, owner="lea") == []  # not the users, who are gone; the events wait
    assert names(memory, shown=Shown.HERE) == ["events", "shop.a_never%", "shop.public.orders"]
    memory.index()
    assert names(memory, owner="lea") == ["events"]


def test_the_most_used_values_are_counted(memory: Memory) -> None:
    waiting = page(memory)
    assert waiting.tags == waiting.owners == ()
    memory.index()
    view = page(memory, search="nothing has this")
    assert view.entities == ()
    assert [(one.value, one.entities) for one in view.platforms] == [("postgres", 3), ("kafka", 1)]
    assert [(one.value, one.entities) for one in view.kinds] == [("dataset", 4), ("domain", 1)]
    assert [(one.label, one.entities) for one in view.tags] == [("gold", 1), ("pii", 1)]
    assert [(one.label, one.entities) for one in view.owners] == [("ana", 1), ("lea", 1)]
    assert view.domains == (UsedView(value=FINANCE, label="Finance", entities=1),)


def cursor(*told: object) -> str:
    return urlsafe_b64encode(json.dumps(told).encode()).decode().rstrip("=")


PLACE = "00" * 8


@pytest.mark.parametrize(
    "after",
    [
        "x",
        "é",
        "0" * 5_000,
        cursor("name", False, 1, PLACE, None),
        cursor("revisions", True, 1, PLACE, 1),
        cursor("revisions", False, 1, PLACE, "1"),
        cursor("revisions", False, 1, PLACE, True),
        cursor("revisions", False, 1, PLACE, 1 << 70),
        cursor("revisions", False, 1, PLACE, float("nan")),
        cursor("revisions", False, 1 << 60, PLACE, 1),
        cursor("revisions", False, "1", PLACE, 1),
        cursor("revisions", False, 1, "g" * 16, 1),
        cursor("revisions", False, 1, 5, 1),
        cursor("revisions", False, 1, PLACE),
        cursor({"revisions": 1}),
    ],
)
def test_what_is_no_place_of_the_listing_is_refused(memory: Memory, after: str) -> None:
    with pytest.raises(UsageError, match="is no place in this listing"):
        page(memory, sort=Sort.REVISIONS, after=after)


def test_a_name_that_is_gone_is_no_place(memory: Memory) -> None:
    with pytest.raises(UsageError, match="is no place in this listing"):
        page(memory, after=cursor("name", False, 1, PLACE, None))


def test_no_statement_walks_what_was_seen_or_is_held(memory: Memory, dialect: str) -> None:
    """On SQLite, whose plans are easy to read: versions, episodes and cells are reached by their keys."""
    if dialect != "sqlite":
        return
    narrow = {"owner": "lea", "tag": "pii", "search": "o"}
    for ask in (lambda: page(memory), lambda: page(memory, sort=Sort.CHANGED, **narrow)):
        steps = planned(memory.store, ask)
        assert len(steps) > 8
        assert walked(steps) == []
