"""GraphQL's answers into raw aspects: an entity with an error fails whole, absence is stated where it matters."""

from __future__ import annotations

import json

import pytest

from palimpsest.adapters.datahub.graphql_client import Answer
from palimpsest.adapters.datahub.graphql_read import Entity, presence, raw_aspects, read_entities, read_page, stated
from palimpsest.adapters.datahub.graphql_words import KINDS, PARTS, absent_parts, entities_query
from palimpsest.core import entity as entities
from palimpsest.core.jsontext import loads
from palimpsest.core.observation import Failed

ORDERS = "urn:li:dataset:(urn:li:dataPlatform:hive,shop.orders,PROD)"
ITEMS = "urn:li:dataset:(urn:li:dataPlatform:hive,shop.items,PROD)"


def an_entity(urn=ORDERS, exists=True, **aspects):
    listed = [{"aspectName": name, "payload": json.dumps(value)} for name, value in aspects.items()]
    return {"urn": urn, "exists": exists, "aspects": listed}


def answer(*entries, errors=()):
    return Answer({"entities": list(entries)}, list(errors))


def test_a_page_of_the_listing():
    body = {"nextScrollId": "s2", "count": 2, "total": 9, "searchResults": [{"entity": {"urn": ORDERS}}]}
    assert read_page(Answer({"scrollAcrossEntities": body}, [])) == ([ORDERS], "s2", 9)
    assert read_page(Answer({"scrollAcrossEntities": {**body, "nextScrollId": None}}, [])).next_id == ""


@pytest.mark.parametrize(
    "body",
    [None, {}, {"searchResults": [], "total": None}, {"searchResults": [{"entity": None}], "total": 1}],
)
def test_a_listing_of_another_form_is_no_listing(body):
    with pytest.raises(ValueError, match="listing"):
        read_page(Answer({"scrollAcrossEntities": body}, []))


def test_an_error_within_a_listing_makes_it_none():
    body = {"nextScrollId": None, "total": 0, "searchResults": []}
    with pytest.raises(ValueError, match="shard failed"):
        read_page(Answer({"scrollAcrossEntities": body}, [("shard failed", ["scrollAcrossEntities"])]))


def test_an_error_costs_the_entity_it_is_in_and_no_other():
    found = read_entities(
        answer(
            an_entity(ORDERS), an_entity(ITEMS, ownership={"owners": []}), errors=[("boom", ["entities", 0, "aspects"])]
        ),
        [ORDERS, ITEMS],
    )
    assert found == [Failed(ORDERS, "boom"), Entity(ITEMS, True, {"ownership": '{"owners": []}'})]


@pytest.mark.parametrize(
    ("given", "asked"),
    [
        (answer(errors=[("boom", ["entities"])]), [ORDERS]),
        (answer(an_entity(), errors=[("boom", [])]), [ORDERS]),
        (answer(an_entity()), [ORDERS, ITEMS]),
        (Answer({"entities": None}, []), [ORDERS]),
    ],
)
def test_an_error_that_names_no_entity_makes_the_whole_answer_none(given, asked):
    with pytest.raises(ValueError, match=r"boom|not about"):
        read_entities(given, asked)


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        (None, Entity(ORDERS, False, {})),
        ({"urn": ORDERS, "exists": False, "aspects": []}, Entity(ORDERS, False, {})),
        ({"urn": ORDERS, "exists": None, "aspects": []}, Entity(ORDERS, False, {})),
        (an_entity(exists=None, datasetKey={}), Entity(ORDERS, False, {"datasetKey": "{}"})),
        (an_entity(exists=None, status={}), Entity(ORDERS, True, {"status": "{}"})),
        ({"urn": ORDERS}, Failed(ORDERS, "its aspects are not shown to this token")),
        ({"urn": ITEMS, "aspects": []}, Failed(ORDERS, "the answer is about another entity")),
        (
            {"urn": ORDERS, "aspects": [{"aspectName": "status", "payload": None}]},
            Failed(ORDERS, "its status came without a value"),
        ),
    ],
)
def test_what_an_entry_says_of_its_entity(entry, expected):
    assert read_entities(answer(entry), [ORDERS]) == [expected]


def test_absence_is_stated_where_it_matters_and_a_raw_aspect_comes_as_it_is():
    owners = {"owners": [{"owner": "urn:li:corpuser:mira", "type": "DATAOWNER"}], "lastModified": {"time": 5}}
    found = Entity(ORDERS, True, {"ownership": json.dumps(owners), "siblings": '{"siblings":[]}'})
    by_part = {raw.part: raw for raw in raw_aspects(found, PARTS)}
    assert loads(by_part["ownership"].payload) == owners
    assert b"lastModified" not in by_part["ownership"].digest_of
    assert {part: loads(raw.payload) for part, raw in by_part.items() if part != "ownership"} == {
        "status": {"removed": False},
        "domains": {"domains": []},
        "globalTags": {"tags": []},
        "glossaryTerms": {"terms": []},
        "institutionalMemory": {"elements": []},
        "upstreamLineage": {"upstreams": []},
        "siblings": {"siblings": []},
    }


def test_of_an_entity_that_is_not_there_nothing_is_stated_but_that():
    gone = Entity(ORDERS, False, {})
    assert list(raw_aspects(gone, PARTS)) == []
    assert loads(presence(gone).payload) == {"removed": True}


@pytest.mark.parametrize("removed", [True, False])
def test_a_soft_deleted_entity_says_so(removed):
    found = Entity(ORDERS, True, {"status": json.dumps({"removed": removed})})
    assert loads(presence(found).payload) == {"removed": removed}
    assert loads(next(raw for raw in raw_aspects(found, PARTS) if raw.part == "status").payload) == {"removed": removed}


@pytest.mark.parametrize("payload", ["{", "[]", '"x"', "[" * 100_000])
def test_a_payload_that_is_no_object_costs_that_raw_aspect(payload):
    assert isinstance(stated(Entity(ORDERS, True, {"ownership": payload}), "ownership"), Failed)


def test_every_kind_that_is_remembered_is_asked_for_but_the_one_that_graphql_lacks():
    assert set(KINDS) == entities.KINDS - {"mlModelDeployment"}
    assert set(absent_parts("tag")) == {"ownership"}


def test_every_question_is_valid_in_datahubs_own_schema(shared):
    from graphql import build_ast_schema, parse, validate

    from palimpsest.adapters.datahub.graphql_words import SCROLL

    text = "\n".join(path.read_text() for path in sorted((shared / "datahub" / "graphql").glob("*.graphql")))
    schema = build_ast_schema(parse(text))
    questions = [SCROLL, *(entities_query(kind, by_name=by_name) for kind in KINDS for by_name in (True, False))]
    assert [error.message for question in questions for error in validate(schema, parse(question))] == []
    assert {entity_type for entity_type, _, _ in KINDS.values()} <= set(schema.type_map["EntityType"].values)
