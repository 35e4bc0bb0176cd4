"""What an entity is called and said to be: names, properties of each kind, definitions.

A name falls back to the key and a missing stamp to zero, as DataHub's mappers have it.
"""

from __future__ import annotations

from palimpsest.testing.gms.entity import (
    Entity,
    Made,
    Resolve,
    aspect_itself,
    custom,
    maybe_stamp,
    record,
    records,
    resolved_stamp,
    stamp,
    strings,
)
from palimpsest.testing.gms.kinds import kind_of
from palimpsest.testing.gms.store import Value


def _dataset_properties(entity: Entity, _: Value) -> Made:
    value = entity.aspect("datasetProperties")
    if value is None:
        return None
    created, modified = maybe_stamp(value.get("created")), stamp(value.get("lastModified"))
    return {
        "name": value.get("name") or entity.parts[1],
        "qualifiedName": value.get("qualifiedName"),
        "origin": entity.parts[-1],
        "description": value.get("description"),
        "customProperties": custom(value),
        "externalUrl": value.get("externalUrl"),
        "created": created["time"] if created else None,
        "createdActor": created["actor"] if created else None,
        "lastModified": modified,
        "lastModifiedActor": modified["actor"],
    }


def _properties(entity: Entity, _: Value) -> Made:
    """Properties of any kind but datasets: the aspect itself, with what GraphQL calls otherwise."""
    value = entity.aspect(entity.kind.properties)
    if value is None:
        return None
    changed = value.get("lastModified")
    audit: Value = changed if isinstance(changed, dict) else {}
    name = value.get("name") or value.get("title") or value.get("displayName") or entity.parts[-1]
    return {
        **value,
        "name": name,
        "description": value.get("description") or value.get("definition"),
        "customProperties": custom(value),
        "created": stamp(audit.get("created") or value.get("created")),
        "lastModified": stamp(audit.get("lastModified") or changed),
        "deleted": maybe_stamp(audit.get("deleted")),
        "termSource": value.get("termSource") or "INTERNAL",
        "createdOn": maybe_stamp(value.get("created")),
        "active": value.get("active") is not False,
        "type": value.get("type") if entity.kind.name == "chart" else None,
    }


def _edited(entity: Entity, _: Value) -> Made:
    return entity.aspect(entity.kind.edited) if entity.kind.edited else None


def _name(entity: Entity, _: Value) -> Made:
    if entity.kind.name == "glossaryTerm":
        return (entity.aspect("glossaryTermInfo") or {}).get("name") or entity.parts[0].rsplit(".", 1)[-1]
    if entity.kind.name == "tag":
        return entity.parts[0]
    return entity.parts[1] if len(entity.parts) > 1 else entity.parts[0]


def _definition(entity: Entity, _: Value) -> Made:
    value = entity.aspect("propertyDefinition") or {}
    return {
        "qualifiedName": value.get("qualifiedName") or entity.parts[0],
        "displayName": value.get("displayName"),
        "description": value.get("description"),
        "cardinality": value.get("cardinality") or "SINGLE",
        "immutable": value.get("immutable") is True,
        "valueType": entity.other(value.get("valueType") or "urn:li:dataType:datahub.string"),
        "entityTypes": [entity.other(urn) for urn in strings(value.get("entityTypes"))],
        "allowedValues": [
            {
                "value": {"__typename": "StringValue", "stringValue": str(told)}
                if isinstance(told := next(iter(record(entry.get("value")).values()), ""), str)
                else {"__typename": "NumberValue", "numberValue": told},
                "description": entry.get("description"),
            }
            for entry in records(value.get("allowedValues"))
        ],
        "typeQualifier": None,
        "created": resolved_stamp(entity, value.get("created")),
        "lastModified": resolved_stamp(entity, value.get("lastModified")),
    }


def _display_type(entity: Entity, _: Value) -> Made:
    """What a data type or an entity type says of itself."""
    name = entity.parts[0].removeprefix("datahub.")
    kind = kind_of(f"urn:li:{name}:x")
    return {"displayName": name, "type": kind.enum if kind and entity.kind.name == "entityType" else "OTHER"}


def _ownership_type(entity: Entity, _: Value) -> Made:
    name = entity.parts[0].removeprefix("__system__").replace("_", " ").title()
    return entity.aspect("ownershipTypeInfo") or {"name": name, "description": ""}


def _platform_properties(entity: Entity, _: Value) -> Made:
    value = entity.aspect("dataPlatformInfo") or {}
    return {
        "type": value.get("type") or "OTHERS",
        "displayName": value.get("displayName"),
        "datasetNameDelimiter": value.get("datasetNameDelimiter") or ".",
        "logoUrl": value.get("logoUrl"),
    }


def _of_dataset(field: str) -> Resolve:
    return lambda entity, _: (entity.aspect("datasetProperties") or {}).get(field)


FIELDS: dict[str, Resolve] = {"name": _name, "properties": _properties, "editableProperties": _edited}
"""Fields of any kind of entity."""
OWN: dict[tuple[str, str], Resolve] = {
    ("Dataset", "properties"): _dataset_properties,
    ("Dataset", "description"): _of_dataset("description"),
    ("Dataset", "externalUrl"): _of_dataset("externalUrl"),
    ("Dataset", "uri"): _of_dataset("uri"),
    ("Dashboard", "info"): _properties,
    ("Chart", "info"): _properties,
    ("Notebook", "info"): _properties,
    ("CorpUser", "info"): _properties,
    ("CorpUser", "editableInfo"): _edited,
    ("CorpUser", "settings"): aspect_itself("-"),
    ("CorpUser", "status"): aspect_itself("corpUserStatus"),
    ("CorpGroup", "info"): _properties,
    ("DataPlatform", "properties"): _platform_properties,
    ("StructuredPropertyEntity", "definition"): _definition,
    ("StructuredPropertyEntity", "settings"): aspect_itself("structuredPropertySettings"),
    ("OwnershipTypeEntity", "info"): _ownership_type,
    ("DataTypeEntity", "info"): _display_type,
    ("EntityTypeEntity", "info"): _display_type,
}
"""Fields of one type."""
