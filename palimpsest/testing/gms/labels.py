"""What people and tools set on an entity: owners, tags, terms, links, status, deprecation, domain, and so on."""

from __future__ import annotations

from palimpsest.core.aspects.aspect import Json
from palimpsest.testing.gms.entity import (
    SYSTEM_ACTOR,
    Entity,
    Made,
    Resolve,
    attribution,
    maybe_stamp,
    records,
    stamp,
    strings,
    text,
)
from palimpsest.testing.gms.store import Value


def tags_of(entity: Entity, value: Json, about: str) -> dict[str, Made] | None:
    """GlobalTags of the raw aspect, or of the field that holds one."""
    if not isinstance(value, dict):
        return None
    return {
        "tags": [
            {
                "tag": tag,
                "associatedUrn": about,
                "context": entry.get("context"),
                "attribution": attribution(entity, entry.get("attribution")),
            }
            for entry in records(value.get("tags"))
            if (tag := entity.other(entry.get("tag"))) is not None
        ]
    }


def terms_of(entity: Entity, value: Json, about: str) -> dict[str, Made] | None:
    """GlossaryTerms of the raw aspect, or of the field that holds one."""
    if not isinstance(value, dict):
        return None
    return {
        "terms": [
            {
                "term": term,
                "actor": entity.other(entry.get("actor")),
                "associatedUrn": about,
                "context": entry.get("context"),
                "attribution": attribution(entity, entry.get("attribution")),
            }
            for entry in records(value.get("terms"))
            if (term := entity.other(entry.get("urn"))) is not None
        ]
    }


def _tags(entity: Entity, _: Value) -> Made:
    return tags_of(entity, entity.aspect("globalTags"), entity.urn)


def _terms(entity: Entity, _: Value) -> Made:
    return terms_of(entity, entity.aspect("glossaryTerms"), entity.urn)


def _ownership(entity: Entity, _: Value) -> Made:
    value = entity.aspect("ownership")
    if value is None:
        return None
    return {
        "owners": [
            {
                "owner": owner,
                "type": entry.get("type") or "NONE",
                "ownershipType": entity.other(
                    entry.get("typeUrn") or f"urn:li:ownershipType:__system__{str(entry.get('type') or 'NONE').lower()}"
                ),
                "associatedUrn": entity.urn,
                "attribution": attribution(entity, entry.get("attribution")),
            }
            for entry in records(value.get("owners"))
            if (owner := entity.other(entry.get("owner"))) is not None
        ],
        "lastModified": stamp(value.get("lastModified")),
    }


def _links(entity: Entity, _: Value) -> Made:
    value = entity.aspect("institutionalMemory")
    if value is None:
        return None
    elements: list[dict[str, Made]] = []
    for entry in records(value.get("elements")):
        created = stamp(entry.get("createStamp"))
        actor = entity.other(text(created["actor"])) or entity.other(SYSTEM_ACTOR)  # type: ignore[arg-type]
        settings = entry.get("settings")
        elements.append(
            {
                "url": entry.get("url"),
                "label": entry.get("description"),
                "description": entry.get("description"),
                "author": entity.other(f"urn:li:corpuser:{actor.parts[0]}") if actor else None,
                "actor": actor,
                "created": created,
                "updated": maybe_stamp(entry.get("updateStamp")),
                "associatedUrn": entity.urn,
                "settings": {"showInAssetPreview": settings.get("showInAssetPreview") is True}
                if isinstance(settings, dict)
                else None,
            }
        )
    return {"elements": elements}


def _status(entity: Entity, _: Value) -> Made:
    value = entity.aspect("status")
    return None if value is None else {"removed": value.get("removed") is True}


def _deprecation(entity: Entity, _: Value) -> Made:
    value = entity.aspect("deprecation")
    if value is None:
        return None
    return {
        "deprecated": value.get("deprecated") is True,
        "decommissionTime": value.get("decommissionTime"),
        "note": value.get("note"),
        "actor": value.get("actor"),
        "actorEntity": entity.other(value.get("actor")),
        "replacement": entity.other(value.get("replacement")),
    }


def _domain(entity: Entity, _: Value) -> Made:
    domains = strings((entity.aspect("domains") or {}).get("domains"))
    return {"domain": entity.other(domains[0]), "associatedUrn": entity.urn} if domains else None


def _sub_types(entity: Entity, _: Value) -> Made:
    value = entity.aspect("subTypes")
    return None if value is None else {"typeNames": strings(value.get("typeNames"))}


def _structured(entity: Entity, _: Value) -> Made:
    value = entity.aspect("structuredProperties")
    if value is None:
        return None
    entries: list[dict[str, Made]] = []
    for entry in records(value.get("properties")):
        values = entry.get("values")
        told = [next(iter(part.values())) if isinstance(part, dict) else part for part in values] if isinstance(
            values, list
        ) else []  # fmt: skip
        entries.append(
            {
                "structuredProperty": entity.other(entry.get("propertyUrn")),
                "values": [
                    {"__typename": "StringValue", "stringValue": part}
                    if isinstance(part, str)
                    else {"__typename": "NumberValue", "numberValue": part}
                    for part in told
                ],
                "valueEntities": [found for part in told if (found := entity.other(part)) is not None],
                "associatedUrn": entity.urn,
                "attribution": attribution(entity, entry.get("attribution")),
            }
        )
    return {"properties": entries}


FIELDS: dict[str, Resolve] = {
    "ownership": _ownership,
    "tags": _tags,
    "globalTags": _tags,
    "glossaryTerms": _terms,
    "institutionalMemory": _links,
    "status": _status,
    "deprecation": _deprecation,
    "domain": _domain,
    "subTypes": _sub_types,
    "structuredProperties": _structured,
}
"""Fields of any kind of entity."""
