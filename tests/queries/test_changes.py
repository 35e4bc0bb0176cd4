"""changes: the line of each change, what is downstream, folding, grouping, hints, and what is not shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from palimpsest.core.aspects import Impact
from palimpsest.core.errors import UsageError
from palimpsest.core.moment import Moment, parse
from palimpsest.queries.changes import ChangesRequest, ChangesView, changes, since_of
from palimpsest.queries.held import When
from tests.building import (
    Memory,
    Record,
    column_of,
    dataset,
    lineage,
    mcp,
    owners,
    schema,
    siblings,
    status,
    tags,
    text,
)

pytestmark = pytest.mark.usefixtures("dialect")

ORDERS = dataset("shop.public.orders")
MONDAY, TUESDAY, FRIDAY = "2026-03-02T08:00:00Z", "2026-03-03T08:00:00Z", "2026-03-06T08:00:00Z"
NOW = parse("2026-03-07T08:00:00Z")


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return Memory(tmp_path)


def asked(memory: Memory, since: str = "last", when: When | None = None, **narrowed: object) -> ChangesView:
    request = ChangesRequest(since=since, **narrowed)  # type: ignore[arg-type]
    return changes(memory.store, request, when or When(now=NOW))


def test_a_change_says_what_was_what_is_now_since_when_and_by_whom(memory: Memory) -> None:
    memory.remember([mcp(ORDERS, "ownership", owners("jonas"))], at=MONDAY)
    memory.remember([mcp(ORDERS, "ownership", owners("lena", at="2026-03-05T14:20:00Z", by="mira"))], at=FRIDAY)
    assert asked(memory).lines == ("orders: owner was jonas, now lena, since 2026-03-05 14:20, by mira",)


def test_without_a_stamp_it_is_between_two_readings_and_an_ingestion_is_nobody(memory: Memory) -> None:
    memory.remember([mcp(ORDERS, "ownership", owners("jonas"))], at=MONDAY)
    memory.remember([mcp(ORDERS, "ownership", owners("lena", by="datahub"))], at=FRIDAY)
    assert asked(memory).lines == ("orders: owner was jonas, now lena, between 2026-03-02 08:00 and 2026-03-06 08:00",)


def test_a_first_reading_is_no_change(memory: Memory) -> None:
    memory.remember([mcp(ORDERS, "ownership", owners("jonas")), mcp(ORDERS, "globalTags", tags("gold"))], at=MONDAY)
    view = asked(memory, since="2026-01-01")
    assert (view.lines, view.changes, view.quiet, view.first_stated, view.pending) == ((), (), 0, 0, 0)


def star(columns: bool = True) -> list[Record]:
    """orders, read by facts and report; by column, or as whole tables."""
    facts, report = dataset("shop.facts"), dataset("shop.report")
    by_column = [(ORDERS, "discount", "net")] if columns else []
    further = [(facts, "net", "sum")] if columns else []
    return [
        mcp(ORDERS, "schemaMetadata", schema(("id", "int"), ("discount", "numeric"))),
        mcp(facts, "schemaMetadata", schema(("net", "numeric"))),
        mcp(report, "schemaMetadata", schema(("sum", "numeric"))),
        mcp(facts, "upstreamLineage", lineage([ORDERS], by_column, facts)),
        mcp(report, "upstreamLineage", lineage([facts], further, report)),
    ]


def test_a_column_that_breaks_counts_what_reads_it_by_column_all_the_way_down(memory: Memory) -> None:
    memory.remember(star(), at=MONDAY)
    memory.remember([mcp(ORDERS, "schemaMetadata", schema(("id", "int")))], at=TUESDAY)
    assert asked(memory).lines == (
        "orders.discount: column gone (breaking, 2 downstream), between 2026-03-02 08:00 and 2026-03-03 08:00",
    )


def test_a_column_without_lineage_by_column_counts_the_direct_readers_of_its_table(memory: Memory) -> None:
    memory.remember(star(columns=False), at=MONDAY)
    memory.remember([mcp(ORDERS, "schemaMetadata", schema(("id", "int")))], at=TUESDAY)
    assert asked(memory).changes[0].downstream == 1


def test_a_column_that_nobody_reads_has_nothing_downstream_where_others_are_read_by_column(memory: Memory) -> None:
    memory.remember(star(), at=MONDAY)
    memory.remember([mcp(ORDERS, "schemaMetadata", schema(("discount", "numeric")))], at=TUESDAY)
    assert [(change.key, change.downstream) for change in asked(memory).changes] == [("id", 0)]


def test_only_what_exists_is_downstream(memory: Memory) -> None:
    memory.remember(star(columns=False), at=MONDAY)
    memory.remember([mcp(dataset("shop.facts"), "status", status(removed=True))], at=TUESDAY)
    memory.remember([mcp(ORDERS, "status", status(removed=True))], at=FRIDAY)
    assert asked(memory).lines == (
        "orders: gone (soft-deleted) (breaking, 0 downstream), between 2026-03-02 08:00 and 2026-03-06 08:00",
    )


def test_everything_downstream_of_a_table_counts_when_it_goes(memory: Memory) -> None:
    memory.remember(star(columns=False), at=MONDAY)
    memory.remember([mcp(ORDERS, "status", status(removed=True))], at=FRIDAY)
    assert asked(memory).changes[0].downstream == 2


def test_lineage_that_goes_round_is_walked_once(memory: Memory) -> None:
    facts = dataset("shop.facts")
    memory.remember(
        [
            mcp(ORDERS, "upstreamLineage", lineage([facts])),
            mcp(facts, "upstreamLineage", lineage([ORDERS])),
            mcp(ORDERS, "schemaMetadata", schema(("id", "int"), ("discount", "numeric"))),
        ],
        at=MONDAY,
    )
    memory.remember([mcp(ORDERS, "status", status(removed=True))], at=FRIDAY)
    assert asked(memory).changes[0].downstream == 1


def test_the_weightiest_come_first_then_by_entity(memory: Memory) -> None:
    carts = dataset("shop.public.carts")
    before = [mcp(one, "datasetProperties", text("Old")) for one in (ORDERS, carts)]
    after = [mcp(one, "datasetProperties", text("New")) for one in (ORDERS, carts)]
    memory.remember([*before, mcp(ORDERS, "globalTags", tags("gold"))], at=MONDAY)
    memory.remember([*after, mcp(ORDERS, "globalTags", tags("pii"))], at=TUESDAY)
    span = ", between 2026-03-02 08:00 and 2026-03-03 08:00"
    assert asked(memory).lines == (
        f"orders: tag was gold, now pii{span}",
        f"carts: description was Old, now New{span}",
        f"orders: description was Old, now New{span}",
    )
    assert len(asked(memory, impact=Impact.NOTABLE).lines) == 1
    assert len(asked(memory, aspect="description").lines) == 2
    assert len(asked(memory, entity="carts").lines) == 1
    assert asked(memory, platform="kafka").lines == ()


def test_the_same_change_of_siblings_is_one_line_that_names_both(memory: Memory) -> None:
    model, table = dataset("shop.orders", "dbt"), dataset("shop.orders", "snowflake")
    pair = [mcp(model, "siblings", siblings(table, primary=True)), mcp(table, "siblings", siblings(model))]
    memory.remember([*pair, *(mcp(one, "globalTags", tags("gold")) for one in (model, table))], at=MONDAY)
    memory.remember([mcp(one, "globalTags", tags("pii")) for one in (model, table)], at=TUESDAY)
    view = asked(memory)
    assert view.lines == (
        "orders (dbt and snowflake): tag was gold, now pii, between 2026-03-02 08:00 and 2026-03-03 08:00",
    )
    assert {view.changes[0].urn, *view.changes[0].siblings} == {model, table}


def test_the_same_change_of_strangers_stays_two_lines_told_apart_by_platform(memory: Memory) -> None:
    model, table = dataset("shop.orders", "dbt"), dataset("shop.orders", "snowflake")
    memory.remember([mcp(one, "globalTags", tags("gold")) for one in (model, table)], at=MONDAY)
    memory.remember([mcp(one, "globalTags", tags("pii")) for one in (model, table)], at=TUESDAY)
    span = ", between 2026-03-02 08:00 and 2026-03-03 08:00"
    assert asked(memory).lines == (
        f"orders (dbt): tag was gold, now pii{span}",
        f"orders (snowflake): tag was gold, now pii{span}",
    )


def test_the_same_change_on_many_entities_is_one_line_when_grouped(memory: Memory) -> None:
    tables = [dataset(f"shop.t{number:02}") for number in range(5)]
    memory.remember([mcp(one, "ownership", owners("jonas")) for one in tables], at=MONDAY)
    memory.remember(
        [mcp(one, "ownership", owners("lena", at="2026-03-02T09:00:00Z", by="mira")) for one in tables], at=TUESDAY
    )
    assert len(asked(memory).lines) == 5
    view = asked(memory, grouped=True)
    assert view.lines == ("owner was jonas, now lena on 5 datasets: t00, t01, t02 and 2 more, by mira",)
    assert view.groups[0].urns == tuple(tables)


def test_a_new_entity_is_one_line(memory: Memory) -> None:
    memory.remember([mcp(ORDERS, "status", status())], at=MONDAY)
    refunds = dataset("shop.public.refunds")
    memory.remember(
        [mcp(ORDERS, "status", status()), mcp(refunds, "schemaMetadata", schema(("id", "int"), ("amount", "int")))],
        at=TUESDAY,
    )
    view = asked(memory)
    assert view.lines == ("refunds: new, between 2026-03-02 08:00 and 2026-03-03 08:00",)
    assert view.first_stated == 0


def test_a_column_that_may_have_a_new_name_is_a_hint(memory: Memory) -> None:
    memory.remember([mcp(ORDERS, "schemaMetadata", schema(("id", "int"), ("user_id", "uuid", "Who")))], at=MONDAY)
    memory.remember([mcp(ORDERS, "schemaMetadata", schema(("id", "int"), ("customer", "uuid", "Who")))], at=TUESDAY)
    span = "between 2026-03-02 08:00 and 2026-03-03 08:00"
    assert asked(memory).lines == (
        f"orders.user_id: column gone (breaking, 0 downstream), {span}; possibly renamed to customer",
        f"orders.customer: column added (uuid), {span}; possible rename of user_id",
    )


def test_a_table_that_may_have_a_new_name_is_a_hint(memory: Memory) -> None:
    columns = schema(("id", "int"), ("total", "int"))
    purchases = dataset("shop.public.purchases")
    memory.remember([mcp(ORDERS, "schemaMetadata", columns)], at=MONDAY)
    memory.remember(
        [mcp(ORDERS, "status", status(removed=True)), mcp(purchases, "schemaMetadata", columns)], at=TUESDAY
    )
    assert [(change.urn, change.hint) for change in asked(memory).changes] == [
        (ORDERS, "possibly renamed to shop.public.purchases"),
        (purchases, "possible rename of shop.public.orders"),
    ]


def test_tables_with_other_columns_are_no_rename(memory: Memory) -> None:
    memory.remember([mcp(ORDERS, "schemaMetadata", schema(("id", "int"), ("total", "int")))], at=MONDAY)
    other = mcp(dataset("shop.public.other"), "schemaMetadata", schema(("id", "int"), ("sum", "int")))
    memory.remember([mcp(ORDERS, "status", status(removed=True)), other], at=TUESDAY)
    assert [change.hint for change in asked(memory).changes] == ["", ""]


def test_what_is_not_shown_is_counted(memory: Memory) -> None:
    memory.remember([mcp(ORDERS, "schemaMetadata", schema(("id", "varchar")))], at=MONDAY)
    memory.remember(
        [mcp(ORDERS, "schemaMetadata", schema(("id", "text"))), mcp(ORDERS, "globalTags", tags("gold"))], at=TUESDAY
    )
    memory.scan([mcp(ORDERS, "globalTags", tags("pii"))], at=FRIDAY)
    view = asked(memory, since="2026-03-01")
    assert (view.lines, view.quiet, view.first_stated, view.pending) == ((), 1, 1, 1)
    assert asked(memory, since="2026-03-01", quiet_too=True).lines == (
        "orders.id: type was varchar, now text, between 2026-03-02 08:00 and 2026-03-03 08:00",
    )
    assert asked(memory, since="2026-03-01", first_stated=True).lines == ("orders: tag: gold (stated first)",)


def test_last_is_since_the_reading_before_the_newest(memory: Memory) -> None:
    for number, (owner, at) in enumerate((("a", MONDAY), ("b", TUESDAY), ("c", FRIDAY))):
        memory.remember([mcp(ORDERS, "ownership", owners(owner))], at=at)
        assert len(asked(memory).lines) == min(number, 1)
    assert len(asked(memory, since="2026-03-01").lines) == 2
    assert len(asked(memory, since="2026-03-01", until="2026-03-03").lines) == 1
    assert len(asked(memory, since="2d").lines) == 1
    memory.remember([mcp(ORDERS, "ownership", owners("c"))], at="2026-03-07T08:00:00Z")
    assert asked(memory).lines == ()


def test_what_was_not_known_yet_is_not_answered(memory: Memory) -> None:
    memory.remember([mcp(ORDERS, "ownership", owners("jonas"))], at=MONDAY)
    memory.scan([mcp(ORDERS, "ownership", owners("lena"))], at=TUESDAY)
    memory.consolidate(at=FRIDAY)
    assert len(asked(memory).lines) == 1
    early = When(now=NOW, known_at=parse("2026-03-04T00:00:00Z"))
    assert asked(memory, when=early).lines == ()


def test_two_sources_are_told_apart(memory: Memory) -> None:
    for source in ("east", "west"):
        memory.remember([mcp(ORDERS, "ownership", owners("jonas"))], at=MONDAY, source=source)
    for source in ("east", "west"):
        memory.remember([mcp(ORDERS, "ownership", owners("lena"))], at=TUESDAY, source=source)
    span = "between 2026-03-02 08:00 and 2026-03-03 08:00"
    assert asked(memory).lines == (
        f"orders: owner was jonas, now lena, {span} [east]",
        f"orders: owner was jonas, now lena, {span} [west]",
    )
    assert asked(memory, source="west").lines == (f"orders: owner was jonas, now lena, {span}",)
    with pytest.raises(UsageError, match="no source 'north'"):
        asked(memory, source="north")


@pytest.mark.parametrize(
    ("said", "meant"),
    [("last", None), ("7d", NOW - 7 * 86_400_000), ("24h", NOW - 86_400_000), ("2026-03-02T08:00:00Z", parse(MONDAY))],
)
def test_since_takes_spans_and_times(said: str, meant: Moment | None) -> None:
    assert since_of(said, NOW) == meant


def test_since_refuses_what_is_no_time() -> None:
    with pytest.raises(UsageError, match="'soon' is no time to look back to"):
        since_of("soon", NOW)


def test_a_path_in_two_spellings_is_one_column_of_lineage(memory: Memory) -> None:
    facts = dataset("shop.facts")
    body = lineage([ORDERS], [(ORDERS, "discount", "net")], facts)
    body["fineGrainedLineages"][0]["upstreams"] = [
        column_of(ORDERS, "[version=2.0].[type=struct].[type=double].discount")
    ]
    memory.remember(
        [
            mcp(ORDERS, "schemaMetadata", schema(("id", "int"), ("discount", "numeric"))),
            mcp(facts, "upstreamLineage", body),
        ],
        at=MONDAY,
    )
    memory.remember([mcp(ORDERS, "schemaMetadata", schema(("id", "int")))], at=TUESDAY)
    assert asked(memory).changes[0].downstream == 1
