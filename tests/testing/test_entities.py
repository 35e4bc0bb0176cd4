"""Entities in the double's GraphQL: fields as DataHub's mappers make them, links by their four mutations."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from palimpsest.adapters.datahub import graphql_words as words
from palimpsest.core.moment import Moment
from palimpsest.testing import FixedClock
from palimpsest.testing.gms import READER_TOKEN, GmsDouble
from tests.testing.asking import MONDAY, ORDERS, data, dataset, element, graphql


@pytest.fixture
def gms() -> Iterator[GmsDouble]:
    with GmsDouble.serving(load=[MONDAY], clock=FixedClock(Moment(5_000))) as double:
        yield double


def ask(gms: GmsDouble, fields: str, urn: str = ORDERS) -> Any:
    return data(gms, f"query q($u: String!) {{ dataset(urn: $u) {{ {fields} }} }}", u=urn)["dataset"]


def test_an_entity_that_is_not_there_has_its_key_and_says_so(gms: GmsDouble) -> None:
    gone = dataset("gone", environment="DEV")
    assert ask(
        gms, "urn name origin exists platform { name } properties { name } ownership { lastModified { time } }", gone
    ) == {
        "urn": gone,
        "name": "gone",
        "origin": "DEV",
        "exists": False,
        "platform": {"name": "postgres"},
        "properties": None,
        "ownership": None,
    }
    assert data(gms, '{ entity(urn: "urn:li:nothing:x") { urn } }') == {"entity": None}


def test_many_entities_come_in_the_order_asked_for(gms: GmsDouble) -> None:
    query = "query q($urns: [String!]!) { entities(urns: $urns, checkForExistence: true) { urn type } }"
    found = data(gms, query, urns=[ORDERS, dataset("gone"), "urn:li:tag:pii"])["entities"]
    assert found == [{"urn": ORDERS, "type": "DATASET"}, None, {"urn": "urn:li:tag:pii", "type": "TAG"}]


def test_a_name_falls_back_to_the_key(gms: GmsDouble) -> None:
    bare = dataset("shop.bare")
    gms.store.put(bare, "datasetProperties", {"customProperties": {"a": "1", "b": ""}})
    assert ask(gms, "properties { name description customProperties { key value } lastModified { time } }", bare) == {
        "properties": {
            "name": "shop.bare",
            "description": None,
            "customProperties": [{"key": "a", "value": "1"}, {"key": "b", "value": ""}],
            "lastModified": {"time": 0},
        }
    }


def test_a_soft_deleted_entity_is_shown_with_its_status(gms: GmsDouble) -> None:
    gms.store.remove(ORDERS)
    assert ask(gms, "exists status { removed }") == {"exists": True, "status": {"removed": True}}


def test_an_owner_without_a_type_urn_has_the_systems(gms: GmsDouble) -> None:
    gms.store.put(ORDERS, "ownership", {"owners": [{"owner": "urn:li:corpGroup:shop", "type": "DATAOWNER"}]})
    owner = ask(
        gms, "ownership { owners { type ownershipType { urn } owner { __typename ... on CorpGroup { name } } } }"
    )
    assert owner["ownership"]["owners"] == [
        {
            "type": "DATAOWNER",
            "ownershipType": {"urn": "urn:li:ownershipType:__system__dataowner"},
            "owner": {"__typename": "CorpGroup", "name": "shop"},
        }
    ]


def test_a_schema_with_its_types_labels_and_keys(gms: GmsDouble) -> None:
    column = {
        "fieldPath": "[version=2.0].[type=struct].[type=long].a", "nativeDataType": "BIGINT", "nullable": True,
        "type": {"type": {"com.linkedin.schema.NumberType": {}}}, "isPartOfKey": True,
        "globalTags": {"tags": [{"tag": "urn:li:tag:pii"}]},
    }  # fmt: skip
    gms.store.put("urn:li:tag:pii", "tagProperties", {"name": "PII"})
    gms.store.put(ORDERS, "schemaMetadata", {
        "schemaName": "t", "platform": "urn:li:dataPlatform:postgres", "version": 0, "hash": "", "fields": [column],
        "platformSchema": {"com.linkedin.schema.KafkaSchema": {"documentSchema": "{}"}}, "primaryKeys": ["a"],
    })  # fmt: skip
    found = ask(
        gms,
        """schemaMetadata { primaryKeys platformSchema { ... on TableSchema { schema } }
        fields { fieldPath type nullable isPartOfKey nativeDataType schemaFieldEntity { urn }
        tags { tags { tag { urn name properties { name } } } } } }""",
    )["schemaMetadata"]

    path = "[version=2.0].[type=struct].[type=long].a"
    assert found == {
        "primaryKeys": ["a"],
        "platformSchema": {"schema": "{}"},
        "fields": [
            {
                "fieldPath": path,
                "type": "NUMBER",
                "nullable": True,
                "isPartOfKey": True,
                "nativeDataType": "BIGINT",
                "tags": {"tags": [{"tag": {"urn": "urn:li:tag:pii", "name": "pii", "properties": {"name": "PII"}}}]},
                "schemaFieldEntity": {"urn": f"urn:li:schemaField:({ORDERS},{path})"},
            }
        ],
    }
    old = ask(gms, "schemaMetadata(version: 1) { aspectVersion fields { fieldPath } }")["schemaMetadata"]
    assert old["aspectVersion"] == 1
    assert len(old["fields"]) == 6


def test_raw_aspects_are_what_the_store_holds(gms: GmsDouble) -> None:
    found = ask(gms, 'aspects(input: {aspectNames: ["ownership", "deprecation"]}) { aspectName payload }')["aspects"]
    assert [entry["aspectName"] for entry in found] == ["ownership"]
    assert json.loads(found[0]["payload"]) == gms.store.value(ORDERS, "ownership")
    everything = ask(gms, "aspects { aspectName }")["aspects"]
    assert [entry["aspectName"] for entry in everything] == gms.store.aspects(ORDERS)


def test_the_graphql_sources_own_questions_are_answered(gms: GmsDouble) -> None:
    for kind in words.KINDS:
        urns = [urn for urn in gms.store.urns(kind) if gms.store.exists(urn)]
        found = data(gms, words.entities_query(kind, by_name=True), urns=urns, aspects=list(words.PARTS))["entities"]
        assert {
            entity["urn"]: {entry["aspectName"]: json.loads(entry["payload"]) for entry in entity["aspects"]}
            for entity in found
        } == {
            urn: {part: gms.store.value(urn, part) for part in gms.store.aspects(urn) if part in words.PARTS}
            for urn in urns
        }


def test_what_else_our_source_asks_for(gms: GmsDouble) -> None:
    gms.store.put(ORDERS, "siblings", {"siblings": [dataset("twin", "dbt")], "primary": True})
    gms.store.put(ORDERS, "deprecation", {"deprecated": True, "note": "old", "actor": "urn:li:corpuser:a"})
    gms.store.put(ORDERS, "viewProperties", {"materialized": False, "viewLogic": "select 1", "viewLanguage": "SQL"})
    gms.store.put(ORDERS, "structuredProperties", {"properties": [
        {"propertyUrn": "urn:li:structuredProperty:p", "values": [{"string": "x"}, {"double": 2.5}]}
    ]})  # fmt: skip
    gms.store.put(ORDERS, "upstreamLineage", {"upstreams": [], "fineGrainedLineages": [
        {"upstreams": [f"urn:li:schemaField:({dataset('b')},c)"], "downstreams": [f"urn:li:schemaField:({ORDERS},d)"],
         "transformOperation": "COPY"}
    ]})  # fmt: skip
    found = ask(
        gms,
        """siblings { isPrimary siblings { urn } } deprecation { deprecated note actor }
        viewProperties { logic language materialized } container { urn } domain { domain { urn } }
        structuredProperties { properties { structuredProperty { urn } values {
          ... on StringValue { stringValue } ... on NumberValue { numberValue } } } }
        fineGrainedLineages { upstreams { urn path } downstreams { urn path } transformOperation }
        subTypes { typeNames } privileges { canEditLinks }""",
    )
    assert found == {
        "siblings": {"isPrimary": True, "siblings": [{"urn": dataset("twin", "dbt")}]},
        "deprecation": {"deprecated": True, "note": "old", "actor": "urn:li:corpuser:a"},
        "viewProperties": {"logic": "select 1", "language": "SQL", "materialized": False},
        "container": {"urn": "urn:li:container:shop-public"},
        "domain": {"domain": {"urn": "urn:li:domain:sales"}},
        "structuredProperties": {
            "properties": [
                {
                    "structuredProperty": {"urn": "urn:li:structuredProperty:p"},
                    "values": [{"stringValue": "x"}, {"numberValue": 2.5}],
                }
            ]
        },
        "fineGrainedLineages": [
            {
                "upstreams": [{"urn": dataset("b"), "path": "c"}],
                "downstreams": [{"urn": ORDERS, "path": "d"}],
                "transformOperation": "COPY",
            }
        ],
        "subTypes": {"typeNames": ["Table"]},
        "privileges": {"canEditLinks": True},
    }


def test_me_is_whom_the_token_stands_for(gms: GmsDouble) -> None:
    query = "{ me { corpUser { urn username } } globalViewsSettings { defaultView } appConfig { appVersion } }"
    assert data(gms, query) == {
        "me": {"corpUser": {"urn": "urn:li:corpuser:datahub", "username": "datahub"}},
        "globalViewsSettings": {"defaultView": None},
        "appConfig": {"appVersion": "v1.4.0"},
    }


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("{ nobody }", "FieldUndefined"),
        ("query q { dataset { urn } }", "ValidationError"),
        ("query {", "InvalidSyntax"),
    ],
)
def test_a_wrong_query_is_refused_in_datahubs_words(gms: GmsDouble, query: str, words: str) -> None:
    assert words in graphql(gms, query)["errors"][0]["message"]


# --- links --------------------------------------------------------------------------------------------------------


def change(gms: GmsDouble, name: str, *, token: str | None = None, **given: Any) -> dict[str, Any]:
    kind = name[0].upper() + name[1:] + "Input"
    query = f"mutation m($i: {kind}!) {{ {name}(input: $i) }}"
    return graphql(gms, query, token=token, i={"resourceUrn": ORDERS, **given})


def pairs(gms: GmsDouble) -> list[tuple[Any, Any]]:
    return [(link["url"], link["description"]) for link in gms.store.links(ORDERS)]


def test_links_are_read_with_their_stamps(gms: GmsDouble) -> None:
    link = element("https://a", "the label") | {"createStamp": {"time": 7, "actor": "urn:li:corpGroup:shop"}}
    gms.store.put(ORDERS, "institutionalMemory", {"elements": [link]})
    fields = """institutionalMemory { elements { url label description associatedUrn created { time actor }
      updated { time } settings { showInAssetPreview } actor { ... on CorpGroup { urn } ... on CorpUser { urn } } } }"""
    assert ask(gms, fields)["institutionalMemory"]["elements"] == [
        {
            "url": "https://a",
            "label": "the label",
            "description": "the label",
            "associatedUrn": ORDERS,
            "created": {"time": 7, "actor": "urn:li:corpGroup:shop"},
            "updated": None,
            "settings": None,
            "actor": {"urn": "urn:li:corpGroup:shop"},
        }
    ]


def test_a_link_is_known_by_url_and_label(gms: GmsDouble) -> None:
    before = pairs(gms)
    change(gms, "upsertLink", linkUrl="https://p/1", label="5 revisions")
    change(gms, "upsertLink", linkUrl="https://p/1", label="6 revisions")
    assert pairs(gms) == [*before, ("https://p/1", "5 revisions"), ("https://p/1", "6 revisions")]

    change(gms, "updateLink", currentUrl="https://p/1", currentLabel="5 revisions", linkUrl="https://p/2", label="7")
    assert pairs(gms) == [*before, ("https://p/2", "7"), ("https://p/1", "6 revisions")]
    updated = gms.store.links(ORDERS)[len(before)]
    assert updated["createStamp"] == updated["updateStamp"] == {"time": 5_000, "actor": "urn:li:corpuser:datahub"}

    change(gms, "removeLink", linkUrl="https://p/2", label="another")
    assert len(pairs(gms)) == len(before) + 2
    change(gms, "removeLink", linkUrl="https://p/2", label="7")
    change(gms, "removeLink", linkUrl="https://p/1")
    assert pairs(gms) == before
    assert {(write.aspect, write.actor) for write in gms.writes} == {("institutionalMemory", "urn:li:corpuser:datahub")}


@pytest.mark.parametrize(
    ("name", "given", "words"),
    [
        ("addLink", {"linkUrl": "https://p/1", "label": "l"}, "exists already"),
        ("addLink", {"linkUrl": "javascript:alert(1)", "label": "l"}, "no valid URL"),
        (
            "updateLink",
            {"currentUrl": "x", "currentLabel": "y", "linkUrl": "https://a", "label": "b"},
            "does not exist",
        ),
        ("addLink", {"linkUrl": "https://p/1", "label": "l", "resourceUrn": dataset("gone")}, "does not exist"),
    ],
)
def test_links_that_are_refused(gms: GmsDouble, name: str, given: dict[str, Any], words: str) -> None:
    assert change(gms, "addLink", linkUrl="https://p/1", label="l") == {"data": {"addLink": True}}
    before = pairs(gms)
    errors = change(gms, name, **given)["errors"]
    assert words in errors[0]["message"]
    assert errors[0]["extensions"]["code"] == 400
    assert pairs(gms) == before


def test_a_reader_cannot_change_links(gms: GmsDouble) -> None:
    errors = change(gms, "addLink", token=READER_TOKEN, linkUrl="https://p/1", label="l")["errors"]
    assert errors[0]["extensions"]["code"] == 403
    assert gms.writes == []


def test_the_mutations_lose_what_another_writes_meanwhile(gms: GmsDouble) -> None:
    gms.faults.before_write(
        lambda store, urn, aspect: store.put(urn, aspect, {"elements": [element("https://theirs")]}) and None
    )
    change(gms, "addLink", linkUrl="https://ours", label="l")
    assert "https://theirs" not in [url for url, _ in pairs(gms)]
