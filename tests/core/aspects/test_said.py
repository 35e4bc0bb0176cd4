"""What each aspect takes for the same, how much a change of it matters, and the sentences it says."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from palimpsest.core.aspects import ASPECTS, SAID, Impact, Json

QUIET, MINOR, NOTABLE, BREAKING = Impact
URN = "urn:li:dataset:(urn:li:dataPlatform:pg,shop.{},PROD)"
ORDERS, ITEMS, CARTS = (URN.format(name) for name in ("orders", "items", "carts"))
MIRA, JONAS, CREW = "urn:li:corpuser:mira", "urn:li:corpuser:jonas", "urn:li:corpGroup:crew"
TECH, STEWARD = "TECHNICAL_OWNER", "DATA_STEWARD"


class Case(NamedTuple):
    """A change of one cell: what it is worth, what it says, and what the new value says by itself."""

    aspect: str
    key: str
    before: Json
    after: Json
    impact: Impact
    change: str
    now: str | None = None


CASES = [
    # --- attribute, property, text ---------------------------------------------------------------------------------
    Case("attribute", "externalUrl", "a", "b", MINOR, "externalUrl was a, now b", "externalUrl: b"),
    Case("attribute", "env", None, ["x", "y"], MINOR, "env set: x, y"),
    Case("property", "team", "shop", None, MINOR, "property team cleared, was shop"),
    Case("property", "team", None, "shop", MINOR, "property team set: shop", "property team: shop"),
    Case("name", "source", "Orders", "orders", MINOR, "name was Orders, now orders"),
    Case(
        "description", "source", "Owned by MoJ", "Owned by MOJ", MINOR, "description was Owned by MoJ, now Owned by MOJ"
    ),
    Case("description", "edited", None, "Größer 📊", MINOR, "description (edited) set: Größer 📊"),
    # --- what people and agents say: the key is the matter, and is not said ------------------------------------------
    Case("note", "0af3", None, "late on Mondays", MINOR, "note set: late on Mondays", "note: late on Mondays"),
    Case("usage", "by-team", "read by sales", "read by all", MINOR, "usage was read by sales, now read by all"),
    Case("quality", "nulls", "no nulls", None, MINOR, "quality cleared, was no nulls"),
    Case("decision", "orders-old", None, "we drop it", MINOR, "decision set: we drop it", "decision: we drop it"),
    Case("question", "who", "who reads it?", "who owns it?", MINOR, "question was who reads it?, now who owns it?"),
    Case("insight", "growth", None, "it doubles", MINOR, "insight set: it doubles", "insight: it doubles"),
    Case(
        "container",
        "",
        "urn:li:container:raw",
        "urn:li:container:marts",
        MINOR,
        "container was raw, now marts",
        "container: marts",
    ),
    # --- column ----------------------------------------------------------------------------------------------------
    Case("column", "id", None, {"path": "id", "native_type": "int"}, MINOR, "column id added (int)"),
    Case("column", "id", {"path": "id", "native_type": "int"}, None, BREAKING, "column id gone"),
    Case(
        "column",
        "id",
        {"path": "id", "native_type": "bigint", "nullable": True},
        {"path": "id", "native_type": "int", "nullable": True},
        BREAKING,
        "column id: type was bigint, now int",
        "column id int, nullable",
    ),
    Case(
        "column",
        "id",
        {"path": "id", "native_type": "VARCHAR", "type": "String"},
        {"path": "id", "native_type": "TEXT", "type": "String"},
        QUIET,
        "column id: type was VARCHAR, now TEXT",
        "column id TEXT, not null",
    ),
    Case(
        "column",
        "Id",
        {"path": "Id", "native_type": "int"},
        {"path": "id", "native_type": "int"},
        QUIET,
        "column Id: spelled id, was Id",
    ),
    Case(
        "column",
        "id",
        {"path": "id", "native_type": "int", "nullable": True},
        {"path": "id", "native_type": "int"},
        BREAKING,
        "column id: not null, was nullable",
    ),
    Case(
        "column",
        "id",
        {"path": "id", "tags": ["urn:li:tag:pii"]},
        {"path": "id", "tags": ["urn:li:tag:gold"], "part_of_key": True},
        NOTABLE,
        "column id: part of the key; tag gold added; tag pii removed",
        "column id unknown type, key, not null, tags gold",
    ),
    Case(
        "column",
        "id",
        {"path": "id", "description": "old"},
        {"path": "id", "description": "new"},
        MINOR,
        "column id: description was old, now new",
        "column id unknown type, not null: new",
    ),
    # --- column_edit -----------------------------------------------------------------------------------------------
    Case(
        "column_edit",
        "id",
        None,
        {"path": "id", "description": "The key"},
        MINOR,
        "column id (edited): The key",
        "column id (edited): The key",
    ),
    Case(
        "column_edit",
        "id",
        {"path": "id", "description": "The key"},
        {"path": "id", "description": "The key", "tags": ["urn:li:tag:pii"]},
        NOTABLE,
        "column id (edited): tag pii added",
        "column id (edited): The key; tags pii",
    ),
    Case(
        "column_edit",
        "id",
        {"path": "id", "description": "The key"},
        None,
        MINOR,
        "column id: edit gone, was The key",
    ),
    # --- deprecation, existence ------------------------------------------------------------------------------------
    Case(
        "deprecation",
        "",
        {"deprecated": False},
        {"deprecated": True, "note": "use v2", "decommission_time": 1782864000000},
        NOTABLE,
        "deprecated: use v2, ends 2026-07-01 00:00",
        "deprecated: use v2, ends 2026-07-01 00:00",
    ),
    Case(
        "deprecation",
        "",
        {"deprecated": True, "note": "use v2"},
        {"deprecated": False},
        NOTABLE,
        "no longer deprecated, was deprecated: use v2",
        "not deprecated",
    ),
    Case(
        "deprecation",
        "",
        {"deprecated": True, "note": "old"},
        {"deprecated": True, "note": "new"},
        NOTABLE,
        "note was old, now new",
    ),
    Case("deprecation", "", {"deprecated": True}, None, NOTABLE, "no longer deprecated, was deprecated"),
    Case("existence", "", None, {"exists": True}, MINOR, "new", "exists"),
    Case(
        "existence",
        "",
        {"exists": True},
        {"exists": False, "ground": "status"},
        BREAKING,
        "gone (soft-deleted)",
        "soft-deleted",
    ),
    Case(
        "existence",
        "",
        {"exists": True},
        {"exists": False, "ground": "listing"},
        BREAKING,
        "gone (no longer listed)",
        "no longer listed",
    ),
    Case("existence", "", {"exists": False, "ground": "status"}, {"exists": True}, NOTABLE, "is back"),
    # --- sets ------------------------------------------------------------------------------------------------------
    Case(
        "ownership",
        "",
        [[MIRA, TECH]],
        [[JONAS, TECH]],
        NOTABLE,
        "owner was mira, now jonas",
        "owner: jonas",
    ),
    Case(
        "ownership",
        "",
        [[MIRA, TECH]],
        [[MIRA, TECH], [CREW, STEWARD]],
        NOTABLE,
        "owner group crew (data steward) added",
        "owners: group crew (data steward), mira",
    ),
    Case(
        "ownership",
        "",
        [[MIRA, TECH], [JONAS, "urn:li:ownershipType:oncall"]],
        [],
        NOTABLE,
        "owners jonas (oncall), mira removed, no owners left",
        "no owners",
    ),
    Case("tags", "", [["urn:li:tag:a"]], [["urn:li:tag:a"], ["urn:li:tag:pii"]], NOTABLE, "tag pii added"),
    Case("terms", "", [["urn:li:glossaryTerm:A"]], [], NOTABLE, "term A removed, no terms left", "no terms"),
    Case("domain", "", [], [["urn:li:domain:sales"]], NOTABLE, "domain sales added", "domain: sales"),
    Case(
        "upstreams",
        "",
        [[ORDERS, "TRANSFORMED"], [ITEMS, "TRANSFORMED"]],
        [[ITEMS, "TRANSFORMED"]],
        NOTABLE,
        "upstream shop.orders removed",
        "upstream: shop.items",
    ),
    Case(
        "upstreams",
        "",
        [[ITEMS, "TRANSFORMED"]],
        [[ITEMS, "TRANSFORMED"], [CARTS, "COPY"]],
        MINOR,
        "upstream shop.carts added",
    ),
    Case(
        "upstreams",
        "",
        [[ITEMS, "TRANSFORMED"]],
        [[ITEMS, "VIEW"]],
        MINOR,
        "upstream shop.items (TRANSFORMED), now shop.items (VIEW)",
    ),
    Case(
        "upstreams",
        "",
        {"at_least": [[ITEMS, "VIEW"]]},
        [[ITEMS, "VIEW"]],
        QUIET,
        "upstreams now known whole: shop.items",
    ),
    Case(
        "column_upstreams",
        "total",
        [[ITEMS, "price", ""]],
        [[ITEMS, "price", ""], [ITEMS, "count", ""]],
        MINOR,
        "total: source column shop.items.count added",
        "total: source columns: shop.items.count, shop.items.price",
    ),
    Case(
        "column_upstreams",
        "total",
        [[ITEMS, "price", ""]],
        [],
        NOTABLE,
        "total: source column shop.items.price removed, no source columns left",
        "total: no source columns",
    ),
    Case("outputs", "", [], [[ORDERS]], MINOR, "output shop.orders added", "output: shop.orders"),
    Case("data_product", "", [[ORDERS]], [[ORDERS], [ITEMS]], MINOR, "asset shop.items added"),
    Case("siblings", "", [], [[ORDERS]], MINOR, "sibling shop.orders added", "sibling: shop.orders"),
    Case("sub_type", "", [["Table"]], [["View"]], MINOR, "sub-type was Table, now View", "sub-type: View"),
    Case(
        "structured_property",
        "urn:li:structuredProperty:retention",
        [["30"]],
        [["90"]],
        MINOR,
        "retention: value was 30, now 90",
    ),
    Case(
        "links",
        "",
        [["https://w.example", "Wiki"]],
        [["https://w.example", "Handbook"]],
        MINOR,
        "link https://w.example (Wiki), now https://w.example (Handbook)",
        "link: Handbook <https://w.example>",
    ),
    # --- records ---------------------------------------------------------------------------------------------------
    Case(
        "foreign_key",
        "fk_orders",
        {"columns": ["order_id"], "foreign_dataset": ORDERS, "foreign_columns": ["id"]},
        None,
        MINOR,
        "foreign key fk_orders gone",
    ),
    Case(
        "foreign_key",
        "fk",
        None,
        {"columns": ["order_id"], "foreign_dataset": ORDERS, "foreign_columns": ["id"]},
        MINOR,
        "foreign key fk added",
        "foreign key fk: order_id → shop.orders (id)",
    ),
    Case(
        "platform_instance",
        "",
        {"platform": "urn:li:dataPlatform:pg", "instance": ""},
        {"platform": "urn:li:dataPlatform:pg", "instance": "urn:li:dataPlatformInstance:(urn:li:dataPlatform:pg,eu)"},
        MINOR,
        "instance set: urn:li:dataPlatformInstance:(urn:li:dataPlatform:pg,eu)",
        "platform pg, instance eu",
    ),
    Case(
        "view_definition",
        "",
        {"logic": "SELECT 1", "language": "SQL", "materialized": False},
        {"logic": "SELECT 2", "language": "SQL", "materialized": True},
        MINOR,
        "view: definition was SELECT 1, now SELECT 2; materialized set: yes",
        "materialized view defined as: SELECT 2",
    ),
]


def _name(case: Case) -> str:
    return f"{case.aspect}-{case.change[:40]}"


@pytest.mark.parametrize("case", CASES, ids=_name)
def test_a_change_is_worth_and_says(case):
    rules = ASPECTS[case.aspect]
    assert rules.say_change(case.key, case.before, case.after) == case.change
    assert rules.impact(case.before, case.after) is case.impact
    assert rules.difference(case.before, case.after) or case.impact is QUIET
    if case.now is not None:
        assert rules.say(case.key, case.after) == case.now


def test_every_aspect_has_a_case():
    assert {case.aspect for case in CASES} == set(ASPECTS)


# Values that are one fact in two spellings.
SAME: list[tuple[str, Json, Json]] = [
    *((aspect, "late  on\nMondays ", "late on Mondays") for aspect in ("note", *SAID)),
    ("attribute", {"a": 1, "b": ""}, {"b": None, "a": 1.0}),
    ("attribute", ["x", "y"], ["y", "x"]),
    ("property", " a\n b ", "a b"),
    ("name", "Orders ", "Orders"),
    ("description", "alpha beta", "\n  alpha\tbeta \n"),
    ("container", "urn:li:container:a", "urn:li:container:a "),
    ("column", {"path": "[version=2.0].[type=string].id", "tags": []}, {"path": "id"}),
    ("column", {"path": "id", "tags": ["b", "a"]}, {"path": "id", "tags": ["a", "b", "a"], "nullable": False}),
    (
        "column_edit",
        {"path": "id", "description": "x  y"},
        {"path": "[version=2.0].[type=int].id", "description": "x y"},
    ),
    ("column_upstreams", [[ITEMS, "a", ""], [ITEMS, "b", ""]], [[ITEMS, "b", ""], [ITEMS, "a", ""]]),
    ("data_product", [[ORDERS], [ITEMS]], [[ITEMS], [ORDERS], [ORDERS]]),
    ("deprecation", {"deprecated": False, "note": ""}, {}),
    ("domain", [["urn:li:domain:a"]], [["urn:li:domain:a"], ["urn:li:domain:a"]]),
    ("existence", {"exists": False, "ground": "status"}, {"exists": False, "ground": "listing"}),
    (
        "foreign_key",
        {"columns": ["a", "b"], "foreign_columns": ["x", "y"]},
        {"columns": ["b", "a"], "foreign_columns": ["y", "x"]},
    ),
    ("links", [["https://a", "A  b"]], [["https://a", "A b"]]),
    ("outputs", [[ORDERS], [ITEMS]], [[ITEMS], [ORDERS]]),
    ("ownership", [[MIRA, TECH], [JONAS, TECH]], [[JONAS, TECH], [MIRA, TECH], [MIRA, TECH]]),
    ("platform_instance", {"platform": "p", "instance": ""}, {"platform": "p"}),
    ("siblings", [[ORDERS]], [[ORDERS], [ORDERS]]),
    ("structured_property", [["1"], ["2"]], [["2"], ["1"]]),
    ("sub_type", [["View"], ["Table"]], [["Table"], ["View"]]),
    ("tags", [["urn:li:tag:a"], ["urn:li:tag:b"]], [["urn:li:tag:b"], ["urn:li:tag:a"]]),
    ("terms", [["urn:li:glossaryTerm:a"]], [["urn:li:glossaryTerm:a"], ["urn:li:glossaryTerm:a"]]),
    ("upstreams", [[ORDERS, "VIEW"], [ITEMS, "VIEW"]], [[ITEMS, "VIEW"], [ORDERS, "VIEW"]]),
    ("view_definition", {"logic": "SELECT\n  1"}, {"logic": "SELECT 1", "language": "", "materialized": False}),
]


@pytest.mark.parametrize(("aspect", "one", "other"), SAME)
def test_two_spellings_of_one_fact_are_the_same(aspect, one, other):
    rules = ASPECTS[aspect]
    assert rules.canonical(one) == rules.canonical(other)
    assert rules.difference(one, other) == ()


def test_every_aspect_has_two_spellings_of_one_fact():
    assert {aspect for aspect, _, _ in SAME} == set(ASPECTS)
