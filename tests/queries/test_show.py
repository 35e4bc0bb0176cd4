"""show and beliefs: what is current now, then, and as known then; sources side by side; nothing of the gone."""

from __future__ import annotations

from pathlib import Path

import pytest

from palimpsest.core.belief import State
from palimpsest.core.moment import parse
from palimpsest.queries.beliefs import BeliefsRequest, beliefs
from palimpsest.queries.held import When
from palimpsest.queries.show import EntityPage, show
from tests.building import Memory, dataset, lineage, mcp, owners, schema, status, text

pytestmark = pytest.mark.usefixtures("dialect")

ORDERS, FACTS = dataset("shop.public.orders"), dataset("shop.facts")
MONDAY, TUESDAY, FRIDAY = "2026-03-02T08:00:00Z", "2026-03-03T08:00:00Z", "2026-03-06T08:00:00Z"
NOW = When(now=parse("2026-03-09T00:00:00Z"))


def then(at: str, *, known: bool = False) -> When:
    return When(now=NOW.now, known_at=parse(at)) if known else When(now=NOW.now, as_of=parse(at))


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return Memory(tmp_path)


def said(page: EntityPage) -> list[str]:
    return [belief.statement for belief in page.beliefs if belief.aspect != "attribute"]


def test_who_owned_it_then(memory: Memory) -> None:
    memory.remember([mcp(ORDERS, "ownership", owners("jonas"))], at=MONDAY)
    memory.remember([mcp(ORDERS, "ownership", owners("lena", at="2026-03-05T14:20:00Z", by="mira"))], at=FRIDAY)
    asked = {"now": NOW, **{at: then(at) for at in ("2026-03-05T14:19:59Z", "2026-03-05T14:20:00Z")}}
    assert {at: said(show(memory.store, "orders", when)) for at, when in asked.items()} == {
        "now": ["owner: lena"],
        "2026-03-05T14:19:59Z": ["owner: jonas"],
        "2026-03-05T14:20:00Z": ["owner: lena"],
    }
    known_early = show(memory.store, "orders", then("2026-03-05T20:00:00Z", known=True))
    assert said(known_early) == ["owner: jonas"]


def test_what_is_gone_has_nothing_current(memory: Memory) -> None:
    memory.remember([mcp(ORDERS, "ownership", owners("jonas"))], at=MONDAY)
    memory.remember([mcp(ORDERS, "status", status(removed=True))], at=TUESDAY)
    gone = show(memory.store, "orders", NOW)
    assert (gone.exists, said(gone), [belief.statement for belief in gone.last_held]) == (False, [], ["owner: jonas"])
    assert [presence.since_text for presence in gone.presence] == ["between 2026-03-02 08:00 and 2026-03-03 08:00"]
    assert said(show(memory.store, "orders", then("2026-03-02T12:00:00Z"))) == ["owner: jonas"]
    memory.remember([mcp(ORDERS, "status", status())], at=FRIDAY)
    assert said(show(memory.store, "orders", NOW)) == ["owner: jonas"]
    assert said(show(memory.store, "orders", then("2026-03-04T00:00:00Z"))) == []


def test_an_edit_of_a_column_stands_over_the_source(memory: Memory) -> None:
    edited = {"editableSchemaFieldInfo": [{"fieldPath": "id", "description": "By hand"}]}
    memory.remember(
        [
            mcp(ORDERS, "schemaMetadata", schema(("id", "int", "By machine"))),
            mcp(ORDERS, "editableSchemaMetadata", edited),
        ],
        at=MONDAY,
    )
    (column,) = show(memory.store, "orders", NOW).columns
    assert (column.key, column.type, column.text, column.source_text) == ("id", "int", "By hand", "By machine")


def test_neighbours_above_and_those_that_exist_below(memory: Memory) -> None:
    report = dataset("shop.report")
    memory.remember(
        [mcp(FACTS, "upstreamLineage", lineage([ORDERS])), mcp(report, "upstreamLineage", lineage([FACTS]))], at=MONDAY
    )
    page = show(memory.store, "facts", NOW)
    assert [(one.name, one.known) for one in page.upstreams] == [("shop.public.orders", False)]
    assert [one.name for one in page.downstreams] == ["shop.report"]
    memory.remember([mcp(report, "status", status(removed=True))], at=TUESDAY)
    assert show(memory.store, "facts", NOW).downstreams == ()


def test_sources_that_disagree_stand_beside_each_other(memory: Memory) -> None:
    for source, owner in (("east", "jonas"), ("west", "lena")):
        memory.remember(
            [mcp(ORDERS, "ownership", owners(owner)), mcp(ORDERS, "datasetProperties", text("Alike"))],
            at=MONDAY,
            source=source,
        )
    (place,) = show(memory.store, "orders", NOW).disagreements
    assert (place.aspect, [(one.source, one.statement) for one in place.said]) == (
        "ownership",
        [("east", "owner: jonas"), ("west", "owner: lena")],
    )


def test_an_entity_exists_while_one_source_says_so(memory: Memory) -> None:
    for source in ("east", "west"):
        memory.remember([mcp(ORDERS, "ownership", owners(source))], at=MONDAY, source=source)
    memory.remember([mcp(ORDERS, "status", status(removed=True))], at=TUESDAY, source="east")
    page = show(memory.store, "orders", NOW)
    assert (page.exists, said(page)) == (True, ["owner: west"])
    assert [(one.source, one.exists) for one in page.presence] == [("east", False), ("west", True)]


def test_the_label_counts_beliefs_and_revisions(memory: Memory) -> None:
    memory.remember([mcp(ORDERS, "ownership", owners("jonas"))], at=MONDAY)
    memory.remember([mcp(ORDERS, "ownership", owners("lena"))], at=FRIDAY)
    assert show(memory.store, "orders", NOW).label == "Agent memory: 2 beliefs, 1 revision (latest 2026-03-06)"


def test_the_listing_is_narrowed_bounded_and_current(memory: Memory) -> None:
    carts = dataset("shop.carts", "kafka")
    memory.remember([mcp(one, "ownership", owners("jonas")) for one in (ORDERS, FACTS, carts)], at=MONDAY)
    memory.remember([mcp(ORDERS, "ownership", owners("lena")), mcp(FACTS, "status", status(removed=True))], at=TUESDAY)

    def listed(when: When = NOW, **narrowed: object) -> set[tuple[str, str]]:
        request = BeliefsRequest(aspect="ownership", **narrowed)  # type: ignore[arg-type]
        return {(one.belief.urn, one.belief.statement) for one in beliefs(memory.store, request, when).beliefs}

    assert listed() == {(ORDERS, "owner: lena"), (carts, "owner: jonas")}
    assert listed(platform="kafka") == {(carts, "owner: jonas")}
    assert listed(entity="orders") == {(ORDERS, "owner: lena")}
    assert listed(source="nobody") == set()
    assert listed(state=State.SUPERSEDED) == {(ORDERS, "owner: jonas")}
    assert listed(then("2026-03-02T12:00:00Z")) == {(one, "owner: jonas") for one in (ORDERS, FACTS, carts)}
    assert listed(then("2026-03-02T12:00:00Z", known=True)) == {(one, "owner: jonas") for one in (ORDERS, FACTS, carts)}
    bounded = beliefs(memory.store, BeliefsRequest(limit=2), NOW)
    assert (len(bounded.beliefs), bounded.more) == (2, True)


def test_a_listing_longer_than_a_page_is_whole(memory: Memory) -> None:
    wide = schema(*((f"c{number:04}", "int") for number in range(2_500)))
    memory.remember([mcp(ORDERS, "schemaMetadata", wide)], at=MONDAY)
    view = beliefs(memory.store, BeliefsRequest(aspect="column", limit=0), NOW)
    assert (len({one.belief.key for one in view.beliefs}), view.more) == (2_500, False)


def test_the_neighbours_of_then_are_those_of_then(memory: Memory) -> None:
    memory.remember([mcp(ORDERS, "status", status()), mcp(FACTS, "upstreamLineage", lineage([ORDERS]))], at=MONDAY)
    memory.remember([mcp(FACTS, "upstreamLineage", lineage([]))], at=TUESDAY)
    assert show(memory.store, "orders", NOW).downstreams == ()
    before = show(memory.store, "orders", then("2026-03-02T12:00:00Z"))
    assert [one.name for one in before.downstreams] == ["shop.facts"]
    assert [one.name for one in show(memory.store, "facts", then("2026-03-02T12:00:00Z")).upstreams] == [
        "shop.public.orders"
    ]
