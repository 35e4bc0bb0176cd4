"""What each raw aspect states: one row a form, old and new spellings of DataHub's files side by side."""

from __future__ import annotations

import pytest

from palimpsest.adapters.datahub.cells import READERS, TIME_SERIES, read_part
from palimpsest.core.aspects import ASPECTS
from palimpsest.core.jsontext import dumps

URN = "urn:li:dataset:(urn:li:dataPlatform:pg,shop.orders,PROD)"
UP = "urn:li:dataset:(urn:li:dataPlatform:pg,shop.raw,PROD)"
JOB = "urn:li:dataJob:(urn:li:dataFlow:(airflow,daily,PROD),load)"
OURS = "https://memory.example/entity/0011223344556677?from=palimpsest-memory"


def field(urn: str, path: str) -> str:
    """The URN of a column."""
    return f"urn:li:schemaField:({urn},{path})"


def of_type(name: str):
    """A logical type as DataHub wraps it."""
    return {"type": {f"com.linkedin.schema.{name}Type": {}}}


CASES = [
    ("status", {"removed": False}, [("existence", "", {"exists": True})]),
    ("status", {"removed": {"boolean": True}}, [("existence", "", {"exists": False, "ground": "status"})]),
    ("status", {}, [("existence", "", {"exists": True})]),
    (
        "datasetProperties",
        {"name": "Orders", "description": {"string": "All"}, "customProperties": {"a": "1"}, "tags": [], "uri": None},
        [("name", "source", "Orders"), ("description", "source", "All"), ("property", "a", "1")],
    ),
    ("datasetProperties", {"description": " ", "customProperties": None, "created": {"time": 1}}, []),
    (
        "datasetProperties",
        {"externalUrl": "https://x", "hash": "h"},
        [("attribute", "externalUrl", "https://x"), ("attribute", "hash", "h")],
    ),
    ("editableDatasetProperties", {"description": "By hand"}, [("description", "edited", "By hand")]),
    (
        "mlModelProperties",
        {"version": {"versionTag": "1.5.3"}, "lastModified": {"time": 1, "actor": "x"}},
        [("attribute", "version", {"versionTag": "1.5.3"})],
    ),
    (
        "ownership",
        {"owners": [{"owner": "urn:li:corpuser:a", "type": "DATAOWNER", "source": None}], "ownerTypes": {}},
        [("ownership", "", [["urn:li:corpuser:a", "DATAOWNER"]])],
    ),
    (
        "ownership",
        {
            "owners": [
                {"owner": "urn:li:corpuser:a", "type": "TECHNICAL_OWNER"},
                {
                    "owner": "urn:li:corpuser:a",
                    "type": "CUSTOM",
                    "typeUrn": "urn:li:ownershipType:__system__technical_owner",
                },
                {"owner": "urn:li:corpGroup:a", "type": "CUSTOM", "typeUrn": "urn:li:ownershipType:oncall"},
            ]
        },
        [
            (
                "ownership",
                "",
                [
                    ["urn:li:corpGroup:a", "urn:li:ownershipType:oncall"],
                    ["urn:li:corpuser:a", "TECHNICAL_OWNER"],
                ],
            )
        ],
    ),
    ("globalTags", {"tags": []}, [("tags", "", [])]),
    ("globalTags", {"tags": [{"tag": "urn:li:tag:a", "context": "x"}]}, [("tags", "", [["urn:li:tag:a"]])]),
    ("glossaryTerms", {"terms": [{"urn": "urn:li:glossaryTerm:a"}]}, [("terms", "", [["urn:li:glossaryTerm:a"]])]),
    ("domains", {"domains": ["urn:li:domain:a"]}, [("domain", "", [["urn:li:domain:a"]])]),
    ("container", {"container": "urn:li:container:a"}, [("container", "", "urn:li:container:a")]),
    ("subTypes", {"typeNames": {"array": ["View"]}}, [("sub_type", "", [["View"]])]),
    (
        "siblings",
        {"siblings": [UP], "primary": True},
        [("siblings", "", [[UP]]), ("attribute", "siblings.primary", True)],
    ),
    (
        "deprecation",
        {"deprecated": True, "note": "use v2", "decommissionTime": {"long": 5}, "actor": "urn:li:corpuser:a"},
        [("deprecation", "", {"deprecated": True, "note": "use v2", "decommission_time": 5, "replacement": ""})],
    ),
    (
        "viewProperties",
        {"viewLogic": "SELECT 1", "viewLanguage": "SQL", "materialized": False, "formattedViewLogic": "SELECT\n1"},
        [("view_definition", "", {"logic": "SELECT 1", "language": "SQL", "materialized": False})],
    ),
    (
        "institutionalMemory",
        {"elements": [{"url": "https://w", "description": "Wiki"}, {"url": OURS, "description": "Agent memory"}]},
        [("links", "", [["https://w", "Wiki"]])],
    ),
    (
        "structuredProperties",
        {"properties": [{"propertyUrn": "urn:li:structuredProperty:r", "values": [{"double": 90.0}, {"string": "x"}]}]},
        [("structured_property", "urn:li:structuredProperty:r", [["90"], ["x"]])],
    ),
    (
        "upstreamLineage",
        {
            "upstreams": [{"dataset": UP, "type": "VIEW", "auditStamp": {"time": 1}}],
            "fineGrainedLineages": [
                {
                    "upstreams": [field(UP, "[version=2.0].[type=int].id"), UP],
                    "downstreams": [field(URN, "id")],
                    "transformOperation": "COPY",
                }
            ],
        },
        [
            ("upstreams", "", [[UP, "VIEW"]]),
            ("column_upstreams", "id", [[UP, "", "COPY"], [UP, "id", "COPY"]]),
        ],
    ),
    ("upstreamLineage", {"upstreams": []}, [("upstreams", "", [])]),
    (
        "schemaMetadata",
        {
            "schemaName": "",
            "version": 3,
            "hash": "abc",
            "primaryKeys": ["id"],
            "fields": [
                {
                    "fieldPath": "id",
                    "nativeDataType": "int",
                    "nullable": {"boolean": False},
                    "isPartOfKey": False,
                    "type": of_type("Number"),
                    "description": {"string": "Key"},
                    "globalTags": {"tags": [{"tag": "urn:li:tag:b"}, {"tag": "urn:li:tag:a"}]},
                    "recursive": False,
                    "jsonPath": None,
                },
                {
                    "fieldPath": "note",
                    "nativeDataType": "text",
                    "nullable": True,
                    "type": of_type("String"),
                    "label": "Note",
                },
            ],
            "foreignKeys": [
                {
                    "name": "fk",
                    "sourceFields": [field(URN, "id")],
                    "foreignFields": [field(UP, "key")],
                    "foreignDataset": UP,
                }
            ],
        },
        [
            (
                "column",
                "id",
                {
                    "path": "id",
                    "type": "Number",
                    "native_type": "int",
                    "part_of_key": True,
                    "description": "Key",
                    "tags": ["urn:li:tag:a", "urn:li:tag:b"],
                },
            ),
            (
                "column",
                "note",
                {"path": "note", "type": "String", "native_type": "text", "nullable": True, "label": "Note"},
            ),
            ("foreign_key", "fk", {"columns": ["id"], "foreign_dataset": UP, "foreign_columns": ["key"]}),
        ],
    ),
    (
        "editableSchemaMetadata",
        {
            "created": {"time": 1},
            "editableSchemaFieldInfo": [
                {"fieldPath": "id", "description": "By hand", "globalTags": {"tags": []}},
                {"fieldPath": "empty", "description": ""},
            ],
        },
        [("column_edit", "id", {"path": "id", "description": "By hand"})],
    ),
    ("datasetKey", {"name": "x", "platform": "urn:li:dataPlatform:pg", "origin": "PROD"}, []),
]


@pytest.mark.parametrize(("part", "body", "expected"), CASES)
def test_a_raw_aspect_states(part, body, expected):
    seen = read_part(URN, part, dumps(body)).observations
    assert sorted(seen, key=repr) == sorted(expected, key=repr)


def test_a_job_states_what_it_reads_and_writes():
    body = {
        "inputDatasets": [UP],
        "inputDatasetEdges": [{"destinationUrn": UP}],
        "inputDatajobs": [],
        "outputDatasets": [URN],
        "outputDatasetEdges": None,
    }
    seen = read_part(JOB, "dataJobInputOutput", dumps(body)).observations
    assert seen == [("upstreams", "", [[UP, ""]]), ("outputs", "", [[URN]])]


@pytest.mark.parametrize(
    ("part", "body"),
    [
        ("ownership", {"owners": [{"type": "DATAOWNER"}]}),
        ("ownership", {"owners": "mira"}),
        ("globalTags", {"tags": [{"tag": None}]}),
        ("schemaMetadata", {"fields": [{"nativeDataType": "int"}]}),
        ("datasetProperties", {"customProperties": {"a": {"b": 1}}}),
    ],
)
def test_what_is_not_of_the_expected_form_is_refused(part, body):
    with pytest.raises(ValueError, match=r"missing|expected"):
        read_part(URN, part, dumps(body))


def test_every_reader_states_known_aspects_and_no_raw_aspect_is_read_and_left_out_at_once():
    for part, body, _ in CASES:
        assert {seen.aspect for seen in read_part(URN, part, dumps(body)).observations} <= set(ASPECTS)
    assert not READERS.keys() & TIME_SERIES
