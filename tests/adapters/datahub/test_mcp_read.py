"""Answers of the MCP server into raw aspects: what is there is stated, what is stripped is silence."""

from __future__ import annotations

import pytest

from palimpsest.adapters.datahub.cells import READERS
from palimpsest.adapters.datahub.mcp_read import (
    aspects_of,
    facet,
    has_column_edits,
    is_missing,
    lineage_page,
    of_history,
    schema,
    search_page,
    shown_parts,
    upstreams,
)
from palimpsest.core.jsontext import loads
from palimpsest.core.observation import Failed

ORDERS = "urn:li:dataset:(urn:li:dataPlatform:hive,shop.orders,PROD)"
ITEMS = "urn:li:dataset:(urn:li:dataPlatform:hive,shop.items,PROD)"
BOARD = "urn:li:dashboard:(looker,7)"
TERM = "urn:li:glossaryTerm:Order"


def stated(urn, entity, columns=None):
    return {raw.part: loads(raw.payload) for raw in aspects_of(urn, entity, columns)}


@pytest.mark.parametrize(
    ("urn", "shown", "part", "value"),
    [
        (
            ORDERS,
            {"properties": {"name": "orders", "customProperties": [{"key": "k", "value": "v"}, {"key": "no"}]}},
            "datasetProperties",
            {"name": "orders", "customProperties": {"k": "v", "no": ""}},
        ),
        (ORDERS, {"editableProperties": {"description": "d"}}, "editableDatasetProperties", {"description": "d"}),
        (BOARD, {"properties": {"name": "B", "lastModified": {"time": 1}}}, "dashboardInfo", {"name": "B"}),
        (
            TERM,
            {"properties": {"name": "O", "termSource": "INTERNAL"}},
            "glossaryTermInfo",
            {"name": "O", "termSource": "INTERNAL"},
        ),
        (
            ORDERS,
            {
                "ownership": {
                    "owners": [
                        {
                            "owner": {"urn": "urn:li:corpuser:mira"},
                            "type": "CUSTOM",
                            "ownershipType": {"urn": "urn:li:ownershipType:steward"},
                        },
                        {"owner": {"urn": "urn:li:corpGroup:shop"}, "type": "DATAOWNER"},
                    ]
                }
            },
            "ownership",
            {
                "owners": [
                    {"owner": "urn:li:corpuser:mira", "type": "CUSTOM", "typeUrn": "urn:li:ownershipType:steward"},
                    {"owner": "urn:li:corpGroup:shop", "type": "DATAOWNER"},
                ]
            },
        ),
        (
            ORDERS,
            {"tags": {"tags": [{"tag": {"urn": "urn:li:tag:PII", "properties": {"name": "Personal"}}}]}},
            "globalTags",
            {"tags": [{"tag": "urn:li:tag:PII"}]},
        ),
        (ORDERS, {"glossaryTerms": {"terms": [{"term": {"urn": TERM}}]}}, "glossaryTerms", {"terms": [{"urn": TERM}]}),
        (ORDERS, {"domain": {"domain": {"urn": "urn:li:domain:shop"}}}, "domains", {"domains": ["urn:li:domain:shop"]}),
        (ORDERS, {"subTypes": {"typeNames": ["Table"]}}, "subTypes", {"typeNames": ["Table"]}),
        (
            ORDERS,
            {
                "structuredProperties": {
                    "properties": [
                        {
                            "structuredProperty": {"urn": "urn:li:structuredProperty:retention"},
                            "values": [{"numberValue": 30.0}, {"stringValue": "x"}],
                        }
                    ]
                }
            },
            "structuredProperties",
            {
                "properties": [
                    {
                        "propertyUrn": "urn:li:structuredProperty:retention",
                        "values": [{"double": 30.0}, {"string": "x"}],
                    }
                ]
            },
        ),
        (
            ORDERS,
            {"deprecation": {"deprecated": True, "note": "old", "decommissionTime": 5, "actorEntity": {"urn": "x"}}},
            "deprecation",
            {"deprecated": True, "note": "old", "decommissionTime": 5},
        ),
        (
            ORDERS,
            {"viewProperties": {"logic": "select 1", "language": "SQL", "materialized": False}},
            "viewProperties",
            {"viewLogic": "select 1", "viewLanguage": "SQL", "materialized": False},
        ),
    ],
)
def test_each_raw_aspect_is_read_from_what_is_shown_of_it(urn, shown, part, value):
    assert stated(urn, {"urn": urn, **shown}) == {"status": {"removed": False}, part: value}


def test_what_is_stripped_is_not_stated():
    assert stated(ORDERS, {"urn": ORDERS, "name": "shop.orders", "platform": {"urn": "urn:li:dataPlatform:hive"}}) == {
        "status": {"removed": False}
    }


def test_columns_are_stated_in_the_order_of_their_paths_without_names_of_tags():
    columns = [
        {"fieldPath": "z", "nativeDataType": "int", "nullable": False, "isPartOfKey": True, "tags": ["PII"]},
        {"fieldPath": "a", "description": "d", "editedDescription": "e"},
    ]
    shown = {
        "name": "orders",
        "primaryKeys": ["z"],
        "foreignKeys": [
            {
                "name": "fk",
                "sourceFields": [{"fieldPath": "a"}],
                "foreignFields": [{"fieldPath": "id"}],
                "foreignDataset": {"urn": ITEMS, "name": "items"},
            }
        ],
    }
    assert schema(shown, columns) == {
        "fields": [
            {"fieldPath": "a", "description": "d"},
            {"fieldPath": "z", "nativeDataType": "int", "nullable": False, "isPartOfKey": True},
        ],
        "schemaName": "orders",
        "primaryKeys": ["z"],
        "foreignKeys": [
            {"name": "fk", "foreignDataset": ITEMS, "sourceFields": ["a"], "foreignFields": ["id"]},
        ],
    }
    assert has_column_edits(columns)
    assert not has_column_edits(columns[:1])
    assert not has_column_edits(None)


def test_lineage_names_datasets_and_none_is_not_an_absence():
    assert loads(upstreams(ORDERS, [ITEMS, BOARD, ITEMS]).payload) == {"upstreams": [{"dataset": ITEMS}]}
    assert upstreams(ORDERS, []) is None
    page = {"upstreams": {"total": 130, "searchResults": [{"entity": {"urn": ITEMS}, "degree": 1}], "hasMore": False}}
    assert lineage_page(page) == ([ITEMS], 130)
    assert lineage_page({"upstreams": {"total": 0}}) == ([], 0)


def test_a_page_past_the_end_has_no_results():
    assert search_page({"start": 200, "count": 0, "total": 135}) == ([], 135)
    with pytest.raises(ValueError, match="how many"):
        search_page({})


def test_the_values_of_a_facet():
    answer = {
        "facets": [
            {
                "field": "platform",
                "aggregations": [{"value": "urn:li:dataPlatform:hive", "count": 3}, {"value": "", "count": 2}],
            }
        ]
    }
    assert facet(answer, "platform") == {"urn:li:dataPlatform:hive": 3}
    assert facet(answer, "origin", "env") == {}


@pytest.mark.parametrize(
    ("entry", "missing"),
    [
        ({"urn": ORDERS, "error": f"Entity {ORDERS} not found"}, True),
        ({"urn": ORDERS, "error": "index not found"}, False),
        ({"urn": ORDERS}, False),
    ],
)
def test_only_the_servers_own_words_say_that_an_entity_is_missing(entry, missing):
    assert is_missing(entry) is missing


def pair(part, current=None, error=None):
    return {"urn": ORDERS, "aspectName": part, "current": current, "error": error}


@pytest.mark.parametrize(
    ("entry", "value"),
    [
        (pair("ownership"), {}),
        (pair("ownership", {"version": 0, "value": {}, "valueTruncated": False}), {}),
        (
            pair(
                "globalTags", {"value": {"tags": [{"tag": "urn:li:tag:PII"}]}, "auditStamp": {"time": 5, "actor": "a"}}
            ),
            {"tags": [{"tag": "urn:li:tag:PII"}], "auditStamp": {"time": 5, "actor": "a"}},
        ),
        (pair("status"), {"removed": False}),
        (pair("domains", {"value": {"domains": ["a", "b"]}}), {"domains": ["a"]}),
        (pair("datasetProperties", {"value": {"name": "n", "qualifiedName": "q"}}), {"name": "n"}),
        (pair("status", {"value": {"removed": True}}), {"removed": True}),
        (pair("schemaMetadata"), {"fields": []}),
        (pair("upstreamLineage", {"value": {}}), {"upstreams": []}),
    ],
)
def test_history_says_what_is_there_now(entry, value):
    assert loads(of_history(entry).payload) == value


@pytest.mark.parametrize(
    "entry",
    [
        pair("ownership", {"valuePreview": "{…", "valueTruncated": True}),
        pair("upstreamLineage", {"value": {"upstreams": [{"dataset": ITEMS}]}}),
        pair("schemaMetadata", {"value": {"fields": [{"fieldPath": "a"}]}}),
        pair("ownership", error=f"Entity {ORDERS} not found"),
        {},
    ],
)
def test_what_history_cannot_tell_is_left_as_it_is_held(entry):
    assert of_history(entry) is None


def test_an_error_in_history_is_counted():
    assert of_history(pair("ownership", error="HTTP 500")) == Failed(f"{ORDERS} ownership", "HTTP 500")


def test_whatever_this_source_sees_can_be_read():
    assert shown_parts(history=True) <= set(READERS)
    assert shown_parts(history=True) - shown_parts(history=False) == {"editableSchemaMetadata"}
