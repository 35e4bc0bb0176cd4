"""stale: findings of the whole store and of one entity, each with the beliefs that show it; first readings are none."""

from __future__ import annotations

from pathlib import Path

import pytest

from palimpsest.core.ids import short_ref
from palimpsest.core.moment import parse
from palimpsest.core.stale import Kind
from palimpsest.queries.brief import brief
from palimpsest.queries.held import When
from palimpsest.queries.show import show
from palimpsest.queries.stale import StaleRequest, StaleView, stale
from tests.building import Memory, Record, dataset, lineage, mcp, owners, schema, status, text

pytestmark = pytest.mark.usefixtures("dialect")

ORDERS, FACTS, REPORT = (dataset(f"shop.{name}") for name in ("orders", "facts", "report"))
MIRA = "urn:li:corpuser:mira"
MONDAY, TUESDAY, FRIDAY = "2026-03-02T08:00:00Z", "2026-03-03T08:00:00Z", "2026-03-06T08:00:00Z"
NOW = When(now=parse("2026-03-07T08:00:00Z"))


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return Memory(tmp_path)


def catalog() -> list[Record]:
    """orders of mira and jonas, described; facts, made from it, of both; report, made from facts, of jonas."""
    return [
        mcp(ORDERS, "datasetProperties", text("Every order")),
        mcp(ORDERS, "schemaMetadata", schema(("id", "int"), ("discount", "numeric"))),
        mcp(ORDERS, "ownership", owners("mira", "jonas")),
        mcp(FACTS, "datasetProperties", text("Facts")),
        mcp(FACTS, "ownership", owners("mira", "jonas")),
        mcp(FACTS, "upstreamLineage", lineage([ORDERS])),
        mcp(REPORT, "datasetProperties", text("Report")),
        mcp(REPORT, "ownership", owners("jonas")),
        mcp(REPORT, "upstreamLineage", lineage([FACTS])),
    ]


def asked(memory: Memory, **narrowed: object) -> StaleView:
    return stale(memory.store, StaleRequest(**narrowed), NOW)  # type: ignore[arg-type]


def lines(memory: Memory, **narrowed: object) -> list[str]:
    return [one.line for one in asked(memory, **narrowed).findings]


def ref(memory: Memory, urn: str, aspect: str, key: str = "") -> str:
    ids = memory.store.ids
    return short_ref(ids.belief(ids.entity(urn), "file", aspect, key))


def test_a_catalog_that_was_read_once_and_fits_has_no_finding(memory: Memory) -> None:
    memory.remember(catalog(), at=MONDAY)
    assert lines(memory) == []


def test_a_description_is_older_than_a_later_change_of_a_column_or_of_what_a_table_is_made_from(memory: Memory) -> None:
    memory.remember(catalog(), at=MONDAY)
    memory.remember(
        [
            mcp(ORDERS, "schemaMetadata", schema(("id", "int"), ("discount", "numeric"), ("tax", "numeric"))),
            mcp(REPORT, "upstreamLineage", lineage([ORDERS])),
        ],
        at=TUESDAY,
    )
    view = asked(memory)
    assert [one.line for one in view.findings] == [
        "report: description since 2026-03-02 is older than 1 later change: upstreams changed 2026-03-03",
        "orders: description since 2026-03-02 is older than 1 later change: column tax added 2026-03-03",
    ]
    assert view.findings[1].refs == (ref(memory, ORDERS, "description", "source"), ref(memory, ORDERS, "column", "tax"))
    assert view.findings[1].downstream == 2
    assert view.findings[1].owners == ("jonas", "mira")


def test_a_column_of_an_upstream_that_breaks_makes_the_descriptions_of_its_direct_readers_old(memory: Memory) -> None:
    memory.remember(catalog(), at=MONDAY)
    memory.remember([mcp(ORDERS, "schemaMetadata", schema(("id", "int")))], at=TUESDAY)
    changed = "description since 2026-03-02 is older than 1 later change"
    assert lines(memory) == [
        f"orders: {changed}: column discount gone 2026-03-03",
        f"facts: {changed}: upstream orders: column discount gone 2026-03-03",
    ]


def test_a_description_that_is_written_anew_or_in_the_same_reading_is_not_old(memory: Memory) -> None:
    memory.remember(catalog(), at=MONDAY)
    dropped = mcp(ORDERS, "schemaMetadata", schema(("id", "int")))
    memory.remember([dropped, mcp(ORDERS, "datasetProperties", text("No discount any more"))], at=TUESDAY)
    assert lines(memory, owner="mira") == [
        "facts: description since 2026-03-02 is older than 1 later change: "
        "upstream orders: column discount gone 2026-03-03"
    ]
    memory.remember([mcp(FACTS, "datasetProperties", text("Facts without discounts"))], at=FRIDAY)
    assert lines(memory) == []


def test_a_text_or_a_first_statement_of_columns_makes_no_description_old(memory: Memory) -> None:
    memory.remember(catalog(), at=MONDAY)
    memory.remember(
        [
            mcp(ORDERS, "schemaMetadata", schema(("id", "int", "Counts up"), ("discount", "numeric"))),
            mcp(REPORT, "schemaMetadata", schema(("sum", "numeric"))),
        ],
        at=TUESDAY,
    )
    assert lines(memory) == []


def test_an_owner_who_left_everything_else_is_told_and_one_whose_other_tables_went_owns_nothing_else(
    memory: Memory,
) -> None:
    memory.remember(catalog(), at=MONDAY)
    memory.remember([mcp(FACTS, "ownership", owners("jonas"))], at=TUESDAY)
    assert lines(memory) == [
        "orders: owner mira no longer owns the only other one of before, the last until 2026-03-03"
    ]
    memory.remember([mcp(FACTS, "status", status(removed=True))], at=FRIDAY)
    assert lines(memory, kinds=(Kind.OWNER,)) == ["orders: owner mira owns nothing else"]


def test_what_is_gone_or_deprecated_and_still_read_is_told_with_who_reads_it(memory: Memory) -> None:
    memory.remember(catalog(), at=MONDAY)
    memory.remember([mcp(FACTS, "deprecation", {"deprecated": True, "note": "", "actor": MIRA})], at=TUESDAY)
    memory.remember([mcp(ORDERS, "status", status(removed=True))], at=FRIDAY)
    view = asked(memory, kinds=(Kind.READ,))
    assert [one.line for one in view.findings] == [
        "orders: gone since 2026-03-06 and still read by 1: facts",
        "facts: deprecated and still read by 1: report",
    ]
    assert view.findings[0].refs == (ref(memory, ORDERS, "existence"), ref(memory, FACTS, "upstreams"))
    memory.remember([mcp(FACTS, "upstreamLineage", lineage([]))], at="2026-03-07T07:00:00Z")
    assert lines(memory, kinds=(Kind.READ,)) == ["facts: deprecated and still read by 1: report"]


def test_what_lacks_an_owner_or_a_description_comes_by_what_depends_on_it(memory: Memory) -> None:
    records = [
        one
        for one in catalog()
        if (one["entityUrn"], one["aspectName"]) not in {(REPORT, "ownership"), (ORDERS, "datasetProperties")}
    ]
    memory.remember(records, at=MONDAY)
    view = asked(memory, kinds=(Kind.LACKING,))
    assert [(one.line, one.downstream, one.at) for one in view.findings] == [
        ("orders: no description", 2, None),
        ("report: no owner", 0, None),
    ]
    assert view.findings[0].refs == (ref(memory, ORDERS, "existence"), ref(memory, FACTS, "upstreams"))
    memory.remember([mcp(FACTS, "ownership", {"owners": []})], at=TUESDAY)
    assert "facts: no owner since 2026-03-03" in lines(memory, kinds=(Kind.LACKING,))


def test_a_source_that_never_tells_owners_leaves_nothing_without_one(memory: Memory) -> None:
    memory.remember([one for one in catalog() if one["aspectName"] != "ownership"], at=MONDAY)
    assert lines(memory) == []


def test_findings_are_narrowed_cut_and_counted(memory: Memory) -> None:
    kafka = dataset("shop.topic", "kafka")
    memory.remember([*catalog(), mcp(kafka, "status", status()), mcp(dataset("x"), "status", status())], at=MONDAY)
    view = asked(memory, most=1)
    assert [(one.kind, one.found, one.shown) for one in view.kinds] == [
        ("read", 0, 0),
        ("owner", 0, 0),
        ("description", 0, 0),
        ("lacking", 2, 1),
    ]
    assert lines(memory, platform="kafka") == ["topic: no owner and no description"]
    assert lines(memory, owner="mira") == []
    assert asked(memory) == asked(memory)


def test_show_and_brief_tell_what_is_stale_of_one_entity_with_the_same_evidence(memory: Memory) -> None:
    memory.remember(catalog(), at=MONDAY)
    memory.remember([mcp(ORDERS, "schemaMetadata", schema(("id", "int")))], at=TUESDAY)
    (of_store,) = [one for one in asked(memory).findings if one.urn == ORDERS]
    (shown,) = show(memory.store, "orders", NOW).stale
    assert (shown.said, shown.refs) == (of_store.said, of_store.refs)
    told = brief(memory.store, ["orders"], 2_000, NOW)
    assert f'- stale: "{shown.said}" [{shown.refs[0]}] [{shown.refs[1]}]' in told.text.splitlines()
    before = When(now=NOW.now, as_of=parse(MONDAY))
    assert show(memory.store, "orders", before).stale == ()
    assert "stale" not in brief(memory.store, ["orders"], 2_000, before).text


def test_show_tells_who_still_reads_what_is_gone(memory: Memory) -> None:
    memory.remember(catalog(), at=MONDAY)
    memory.remember([mcp(ORDERS, "status", status(removed=True))], at=FRIDAY)
    (found,) = show(memory.store, "orders", NOW).stale
    assert found.line == "orders: gone since 2026-03-06 and still read by 1: facts"
