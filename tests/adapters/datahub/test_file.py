"""The file source, record by record: every record is used, skipped by name, or failed by name; none is lost."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from palimpsest.adapters.datahub.file import FileReader
from palimpsest.core.observation import Failed, RawAspect, Skipped
from tests.building import dataset, mcp, tags

URN = dataset("orders")
CLASS = "com.linkedin.pegasus2avro"


def read(folder: Path, *records: object):
    """What the reader makes of records, beside one that it can read."""
    path = folder / "catalog.json"
    path.write_text(json.dumps([mcp(URN, "status", {"removed": False}), *records]))
    first, *found = FileReader(path).records()
    assert isinstance(first, RawAspect)
    return found


def snapshot(urn: str, *aspects: dict[str, object]) -> dict[str, object]:
    """An MCE."""
    return {"proposedSnapshot": {f"{CLASS}.metadata.snapshot.DatasetSnapshot": {"urn": urn, "aspects": list(aspects)}}}


def test_each_aspect_of_a_snapshot_is_a_record(tmp_path):
    model = "urn:li:mlModel:(urn:li:dataPlatform:science,m,PROD)"
    found = read(
        tmp_path,
        snapshot(URN, {f"{CLASS}.common.Status": {"removed": False}}, {f"{CLASS}.common.GlobalTags": {"tags": []}}),
        snapshot(model, {f"{CLASS}.ml.metadata.EditableMLModelProperties": {"description": "x"}}),
    )
    assert [(one.urn, one.part) for one in found] == [
        (URN, "status"),
        (URN, "globalTags"),
        (model, "editableMlModelProperties"),
    ]


@pytest.mark.parametrize(
    ("record", "name"),
    [
        (mcp(URN, "datasetProfile", {}), "time series: datasetProfile"),
        (mcp(URN, "browsePathsV2", {}), "unknown aspect: browsePathsV2"),
        (mcp("urn:li:corpuser:mira", "status", {}), "entity kind that is not remembered: corpuser"),
        (mcp(URN, "ownership", {}, change="DELETE"), "unknown aspect: ownership (DELETE)"),
        (snapshot(URN), "unknown aspect: (snapshot without aspects)"),
    ],
)
def test_what_is_no_memory_is_skipped_by_name(tmp_path, record, name):
    (found,) = read(tmp_path, record)
    assert isinstance(found, Skipped)
    assert f"{found.why}: {found.name}" == name


@pytest.mark.parametrize(
    ("record", "where", "why"),
    [
        (5, "catalog.json record 1", "a record is an object, not int"),
        ({"a": 1}, "catalog.json record 1", "neither an MCE nor an MCP: no proposedSnapshot, no entityUrn"),
        ({"entityUrn": URN}, "catalog.json record 1", "an MCP needs entityUrn and aspectName"),
        (mcp(URN, "status", {}, change="SHOUT"), f"catalog.json record 1 {URN}", "unknown changeType 'SHOUT'"),
        (mcp(URN, "status", [1]), f"catalog.json record 1 {URN} status", "an aspect is an object, not list"),
        (mcp("not a urn:::", "status", {}), "catalog.json record 1 status", "'not a urn:::' is no URN"),
        (
            mcp(URN, "status", {}) | {"aspect": {"value": "{", "contentType": "application/json"}},
            f"catalog.json record 1 {URN} status",
            "the aspect's value is no JSON",
        ),
        ({"proposedSnapshot": {"urn": URN}}, "catalog.json record 1", "a snapshot needs urn and aspects"),
        (
            snapshot(URN, {"a": {}, "b": {}}),
            f"catalog.json record 1 {URN}",
            "an aspect of a snapshot has one name and one value",
        ),
    ],
)
def test_what_cannot_be_read_is_failed_by_its_place(tmp_path, record, where, why):
    (found,) = read(tmp_path, record)
    assert isinstance(found, Failed)
    assert (found.where, found.why) == (where, why)


def test_json_and_value_are_one(tmp_path):
    as_json = mcp(URN, "globalTags", tags("a"))
    as_value = as_json | {"aspect": {"value": json.dumps(tags("a"), indent=1), "contentType": "application/json"}}
    one, other = read(tmp_path, as_json, as_value)
    assert one == other


def test_stamps_make_no_other_digest_but_a_version_elsewhere_than_in_a_schema_does(tmp_path):
    def digest(part: str, body: dict[str, object]) -> bytes:
        (found,) = read(tmp_path, mcp(URN, part, body))
        return found.digest_of

    stamped = {"lastModified": {"time": 5, "actor": "urn:li:corpuser:a"}}
    assert digest("ownership", {"owners": []}) == digest("ownership", {"owners": []} | stamped)
    assert digest("globalTags", {"tags": [{"tag": "t"}]}) == digest(
        "globalTags", {"tags": [{"tag": "t", "attribution": {"time": 5}}]}
    )
    assert digest("schemaMetadata", {"version": 0, "hash": "a"}) == digest(
        "schemaMetadata", {"version": 1, "hash": "b"}
    )
    assert digest("datasetProperties", {"version": 0}) != digest("datasetProperties", {"version": 1})


def test_the_time_and_the_run_of_a_record_are_kept(tmp_path):
    record = mcp(URN, "status", {}) | {"systemMetadata": {"lastObserved": 5, "runId": "snowflake-1"}}
    unnamed = mcp(URN, "status", {}) | {"systemMetadata": {"lastObserved": 0, "runId": "no-run-id-provided"}}
    assert [(one.observed_at, one.catalog_run) for one in read(tmp_path, record, unnamed)] == [
        (5, "snowflake-1"),
        (None, ""),
    ]
