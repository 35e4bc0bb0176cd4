"""Two readings of one invented catalog, big enough for many commits: the second changes, removes, ends and adds."""

from __future__ import annotations

import json
import random
from pathlib import Path

from palimpsest.core.moment import parse
from tests.building import Record, dataset, lineage, mcp, owners, schema, status, tags, text

PLATFORMS = ("postgres", "snowflake", "kafka")


def first(datasets: int = 60, seed: int = 7) -> list[Record]:
    """The first reading."""
    records = []
    for number in range(datasets):
        urn = _urn(number)
        columns = [(f"c{i}", "VARCHAR(20)", f"column {i} of {number}") for i in range(4 + number % 5)]
        records += [
            mcp(urn, "status", status()),
            mcp(urn, "schemaMetadata", schema(*columns, at="2026-02-01T00:00:00Z", by="etl")),
            mcp(urn, "ownership", owners(f"owner{number % 7}", "steward")),
            mcp(urn, "globalTags", tags(f"tag{number % 3}")),
            mcp(urn, "datasetProperties", text(f"Table number {number}") | {"customProperties": {"team": "a"}}),
        ]
        if number:
            records.append(
                mcp(urn, "upstreamLineage", lineage([_urn(number - 1)], [(_urn(number - 1), "c0", "c1")], urn))
            )
    random.Random(seed).shuffle(records)
    return records


def second(datasets: int = 60, seed: int = 8) -> list[Record]:
    """The second: every third dataset changes, some end in either way, some are new, on known and unknown platforms."""
    records = []
    for record in first(datasets):
        number = int(record["entityUrn"].split("table")[1].split(",")[0])
        body = record["aspect"]["json"]
        if number in {5, 17, 41}:
            continue  # no longer listed
        if record["aspectName"] == "status" and number in {3, 30}:
            body = status(removed=True)
        elif record["aspectName"] == "ownership" and number % 3 == 0:
            body = owners(f"new{number}", at="2026-03-02T12:00:00Z", by="boss")
        elif record["aspectName"] == "schemaMetadata" and number % 4 == 0:
            fields = [dict(field) for field in body["fields"]]
            fields[0]["nativeDataType"] = "TEXT"
            fields[1]["nullable"] = False
            body = {
                **body,
                "fields": fields[:-1] if number % 8 == 0 else [*fields, {**fields[0], "fieldPath": "added"}],
            }
        elif record["aspectName"] == "upstreamLineage" and number % 6 == 1:
            body = lineage([_urn(number - 1), _urn(0)])
        records.append(mcp(record["entityUrn"], record["aspectName"], body))
    for number in range(datasets, datasets + 8):
        urn = _urn(number)
        records += [mcp(urn, "status", status()), mcp(urn, "ownership", owners("newcomer"))]
    for number in range(40):
        urn = dataset(f"shop.table{1000 + number}", "bigquery")
        records += [mcp(urn, "schemaMetadata", schema(("a", "INT64"), ("b", "STRING")))]
    for number in range(0, datasets, 5):
        adds = [{"op": "add", "path": "/tags/urn:li:tag:patched", "value": {"tag": "urn:li:tag:patched"}}]
        records.append(mcp(_urn(number), "globalTags", adds, "PATCH"))
    records = [record for record in records if not any(f"table{n}," in record["entityUrn"] for n in (5, 17, 41))]
    patches = [record for record in records if record["changeType"] == "PATCH"]
    whole = [record for record in records if record["changeType"] != "PATCH"]
    random.Random(seed).shuffle(whole)
    return whole + patches


def observed(records: list[Record], at: str) -> list[Record]:
    """The records with the time of their observation, and the run that made it."""
    return [record | {"systemMetadata": {"lastObserved": int(parse(at)), "runId": f"load-{at}"}} for record in records]


def write(folder: Path, name: str, records: list[Record]) -> Path:
    """The records as a metadata file."""
    path = folder / name
    path.write_text(json.dumps(records))
    return path


def _urn(number: int) -> str:
    return dataset(f"shop.table{number}", PLATFORMS[number % len(PLATFORMS)])
