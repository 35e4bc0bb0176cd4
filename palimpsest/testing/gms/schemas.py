"""The schema of a dataset and what is told beside it: edits of columns, view logic, siblings, column lineage."""

from __future__ import annotations

from palimpsest.core.aspects.aspect import Json
from palimpsest.core.entity import split_field
from palimpsest.testing.gms.entity import Entity, Made, Resolve, attribution, records, strings
from palimpsest.testing.gms.labels import tags_of, terms_of
from palimpsest.testing.gms.store import Value

_TYPES = {
    "BooleanType": "BOOLEAN",
    "FixedType": "FIXED",
    "StringType": "STRING",
    "BytesType": "BYTES",
    "NumberType": "NUMBER",
    "DateType": "DATE",
    "TimeType": "TIME",
    "EnumType": "ENUM",
    "NullType": "NULL",
    "ArrayType": "ARRAY",
    "MapType": "MAP",
    "RecordType": "STRUCT",
    "UnionType": "UNION",
}


def _field_type(value: Json) -> str:
    inner = value.get("type") if isinstance(value, dict) else None
    name = next(iter(inner), "") if isinstance(inner, dict) else ""
    return _TYPES.get(name.rsplit(".", 1)[-1], "NULL")


def _schema(entity: Entity, args: Value) -> Made:
    asked = args.get("version")
    number = asked if isinstance(asked, int) else 0
    version = entity.world.store.get(entity.urn, "schemaMetadata", number)
    if version is None:
        return None
    value = version.value
    return {
        "aspectVersion": number,
        "datasetUrn": value.get("dataset") or entity.urn,
        "name": value.get("schemaName") or "",
        "platformUrn": value.get("platform") or entity.parts[0],
        "version": value.get("version") or 0,
        "cluster": value.get("cluster"),
        "hash": value.get("hash") or "",
        "platformSchema": _platform_schema(value.get("platformSchema")),
        "fields": [_schema_field(entity, entry) for entry in records(value.get("fields"))],
        "primaryKeys": strings(value.get("primaryKeys")) if value.get("primaryKeys") is not None else None,
        "foreignKeys": [_foreign_key(entity, entry) for entry in records(value.get("foreignKeys"))]
        if value.get("foreignKeys") is not None
        else None,
        "createdAt": version.at,
    }


def _platform_schema(value: Json) -> Made:
    inner = next(iter(value.values()), None) if isinstance(value, dict) else None
    if not isinstance(inner, dict):
        return None
    if "keySchema" in inner and "valueSchema" in inner:
        return {"__typename": "KeyValueSchema", "keySchema": inner["keySchema"], "valueSchema": inner["valueSchema"]}
    spelled = next((text for text in inner.values() if isinstance(text, str)), None)
    return None if spelled is None else {"__typename": "TableSchema", "schema": spelled}


def _schema_field(entity: Entity, entry: Value) -> dict[str, Made]:
    path = str(entry.get("fieldPath"))
    labels = tags_of(entity, entry.get("globalTags"), entity.urn)
    return {
        "fieldPath": path,
        "jsonPath": entry.get("jsonPath"),
        "label": entry.get("label"),
        "nullable": entry.get("nullable") is True,
        "description": entry.get("description"),
        "type": _field_type(entry.get("type")),
        "nativeDataType": entry.get("nativeDataType"),
        "recursive": entry.get("recursive") is True,
        "globalTags": labels,
        "tags": labels,
        "glossaryTerms": terms_of(entity, entry.get("glossaryTerms"), entity.urn),
        "isPartOfKey": entry.get("isPartOfKey") is True,
        "isPartitioningKey": entry.get("isPartitioningKey"),
        "jsonProps": entry.get("jsonProps"),
        "schemaFieldEntity": entity.other(f"urn:li:schemaField:({entity.urn},{path})"),
    }


def _foreign_key(entity: Entity, entry: Value) -> dict[str, Made]:
    return {
        "name": entry.get("name"),
        "sourceFields": [entity.other(urn) for urn in strings(entry.get("sourceFields"))],
        "foreignFields": [entity.other(urn) for urn in strings(entry.get("foreignFields"))],
        "foreignDataset": entity.other(entry.get("foreignDataset")),
    }


def _edited_schema(entity: Entity, _: Value) -> Made:
    value = entity.aspect("editableSchemaMetadata")
    if value is None:
        return None
    fields: list[dict[str, Made]] = []
    for entry in records(value.get("editableSchemaFieldInfo")):
        labels = tags_of(entity, entry.get("globalTags"), entity.urn)
        fields.append(
            {
                "fieldPath": entry.get("fieldPath"),
                "description": entry.get("description"),
                "globalTags": labels,
                "tags": labels,
                "glossaryTerms": terms_of(entity, entry.get("glossaryTerms"), entity.urn),
            }
        )
    return {"editableSchemaFieldInfo": fields}


def _view(entity: Entity, _: Value) -> Made:
    value = entity.aspect("viewProperties")
    if value is None:
        return None
    return {
        "materialized": value.get("materialized") is True,
        "logic": value.get("viewLogic") or "",
        "formattedLogic": value.get("formattedViewLogic"),
        "language": value.get("viewLanguage") or "",
    }


def _siblings(entity: Entity, _: Value) -> Made:
    value = entity.aspect("siblings")
    if value is None:
        return None
    return {
        "isPrimary": value.get("primary") is True,
        "siblings": [entity.other(urn) for urn in strings(value.get("siblings"))],
    }


def _field_refs(value: Json) -> list[dict[str, Made]]:
    split = [split_field(urn) for urn in strings(value)]
    return [{"urn": dataset, "path": path} for dataset, path in split if path]


def fine_grained(value: Value | None) -> Made:
    if value is None or value.get("fineGrainedLineages") is None:
        return None
    return [
        {
            "upstreams": _field_refs(entry.get("upstreams")),
            "downstreams": _field_refs(entry.get("downstreams")),
            "query": entry.get("query"),
            "transformOperation": entry.get("transformOperation"),
        }
        for entry in records(value.get("fineGrainedLineages"))
    ]


def _documentation(entity: Entity, _: Value) -> Made:
    value = entity.aspect("documentation")
    if value is None:
        return None
    return {
        "documentations": [
            {"documentation": entry.get("documentation"), "attribution": attribution(entity, entry.get("attribution"))}
            for entry in records(value.get("documentations"))
        ]
    }


OWN: dict[tuple[str, str], Resolve] = {
    ("SchemaFieldEntity", "documentation"): _documentation,
    ("Dataset", "schemaMetadata"): _schema,
    ("Dataset", "editableSchemaMetadata"): _edited_schema,
    ("Dataset", "viewProperties"): _view,
    ("Dataset", "siblings"): _siblings,
    ("Dataset", "fineGrainedLineages"): lambda entity, _: fine_grained(entity.aspect("upstreamLineage")),
    ("SchemaFieldEntity", "fieldPath"): lambda entity, _: split_field(entity.urn)[1],
    ("SchemaFieldEntity", "parent"): lambda entity, _: entity.other(split_field(entity.urn)[0]),
}
"""Fields of one type."""
