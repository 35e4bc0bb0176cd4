"""PATCH records: a member comes or goes on top of what is held, in reading order, and twice the same writes nothing."""

from __future__ import annotations

import pytest

from palimpsest.core.moment import parse
from tests.building import dataset, lineage, mcp, owners, tags, text

URN = dataset("orders")
UP, OTHER = dataset("raw_orders"), dataset("raw_items")


def patch(urn: str, aspect: str, *operations: tuple[str, str, object]):
    """A PATCH record of (op, path, value)."""
    steps = [{"op": op, "path": path} | ({} if op == "remove" else {"value": value}) for op, path, value in operations]
    return mcp(urn, aspect, steps, change="PATCH")


def tag(op: str, name: str):
    """A PATCH of one tag."""
    urn = f"urn:li:tag:{name}"
    return patch(URN, "globalTags", (op, f"/tags/{urn}", {"tag": urn}))


def upstream(op: str, urn: str):
    """A PATCH of one upstream."""
    return patch(URN, "upstreamLineage", (op, f"/upstreams/{urn}", {"dataset": urn, "type": "TRANSFORMED"}))


def column_lineage(op: str, own: str, urn: str, path: str):
    """A PATCH of one source column of one column."""
    down, up = (f"urn:li:schemaField:({of},{column})" for of, column in ((URN, own), (urn, path)))
    return patch(URN, "upstreamLineage", (op, f"/fineGrainedLineages/NONE/{down}/NONE/{up}", {"confidenceScore": 1.0}))


def held(memory, aspect: str, key: str = ""):
    """What is currently held of the dataset."""
    return memory.current().get((URN, aspect, key))


def names(value) -> list[str]:
    """The last parts of the members of a set."""
    members = value["at_least"] if isinstance(value, dict) else value
    return [member[0].rsplit(":", 1)[-1] for member in members]


def test_with_nothing_held_a_set_is_at_least_what_was_added(memory):
    memory.remember([tag("add", "pii"), tag("add", "gold")], at="2026-01-01")
    assert held(memory, "tags") == {"at_least": [["urn:li:tag:gold"], ["urn:li:tag:pii"]]}


def test_members_come_and_go_in_reading_order(memory):
    memory.remember([tag("add", "pii"), tag("remove", "pii"), tag("add", "gold")], at="2026-01-01")
    assert names(held(memory, "tags")) == ["gold"]


def test_what_comes_and_goes_where_nothing_is_held_is_not_held(memory):
    report = memory.remember([tag("add", "pii"), tag("remove", "pii")], at="2026-01-01")
    assert (report.by_aspect, held(memory, "tags")) == ({"existence": 1}, None)


def test_a_patch_stands_on_what_is_held_whole(memory):
    memory.remember([mcp(URN, "globalTags", tags("a", "b"))], at="2026-01-01")
    report = memory.remember([tag("add", "c"), tag("remove", "a"), tag("remove", "never-there")], at="2026-01-02")
    assert (report.written, held(memory, "tags")) == (1, [["urn:li:tag:b"], ["urn:li:tag:c"]])


def test_the_same_patch_twice_writes_nothing(memory):
    records = [tag("add", "pii"), upstream("add", UP), column_lineage("add", "id", UP, "id")]
    memory.remember(records, at="2026-01-01")
    before = memory.dump()
    assert memory.remember(records, at="2026-01-02").written == 0
    assert memory.dump() == before


def test_what_was_known_in_part_becomes_known_whole_without_a_change(memory):
    memory.remember([tag("add", "pii")], at="2026-01-01")
    report = memory.remember([mcp(URN, "globalTags", tags("pii", "gold"))], at="2026-01-02")
    assert (report.changes, report.quiet) == ({}, 1)
    assert held(memory, "tags") == [["urn:li:tag:gold"], ["urn:li:tag:pii"]]


def test_an_upsert_after_a_patch_in_one_file_is_what_counts(memory):
    memory.remember([tag("add", "pii"), mcp(URN, "globalTags", tags("gold"))], at="2026-01-01")
    assert held(memory, "tags") == [["urn:li:tag:gold"]]


def test_a_patch_after_an_upsert_in_one_file_stands_on_it(memory):
    records = [mcp(URN, "globalTags", tags("gold")), tag("add", "pii")]
    memory.remember(records, at="2026-01-01")
    assert held(memory, "tags") == [["urn:li:tag:gold"], ["urn:li:tag:pii"]]
    before = memory.dump()
    assert memory.remember(records, at="2026-01-02").written == 0
    assert memory.dump() == before


def test_a_patch_after_an_unchanged_empty_upsert_is_known_whole(memory):
    nothing = mcp(URN, "globalTags", tags())
    memory.remember([nothing], at="2026-01-01")
    for day in ("2026-01-02", "2026-01-03"):
        memory.remember([nothing, tag("add", "pii")], at=day)
    assert [one.value for one in memory.versions() if one.aspect == "tags"] == [[["urn:li:tag:pii"]]]


def test_the_same_upsert_with_another_patch_stands_on_the_upsert_and_not_on_the_old_patch(memory):
    memory.remember([mcp(URN, "globalTags", tags("gold")), tag("add", "pii")], at="2026-01-01")
    memory.remember([mcp(URN, "globalTags", tags("gold")), tag("add", "raw")], at="2026-01-02")
    assert held(memory, "tags") == [["urn:li:tag:gold"], ["urn:li:tag:raw"]]


def test_the_same_upsert_again_undoes_a_patch_that_came_between(memory):
    whole = mcp(URN, "globalTags", tags("gold"))
    memory.remember([whole], at="2026-01-01")
    memory.remember([tag("add", "pii")], at="2026-01-02")
    report = memory.remember([whole], at="2026-01-03")
    assert (report.written, held(memory, "tags")) == (1, [["urn:li:tag:gold"]])
    assert memory.remember([whole], at="2026-01-04").written == 0


def test_lineage_that_arrives_only_by_patch_is_held_and_a_whole_statement_ends_what_it_lacks(memory):
    patches = [upstream("add", UP), column_lineage("add", "id", UP, "id"), column_lineage("add", "sku", OTHER, "sku")]
    memory.remember(patches, at="2026-01-01")
    assert held(memory, "upstreams") == {"at_least": [[UP, "TRANSFORMED"]]}
    assert held(memory, "column_upstreams", "id") == {"at_least": [[UP, "id", ""]]}

    whole = mcp(URN, "upstreamLineage", lineage([UP], [(UP, "id", "id")], URN))
    report = memory.remember([whole], at="2026-01-02")

    assert held(memory, "column_upstreams", "id") == [[UP, "id", ""]]
    assert held(memory, "column_upstreams", "sku") is None
    assert [(one.aspect, one.key, one.ground) for one in memory.changes(report.run)] == [
        ("column_upstreams", "sku", "unlisted")
    ]


def test_a_whole_statement_and_a_patch_of_a_column_it_does_not_list_are_the_patch_alone(memory):
    memory.remember([mcp(URN, "upstreamLineage", lineage([UP], [(UP, "id", "id")], URN))], at="2026-01-01")
    memory.remember(
        [mcp(URN, "upstreamLineage", lineage([UP, OTHER])), column_lineage("add", "id", OTHER, "key")],
        at="2026-01-02",
    )
    assert held(memory, "column_upstreams", "id") == [[OTHER, "key", ""]]


def test_a_column_is_found_under_the_name_it_is_held_by(memory):
    memory.remember([column_lineage("add", "Id", UP, "id")], at="2026-01-01")
    v2 = "[version=2.0].[type=struct].[type=string].id"
    report = memory.remember([column_lineage("add", v2, UP, "[version=2.0].[type=int].id")], at="2026-01-02")
    assert (report.written, held(memory, "column_upstreams", "Id")) == (0, {"at_least": [[UP, "id", ""]]})


def test_properties_come_change_and_go_by_name(memory):
    memory.remember([mcp(URN, "datasetProperties", text("Orders") | {"customProperties": {"a": "1"}})], at="2026-01-01")
    report = memory.remember(
        [
            patch(
                URN,
                "datasetProperties",
                ("add", "/customProperties/b~1c", "2"),
                ("add", "/customProperties/a", "3"),
                ("add", "/name", "orders"),
            )
        ],
        at="2026-01-02",
    )
    assert (held(memory, "property", "a"), held(memory, "property", "b/c")) == ("3", "2")
    assert report.unused_patches == {"datasetProperties /name": 1}

    report = memory.remember(
        [patch(URN, "datasetProperties", ("remove", "/customProperties/a", None))], at="2026-01-03"
    )

    (gone,) = memory.changes(report.run)
    assert (gone.kind, gone.key, gone.ground) == ("removed", "a", "patch")
    assert held(memory, "property", "a") is None
    assert held(memory, "description", "source") == "Orders"


def test_what_a_patch_took_does_not_hold_again_before_that_whatever_a_stamp_says(memory):
    def stated(value: str, at: str):
        stamp = {"time": int(parse(at)), "actor": "urn:li:corpuser:mira"}
        return mcp(URN, "datasetProperties", {"customProperties": {"k": value}, "lastModified": stamp})

    memory.remember([stated("1", "2026-01-01")], at="2026-01-01")
    memory.remember([patch(URN, "datasetProperties", ("remove", "/customProperties/k", None))], at="2026-01-05")
    memory.remember([stated("2", "2026-01-03")], at="2026-01-09")
    first, second = (one for one in memory.versions() if one.aspect == "property")
    assert first.valid_to == second.valid_from == parse("2026-01-05")


def test_the_cells_that_a_patch_adds_are_counted_as_unchanged_next_time(memory):
    memory.remember([mcp(URN, "datasetProperties", text("Orders"))], at="2026-01-01")
    added = patch(URN, "datasetProperties", ("add", "/customProperties/a", "1"))
    memory.remember([added], at="2026-01-02")
    whole = mcp(URN, "datasetProperties", text("Orders") | {"customProperties": {"a": "1"}})
    report = memory.remember([whole], at="2026-01-03")
    assert (report.written, report.observations) == (0, 3)
    with memory.store.engine.connect() as connection:
        cells = connection.exec_driver_sql("SELECT cells FROM part WHERE part = 'datasetProperties'").scalar()
    assert cells == 2


@pytest.mark.parametrize(
    ("path", "left"),
    [
        ("/owners/urn:li:corpuser:mira/TECHNICAL_OWNER", [("urn:li:corpuser:mira", "DATA_STEWARD")]),
        ("/owners/urn:li:corpuser:mira", []),
        (
            "/owners/urn:li:corpuser:mira/DATA_STEWARD/urn:li:ownershipType:__system__data_steward",
            [("urn:li:corpuser:mira", "TECHNICAL_OWNER")],
        ),
    ],
)
def test_an_owner_is_removed_in_the_role_that_the_path_names(memory, path, left):
    both = {"owners": [*owners("mira")["owners"], *owners("mira", role="DATA_STEWARD")["owners"]]}
    memory.remember([mcp(URN, "ownership", both)], at="2026-01-01")
    memory.remember([patch(URN, "ownership", ("remove", path, None))], at="2026-01-02")
    assert [tuple(member) for member in held(memory, "ownership")] == left


def test_the_list_form_with_primary_keys_is_read_like_the_plain_one(memory):
    body = {
        "arrayPrimaryKeys": {"tags": ["tag"]},
        "patch": [{"op": "add", "path": "/tags/urn:li:tag:pii", "value": {"tag": "urn:li:tag:pii"}}],
    }
    memory.remember([mcp(URN, "globalTags", body, change="PATCH")], at="2026-01-01")
    assert names(held(memory, "tags")) == ["pii"]


def test_a_patch_that_is_none_is_a_failure_by_name_and_ends_nothing(memory):
    memory.remember([mcp(URN, "globalTags", tags("pii"))], at="2026-01-01")
    report = memory.remember([mcp(URN, "globalTags", {"neither": 1}, change="PATCH")], at="2026-01-02")
    assert (report.written, report.records_failed) == (0, 1)
    assert report.failures == [f"{URN} globalTags: a PATCH without operations"]


@pytest.mark.needs_shared("reads a genuine dbt export")
def test_the_lineage_of_a_dbt_export_arrives_by_patch(shared, new_memory):
    memory = new_memory()
    path = shared / "data" / "mce" / "datahub__mi__ti__dbt__dbt_enabled_with_schemas_mces_golden.json"
    memory.remember(path, at="2026-01-01")
    partial = [
        (urn, aspect)
        for (urn, aspect, _), value in memory.current().items()
        if isinstance(value, dict) and "at_least" in value
    ]
    assert {aspect: sum(of == aspect for _, of in partial) for aspect in sorted({of for _, of in partial})} == {
        "column_upstreams": 13,
        "upstreams": 3,
    }
