"""The double keeps aspects as DataHub does: versions, retention, stamps, patches."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from palimpsest.adapters.datahub.file import FileReader
from palimpsest.core.jsontext import dumps
from palimpsest.core.moment import Moment
from palimpsest.core.observation import RawAspect
from palimpsest.testing import FixedClock
from palimpsest.testing.gms import AspectStore, GmsDouble
from palimpsest.testing.gms.patching import PatchError, apply
from tests.testing.asking import FRIDAY, MONDAY, ORDERS, TUESDAY, dataset

JONAS = {"owners": [{"owner": "urn:li:corpuser:jonas", "type": "DATAOWNER"}]}
MIRA = {"owners": [{"owner": "urn:li:corpuser:mira", "type": "DATAOWNER"}]}


def make_store(retention: int = 20) -> AspectStore:
    return AspectStore(FixedClock(Moment(1_000), step=1), retention)


def test_a_change_moves_the_value_it_replaces_to_the_next_number() -> None:
    store = make_store()
    for number in range(1, 4):
        assert store.put(ORDERS, "status", {"n": number}, at=Moment(number * 100), actor=f"urn:li:corpuser:{number}")

    assert [(version.number, version.value) for version in store.versions(ORDERS, "status")] == [
        (1, {"n": 1}),
        (2, {"n": 2}),
        (3, {"n": 3}),
    ]
    current, second = store.get(ORDERS, "status"), store.get(ORDERS, "status", 2)
    assert current is not None
    assert second is not None
    assert (current.value, current.at, current.actor, current.system["version"]) == (
        {"n": 3}, 300, "urn:li:corpuser:3", "3",
    )  # fmt: skip
    assert second.value == {"n": 2}
    assert store.get(ORDERS, "status", 3) is None


def test_ingesting_what_is_held_makes_no_version_but_moves_last_observed() -> None:
    store = make_store()
    store.put(ORDERS, "ownership", JONAS, at=Moment(100), run_id="first", actor="urn:li:corpuser:one")
    again = store.put(
        ORDERS, "ownership", JONAS, at=Moment(200), run_id="second", actor="urn:li:corpuser:two",
        system={"lastObserved": 200},
    )  # fmt: skip

    version = store.get(ORDERS, "ownership")
    assert not again
    assert version is not None
    assert (version.number, version.at, version.actor) == (1, 100, "urn:li:corpuser:one")
    assert version.system == {"lastObserved": 200, "runId": "first", "lastRunId": "second", "version": "1"}


@pytest.mark.parametrize("retention", [0, 3, 20])
def test_old_versions_beyond_the_retention_are_pruned_oldest_first(retention: int) -> None:
    store = make_store(retention)
    for number in range(1, 31):
        store.put(ORDERS, "status", {"n": number})

    numbers = [version.number for version in store.versions(ORDERS, "status")]
    assert numbers == list(range(30 - retention, 31))
    assert store.version_of(ORDERS, "status") == 30


def test_the_first_aspect_of_an_entity_makes_its_key() -> None:
    store = make_store()
    odd = dataset("a, b (c)/d+e%2C ü😀", environment="DEV")
    store.put(odd, "status", {"removed": False})

    assert store.value(odd, "datasetKey") == {
        "platform": "urn:li:dataPlatform:postgres",
        "name": "a, b (c)/d+e%2C ü😀",
        "origin": "DEV",
    }


def test_deleting_the_key_deletes_the_entity() -> None:
    store = make_store()
    store.put(ORDERS, "ownership", JONAS)
    assert store.drop(ORDERS, "ownership")
    assert store.exists(ORDERS)
    assert store.drop(ORDERS, "datasetKey")
    assert not store.exists(ORDERS)
    assert not store.drop(ORDERS, "datasetKey")


def misread(path: Path) -> list[str]:
    """The aspects of which the double holds something else than our own reader reads from the same file."""
    double, reader = GmsDouble(), FileReader(path)
    double.load(path)
    found = [record for record in reader.records() if isinstance(record, RawAspect)]
    patched = {(record.urn, record.part) for record in found if record.is_patch}
    last = {(record.urn, record.part): record for record in found}
    return [
        f"{urn} {part}"
        for (urn, part), record in last.items()
        if (urn, part) not in patched
        and reader.observe(urn, part, dumps(double.store.value(urn, part))) != reader.observe(urn, part, record.payload)
    ]


def test_a_file_loads_as_what_our_own_reader_reads() -> None:
    assert misread(MONDAY) == []


@pytest.mark.needs_shared("reads genuine metadata files")
def test_genuine_files_load_as_what_our_own_reader_reads(shared: Path) -> None:
    files = [path for path in sorted((shared / "data" / "mce").glob("*__*.json")) if path.stat().st_size < 1_000_000]
    assert files
    assert {path.name: misread(path) for path in files} == {path.name: [] for path in files}


def test_a_catalog_loaded_again_makes_no_version() -> None:
    double = GmsDouble()
    double.load(MONDAY)
    generation = double.store.generation
    double.load(MONDAY)
    assert double.store.generation == generation
    double.load(TUESDAY)
    double.load(FRIDAY)
    assert len(double.store.versions(ORDERS, "ownership")) > 1
    assert double.writes == []


def test_avro_wrappers_come_off_and_real_unions_stay(tmp_path: Path) -> None:
    schema = {
        "schemaName": "t", "platform": "urn:li:dataPlatform:hive", "version": 0, "hash": "",
        "platformSchema": {"com.linkedin.pegasus2avro.schema.MySqlDDL": {"tableSchema": "create table t"}},
        "fields": [{
            "fieldPath": "a", "nativeDataType": "text", "description": {"string": "what a is"},
            "type": {"type": {"com.linkedin.pegasus2avro.schema.StringType": {}}},
        }],
    }  # fmt: skip
    properties = {"description": {"string": "about"}, "customProperties": {"string": "a property of this name"}}
    snapshot = {
        "urn": ORDERS,
        "aspects": [
            {"com.linkedin.pegasus2avro.schema.SchemaMetadata": schema},
            {"com.linkedin.pegasus2avro.dataset.DatasetProperties": properties},
        ],
    }
    file = tmp_path / "mce.json"
    name = "com.linkedin.pegasus2avro.metadata.snapshot.DatasetSnapshot"
    file.write_text(json.dumps([{"proposedSnapshot": {name: snapshot}}]), "utf-8")
    double = GmsDouble()
    double.load(file)

    held = double.store.value(ORDERS, "schemaMetadata")
    assert held["platformSchema"] == {"com.linkedin.schema.MySqlDDL": {"tableSchema": "create table t"}}
    assert held["fields"] == [
        {
            "fieldPath": "a",
            "nativeDataType": "text",
            "description": "what a is",
            "type": {"type": {"com.linkedin.schema.StringType": {}}},
        }
    ]
    assert double.store.value(ORDERS, "datasetProperties") == {
        "description": "about",
        "customProperties": {"string": "a property of this name"},
    }


BY_URL = {"elements": ["url"]}


def links(*urls: str) -> dict[str, Any]:
    return {"elements": [{"url": url, "description": url} for url in urls]}


def test_a_patch_with_keys_adds_replaces_and_removes_one_member_by_its_key() -> None:
    patch = [
        {"op": "add", "path": "/elements/https:~1~1b~0", "value": {"url": "https://b~", "description": "new"}},
        {"op": "add", "path": "/elements/https:~1~1a", "value": {"url": "https://a", "description": "again"}},
        {"op": "remove", "path": "/elements/https:~1~1c"},
        {"op": "remove", "path": "/elements/https:~1~1nobody"},
    ]
    value = apply("institutionalMemory", links("https://a", "https://c"), {"arrayPrimaryKeys": BY_URL, "patch": patch})

    assert value == {
        "elements": [{"url": "https://a", "description": "again"}, {"url": "https://b~", "description": "new"}]
    }


def test_a_patch_with_keys_starts_an_aspect_that_is_not_there() -> None:
    patch = [{"op": "add", "path": "/elements/x", "value": {"url": "x", "description": "d"}}]
    value = apply("institutionalMemory", None, {"arrayPrimaryKeys": BY_URL, "patch": patch})
    assert value == {"elements": [{"url": "x", "description": "d"}]}


def test_links_cannot_be_patched_without_keys() -> None:
    with pytest.raises(PatchError):
        apply("institutionalMemory", links("https://a"), [{"op": "remove", "path": "/elements/https:~1~1a"}])


TEMPLATES = [
    (
        "ownership",
        {"owners": [{"owner": "urn:li:corpuser:a", "type": "DATAOWNER"}]},
        [
            {"op": "add", "path": "/owners/urn:li:corpuser:b/DATAOWNER",
             "value": {"owner": "urn:li:corpuser:b", "type": "DATAOWNER"}},
            {"op": "remove", "path": "/owners/urn:li:corpuser:a/DATAOWNER"},
        ],
        {"owners": [{"owner": "urn:li:corpuser:b", "type": "DATAOWNER"}]},
    ),
    (
        "globalTags",
        {"tags": [{"tag": "urn:li:tag:a"}]},
        [{"op": "remove", "path": "/tags/urn:li:tag:a"}],
        {"tags": []},
    ),
    (
        "datasetProperties",
        {"name": "t", "customProperties": {"a": "1"}},
        [
            {"op": "add", "path": "/customProperties/b~1c", "value": "2"},
            {"op": "remove", "path": "/customProperties/a"},
        ],
        {"name": "t", "customProperties": {"b/c": "2"}},
    ),
    (
        "upstreamLineage",
        {"upstreams": []},
        [{"op": "add", "path": "/fineGrainedLineages/COPY/D/NONE/U", "value": {"confidenceScore": 0.5}}],
        {"upstreams": [], "fineGrainedLineages": [{
            "upstreamType": "FIELD_SET", "upstreams": ["U"], "downstreamType": "FIELD", "downstreams": ["D"],
            "confidenceScore": 0.5, "transformOperation": "COPY",
        }]},
    ),
    (
        "editableSchemaMetadata",
        {"editableSchemaFieldInfo": [{"fieldPath": "a", "globalTags": {"tags": [{"tag": "urn:li:tag:x"}]}}]},
        [{
            "op": "add", "path": "/editableSchemaFieldInfo/a/globalTags/tags/urn:li:tag:y",
            "value": {"tag": "urn:li:tag:y"},
        }],
        {"editableSchemaFieldInfo": [
            {"fieldPath": "a", "globalTags": {"tags": [{"tag": "urn:li:tag:x"}, {"tag": "urn:li:tag:y"}]}}
        ]},
    ),
]  # fmt: skip


@pytest.mark.parametrize(("aspect", "held", "patch", "expected"), TEMPLATES)
def test_templates_of_other_aspects_need_no_keys(aspect: str, held: Any, patch: Any, expected: Any) -> None:
    assert apply(aspect, held, patch) == expected
