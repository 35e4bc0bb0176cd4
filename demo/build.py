"""Writes the demo's sample catalog: the shop of `shop.py`, read on three days, as DataHub metadata files.

Run `python demo/build.py` to write `catalog/*.json` and `truth.json` again; the same bytes come out every time.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from shop import (
    CRM,
    CUSTOMERS,
    FACTS,
    GOLD,
    MARTS,
    NET_REVENUE,
    ORDERS,
    PII,
    PUBLIC,
    SALES,
    SHOP,
    STREAM,
    UMSAETZE,
    Column,
    Dataset,
    Stamp,
    friday,
    user,
)

Json = dict[str, Any]
HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One day's file. `restamped`: a later load rewrote the stamps; `respelled`: the same facts in another form."""

    file: str
    observed: str
    rows: int
    restamped: str | None = None
    respelled: bool = False


MONDAY = Reading(file="2026-03-02-monday.json", observed="2026-03-02T08:00:00Z", rows=48_120)
TUESDAY = Reading(
    file="2026-03-03-tuesday.json",
    observed="2026-03-03T08:00:00Z",
    rows=48_391,
    restamped="2026-03-03T07:52:00Z",
    respelled=True,
)
FRIDAY = Reading(
    file="2026-03-06-friday.json", observed="2026-03-06T08:00:00Z", rows=49_076, restamped="2026-03-06T07:52:00Z"
)

_WIRE_ROLE = "urn:li:ownershipType:__system__"
_IN_SNAPSHOT = {
    "datasetProperties": "dataset.DatasetProperties",
    "editableDatasetProperties": "dataset.EditableDatasetProperties",
    "ownership": "common.Ownership",
    "schemaMetadata": "schema.SchemaMetadata",
    "editableSchemaMetadata": "schema.EditableSchemaMetadata",
    "globalTags": "common.GlobalTags",
    "upstreamLineage": "dataset.UpstreamLineage",
    "institutionalMemory": "common.InstitutionalMemory",
    "status": "common.Status",
}


def _ms(at: str) -> int:
    return int(datetime.fromisoformat(at).timestamp() * 1000)


def _field(urn: str, path: str) -> str:
    return f"urn:li:schemaField:({urn},{path})"


def _platform(urn: str) -> str:
    return urn.split("(", 1)[1].split(",", 1)[0]


class Speller:
    """Spells facts as raw aspects for one reading. A respelled reading says the same things in other words."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self.other = reading.respelled

    def turn(self, members: list[Any]) -> list[Any]:
        return members[::-1] if self.other else members

    def _stamp(self, dataset: Dataset, aspect: str) -> Json:
        """Friday's changed aspects keep their own stamp; what was not touched since gets the stamp of the load."""
        stamp = dataset.stamps.get(aspect, Stamp(at="2026-02-27T05:30:00Z"))
        if self.reading.restamped and stamp.at < TUESDAY.observed:
            stamp = Stamp(at=self.reading.restamped)
        return {"time": _ms(stamp.at), "actor": stamp.by}

    def _tags(self, dataset: Dataset) -> Json:
        members: list[Json] = [{"tag": tag} for tag in dataset.tags]
        if "globalTags" in dataset.stamps:
            members[-1]["attribution"] = self._stamp(dataset, "globalTags")
        if self.other and members:
            members.append(members[0])
        return {"tags": members}

    def _terms(self, dataset: Dataset, terms: tuple[str, ...]) -> Json:
        return {"terms": [{"urn": term} for term in terms], "auditStamp": self._stamp(dataset, "glossaryTerms")}

    def _column(self, dataset: Dataset, column: Column, package: str) -> Json:
        path = column.path
        if self.other and (dataset.urn, path) == (CUSTOMERS, "email"):
            path = "[version=2.0].[type=struct].[type=string].email"
        wire: Json = {
            "fieldPath": path,
            "nullable": column.nullable,
            "type": {"type": {f"{package}.{column.kind}Type": {}}},
            "nativeDataType": column.native,
        }
        if column.text:
            wire["description"] = f"{column.text} " if self.other else column.text
        elif self.other and column.key:
            wire["description"] = ""
        if column.key:
            wire["isPartOfKey"] = True
        if column.tags:
            wire["globalTags"] = {"tags": [{"tag": tag} for tag in column.tags]}
        if column.terms:
            wire["glossaryTerms"] = self._terms(dataset, column.terms)
        return wire

    def _schema(self, dataset: Dataset, package: str) -> Json:
        stamp = self._stamp(dataset, "schemaMetadata")
        schema: Json = {
            "schemaName": dataset.name,
            "platform": _platform(dataset.urn),
            "version": 0,
            "lastModified": stamp,
            "hash": "" if not self.other else "5f1d2c",
            "platformSchema": {f"{package}.OtherSchema": {"rawSchema": ""}},
            "fields": self.turn([self._column(dataset, column, package) for column in dataset.columns]),
        }
        if dataset.foreign_keys:
            schema["foreignKeys"] = [
                {
                    "name": name,
                    "sourceFields": [_field(dataset.urn, own)],
                    "foreignDataset": target,
                    "foreignFields": [_field(target, path)],
                }
                for name, own, target, path in dataset.foreign_keys
            ]
        return schema

    def _ownership(self, dataset: Dataset) -> Json:
        owners: list[Json] = [{"owner": owner, "type": role} for owner, role in dataset.owners]
        if self.other:
            owners = [
                {"owner": o["owner"], "type": "NONE", "typeUrn": f"{_WIRE_ROLE}{o['type'].lower()}", "source": None}
                for o in owners
            ]
        return {"owners": self.turn(owners), "lastModified": self._stamp(dataset, "ownership")}

    def _lineage(self, dataset: Dataset) -> Json:
        stamp = self._stamp(dataset, "upstreamLineage")
        lineage: Json = {
            "upstreams": self.turn(
                [{"auditStamp": stamp, "dataset": up.urn, "type": up.kind} for up in dataset.upstreams]
            )
        }
        fine = [
            {
                "upstreamType": "FIELD_SET",
                "upstreams": self.turn([_field(up.urn, path) for path in paths]),
                "downstreamType": "FIELD",
                "downstreams": [_field(dataset.urn, own)],
            }
            for up in dataset.upstreams
            for own, paths in up.columns
        ]
        if fine:
            lineage["fineGrainedLineages"] = self.turn(fine)
        return lineage

    def _properties(self, dataset: Dataset, union: bool) -> Json:
        text: object = dataset.text
        if union:
            text = {"string": dataset.text}
        elif self.other:
            text = f"{dataset.text}\n" if dataset.text else None
        properties: Json = {"name": dataset.name, "description": text}
        properties["customProperties"] = dict(self.turn(list(dataset.properties.items())))
        return properties | ({"externalUrl": None, "tags": []} if self.other else {"tags": []})

    def aspects(self, dataset: Dataset, *, snapshot: bool) -> Iterator[tuple[str, Json]]:
        """The raw aspects of a dataset, (name, value). `snapshot` spells what differs inside an MCE."""
        yield "status", {"removed": dataset.removed}
        if dataset.only_status:
            return
        package = "com.linkedin.pegasus2avro.schema" if snapshot else "com.linkedin.schema"
        platform = _platform(dataset.urn)
        yield "datasetProperties", self._properties(dataset, union=snapshot)
        yield "schemaMetadata", self._schema(dataset, package)
        yield "ownership", self._ownership(dataset)
        yield "subTypes", {"typeNames": [dataset.sub_type]}
        if platform == "urn:li:dataPlatform:postgres":
            instance = f"urn:li:dataPlatformInstance:({platform},shop)"
            yield "dataPlatformInstance", {"platform": platform, "instance": instance}
        if dataset.container:
            yield "container", {"container": dataset.container}
        if dataset.domain:
            yield "domains", {"domains": [dataset.domain]}
        if dataset.tags or (self.other and not dataset.domain):
            yield "globalTags", self._tags(dataset)
        if dataset.terms:
            yield "glossaryTerms", self._terms(dataset, dataset.terms)
        if dataset.upstreams:
            yield "upstreamLineage", self._lineage(dataset)
        if dataset.siblings:
            yield "siblings", {"siblings": list(dataset.siblings), "primary": platform == "urn:li:dataPlatform:dbt"}
        yield from self._edits(dataset)

    def _edits(self, dataset: Dataset) -> Iterator[tuple[str, Json]]:
        if dataset.edited:
            stamp = self._stamp(dataset, "editableDatasetProperties")
            yield "editableDatasetProperties", {"description": dataset.edited, "created": stamp, "lastModified": stamp}
        if dataset.column_edits:
            edits = [{"fieldPath": path, "description": text} for path, text in dataset.column_edits.items()]
            yield "editableSchemaMetadata", {"editableSchemaFieldInfo": edits}
        if dataset.retention_days is not None:
            retention = {
                "propertyUrn": "urn:li:structuredProperty:shop.retention_days",
                "values": [{"double": float(dataset.retention_days)}],
                "lastModified": self._stamp(dataset, "structuredProperties"),
            }
            yield "structuredProperties", {"properties": [retention]}
        if dataset.links:
            stamp = self._stamp(dataset, "institutionalMemory")
            links = [{"url": url, "description": label, "createStamp": stamp} for url, label in dataset.links]
            yield "institutionalMemory", {"elements": self.turn(links)}
        if dataset.sql:
            yield "viewProperties", {"materialized": True, "viewLogic": dataset.sql, "viewLanguage": "SQL"}
        if dataset.deprecation:
            was = dataset.deprecation
            deprecation: Json = {"deprecated": was.deprecated, "note": was.note, "actor": was.by}
            yield "deprecation", deprecation | ({"decommissionTime": _ms(was.gone)} if was.gone else {})


def _other_entities(speller: Speller) -> Iterator[tuple[str, str, str, Json]]:
    """What stands around the datasets, (entity type, URN, aspect, value); the same facts on all three days."""
    stamp = {"time": _ms(speller.reading.restamped or "2026-02-20T16:00:00Z"), "actor": user("amara")}
    cockpit = "urn:li:dashboard:(looker,sales_cockpit)"
    yield "dashboard", cockpit, "status", {"removed": False}
    yield (
        "dashboard",
        cockpit,
        "dashboardInfo",
        {
            "title": "Sales cockpit",
            "description": "Orders and Umsätze at a glance, every morning ☕",
            "charts": [],
            "datasets": speller.turn([UMSAETZE, FACTS]),
            "lastModified": {"created": stamp, "lastModified": stamp},
            "dashboardUrl": "https://looker.example.com/dashboards/7",
        },
    )
    owners = [{"owner": user("amara"), "type": "BUSINESS_OWNER"}]
    yield "dashboard", cockpit, "ownership", {"owners": owners, "lastModified": stamp}
    for container, name, platform in ((PUBLIC, "public", "postgres"), (MARTS, "marts", "snowflake")):
        properties = {"customProperties": {"database": "shop"}, "name": name}
        yield "container", container, "containerProperties", properties
        yield "container", container, "subTypes", {"typeNames": ["Schema"]}
        instance = {"platform": f"urn:li:dataPlatform:{platform}"}
        yield "container", container, "dataPlatformInstance", instance
    tags = ((PII, "PII", "Personal data"), (GOLD, "gold", "Checked daily"), (STREAM, "stream", "Arrives at once"))
    for urn, name, text in tags:
        yield "tag", urn, "tagProperties", {"name": name, "description": text}
    term = {"name": "Net revenue", "definition": "What is left of the total after discounts.", "termSource": "INTERNAL"}
    yield "glossaryTerm", NET_REVENUE, "glossaryTermInfo", term
    for urn, name in ((SALES, "Sales"), (CRM, "Customers and loyalty")):
        yield "domain", urn, "domainProperties", {"name": name, "description": None if speller.other else ""}
    product = {"name": "Order insights", "assets": speller.turn([{"destinationUrn": u} for u in (FACTS, UMSAETZE)])}
    yield "dataProduct", "urn:li:dataProduct:order_insights", "dataProductProperties", product
    profile = {"timestampMillis": _ms(speller.reading.observed), "rowCount": speller.reading.rows}
    yield "dataset", ORDERS, "datasetProfile", profile


def records(reading: Reading, shop: tuple[Dataset, ...]) -> list[Json]:
    """A reading's records: MCPs, and MCEs for the datasets that arrive as snapshots."""
    speller = Speller(reading)

    def system(source: str) -> Json:
        day = reading.observed.replace("-", "_").replace("T", "-").replace(":", "_").rstrip("Z")
        return {"lastObserved": _ms(reading.observed), "runId": f"{source}-{day}"}

    def proposal(kind: str, urn: str, aspect: str, value: Json, source: str) -> Json:
        wire: Json = {"json": value}
        if speller.other and (urn, aspect) == (CUSTOMERS, "ownership"):
            wire = {"value": json.dumps(value), "contentType": "application/json"}
        return {
            "entityType": kind,
            "entityUrn": urn,
            "changeType": "UPSERT",
            "aspectName": aspect,
            "aspect": wire,
            "systemMetadata": system(source),
        }

    found: list[Json] = []
    for dataset in shop:
        source = _platform(dataset.urn).rsplit(":", 1)[1]
        snapshot = dataset.snapshot and not (speller.other and dataset.urn == CUSTOMERS)
        inside: list[Json] = []
        for name, value in speller.aspects(dataset, snapshot=snapshot):
            if snapshot and name in _IN_SNAPSHOT:
                inside.append({f"com.linkedin.pegasus2avro.{_IN_SNAPSHOT[name]}": value})
            else:
                found.append(proposal("dataset", dataset.urn, name, value, source))
        if inside:
            union = {"urn": dataset.urn, "aspects": inside}
            found.append(
                {
                    "proposedSnapshot": {"com.linkedin.pegasus2avro.metadata.snapshot.DatasetSnapshot": union},
                    "systemMetadata": system(source),
                }
            )
    found += [proposal(*entity, "shop-glossary") for entity in _other_entities(speller)]
    if reading.respelled:
        random.Random(reading.file).shuffle(found)
    return found


def write(reading: Reading, shop: tuple[Dataset, ...], folder: Path) -> Path:
    """Writes a reading, one space deep where the file sink takes four; a respelled one escaped to ASCII."""
    path = folder / reading.file
    parts = [json.dumps(record, indent=1, ensure_ascii=reading.respelled) for record in records(reading, shop)]
    path.write_text("[\n" + ",\n".join(parts) + "\n]\n", encoding="utf-8", newline="\n")
    return path


def main() -> None:
    catalog = HERE / "catalog"
    catalog.mkdir(exist_ok=True)
    shop_on_friday, truth = friday()
    write(MONDAY, SHOP, catalog)
    write(TUESDAY, SHOP, catalog)
    write(FRIDAY, shop_on_friday, catalog)
    text = json.dumps([asdict(change) for change in truth], indent=2, ensure_ascii=False)
    (HERE / "truth.json").write_text(text + "\n", encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
