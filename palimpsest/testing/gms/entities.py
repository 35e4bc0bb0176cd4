"""Entities as DataHub's GraphQL shows them, computed from their aspects: one function a field.

An aspect that is not there is null. Names fall back to the key, missing stamps to zero, ownership types to the system's
own: as DataHub's mappers do. Not here: queries that find entities.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from graphql import GraphQLError

from palimpsest.core.aspects.aspect import Json
from palimpsest.core.entity import split_field
from palimpsest.core.jsontext import dumps
from palimpsest.testing.gms.kinds import Kind, kind_of, parts_of
from palimpsest.testing.gms.lineage import DOWNSTREAM, UPSTREAM
from palimpsest.testing.gms.store import NO_RUN, Value

if TYPE_CHECKING:
    from palimpsest.testing.gms.answers import World

SYSTEM_ACTOR = "urn:li:corpuser:unknown"


@dataclass(frozen=True, slots=True)
class Entity:
    """An entity as a query meets it: its URN, and the world that its aspects are read from."""

    world: World
    urn: str
    kind: Kind

    def aspect(self, name: str) -> Value | None:
        """The current value of an aspect; None where there is none."""
        found = self.world.store.get(self.urn, name)
        return found.value if found else None

    @property
    def parts(self) -> list[str]:
        """The parts of its key."""
        return parts_of(self.urn)

    def other(self, urn: Json) -> Entity | None:
        """Another entity, by its URN."""
        return entity_of(self.world, urn)


Made = object
Resolve = Callable[[Entity, Value], Made]


def entity_of(world: World, urn: Json) -> Entity | None:
    """The entity of a URN, whether it exists or not; None where it is no URN of a kind that is known."""
    kind = kind_of(urn) if isinstance(urn, str) else None
    return Entity(world, urn, kind) if kind is not None and isinstance(urn, str) else None


def system_error(message: str, code: int = 500, kind: str = "SERVER_ERROR") -> GraphQLError:
    """An error as DataHub's GraphQL words one."""
    return GraphQLError(message, extensions={"code": code, "type": kind, "classification": "DataFetchingException"})


# --- small parts --------------------------------------------------------------------------------------------------


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) else None


def _records(value: Json) -> list[Value]:
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def _strings(value: Json) -> list[str]:
    return [entry for entry in value if isinstance(entry, str)] if isinstance(value, list) else []


def _stamp(value: Json) -> dict[str, Made]:
    """An audit stamp; zero where there is none, as DataHub answers what may not be null."""
    if isinstance(value, dict) and isinstance(value.get("time"), int):
        return {"time": value["time"], "actor": value.get("actor")}
    return {"time": 0, "actor": None}


def _resolved_stamp(entity: Entity, value: Json) -> dict[str, Made]:
    plain = _stamp(value)
    return {
        "time": plain["time"],
        "actor": entity.other(_text(value.get("actor")) if isinstance(value, dict) else None),
    }


def _maybe_stamp(value: Json) -> dict[str, Made] | None:
    return _stamp(value) if isinstance(value, dict) else None


def _custom(value: Value) -> list[dict[str, Made]]:
    custom = value.get("customProperties")
    return [{"key": key, "value": text} for key, text in custom.items()] if isinstance(custom, dict) else []


def _attribution(entity: Entity, value: Json) -> dict[str, Made] | None:
    if not isinstance(value, dict):
        return None
    detail = value.get("sourceDetail")
    return {
        "time": value.get("time") or 0,
        "actor": entity.other(value.get("actor")) or entity.other(SYSTEM_ACTOR),
        "source": entity.other(value.get("source")),
        "sourceDetail": [{"key": key, "value": text} for key, text in detail.items()]
        if isinstance(detail, dict)
        else [],
    }


# --- labels -------------------------------------------------------------------------------------------------------


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
                "attribution": _attribution(entity, entry.get("attribution")),
            }
            for entry in _records(value.get("tags"))
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
                "attribution": _attribution(entity, entry.get("attribution")),
            }
            for entry in _records(value.get("terms"))
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
                "attribution": _attribution(entity, entry.get("attribution")),
            }
            for entry in _records(value.get("owners"))
            if (owner := entity.other(entry.get("owner"))) is not None
        ],
        "lastModified": _stamp(value.get("lastModified")),
    }


def _links(entity: Entity, _: Value) -> Made:
    value = entity.aspect("institutionalMemory")
    if value is None:
        return None
    elements: list[dict[str, Made]] = []
    for entry in _records(value.get("elements")):
        created = _stamp(entry.get("createStamp"))
        actor = entity.other(_text(created["actor"])) or entity.other(SYSTEM_ACTOR)  # type: ignore[arg-type]
        settings = entry.get("settings")
        elements.append(
            {
                "url": entry.get("url"),
                "label": entry.get("description"),
                "description": entry.get("description"),
                "author": entity.other(f"urn:li:corpuser:{actor.parts[0]}") if actor else None,
                "actor": actor,
                "created": created,
                "updated": _maybe_stamp(entry.get("updateStamp")),
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
    domains = _strings((entity.aspect("domains") or {}).get("domains"))
    return {"domain": entity.other(domains[0]), "associatedUrn": entity.urn} if domains else None


def _sub_types(entity: Entity, _: Value) -> Made:
    value = entity.aspect("subTypes")
    return None if value is None else {"typeNames": _strings(value.get("typeNames"))}


def _structured(entity: Entity, _: Value) -> Made:
    value = entity.aspect("structuredProperties")
    if value is None:
        return None
    entries: list[dict[str, Made]] = []
    for entry in _records(value.get("properties")):
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
                "attribution": _attribution(entity, entry.get("attribution")),
            }
        )
    return {"properties": entries}


# --- where an entity stands ---------------------------------------------------------------------------------------


def _platform(entity: Entity, _: Value) -> Made:
    placed = (entity.aspect("dataPlatformInstance") or {}).get("platform")
    parts = entity.parts
    if entity.kind.name in ("dataset", "mlModel", "mlModelGroup", "mlFeatureTable", "dataPlatformInstance"):
        return entity.other(parts[0])
    if isinstance(placed, str):
        return entity.other(placed)
    if entity.kind.name in ("dashboard", "chart", "dataFlow", "notebook"):
        return entity.other(f"urn:li:dataPlatform:{parts[0]}")
    if entity.kind.name == "dataJob" and (flow := entity.other(parts[0])) is not None:
        return entity.other(f"urn:li:dataPlatform:{flow.parts[0]}")
    return None if entity.kind.name == "dataJob" else entity.other("urn:li:dataPlatform:unknown")


def _instance(entity: Entity, _: Value) -> Made:
    return entity.other((entity.aspect("dataPlatformInstance") or {}).get("instance"))


def _container(entity: Entity, _: Value) -> Made:
    return entity.other((entity.aspect("container") or {}).get("container"))


def _parent_containers(entity: Entity, _: Value) -> Made:
    found: list[Entity] = []
    at = _container(entity, {})
    while isinstance(at, Entity) and at not in found:
        found.append(at)
        at = _container(at, {})
    return {"count": len(found), "containers": found}


def _browse_path(entity: Entity, _: Value) -> Made:
    value = entity.aspect("browsePathsV2")
    if value is None:
        return None
    return {
        "path": [
            {"name": entry.get("id"), "entity": entity.other(entry.get("urn"))} for entry in _records(value.get("path"))
        ]
    }


def _parent_chain(aspect: str, member: str, names: str) -> Resolve:
    def resolve(entity: Entity, _: Value) -> Made:
        found: list[Entity] = []
        at = entity.other((entity.aspect(aspect) or {}).get(member))
        while at is not None and at not in found:
            found.append(at)
            at = at.other((at.aspect(at.kind.properties) or {}).get(member))
        return {"count": len(found), names: found}

    return resolve


def _last_ingested(entity: Entity, _: Value) -> Made:
    seen = [
        observed
        for name in entity.world.store.aspects(entity.urn)
        if (version := entity.world.store.get(entity.urn, name)) is not None
        and version.system.get("runId") != NO_RUN
        and isinstance(observed := version.system.get("lastObserved"), int)
    ]
    return max(seen, default=None)


# --- properties ---------------------------------------------------------------------------------------------------


def _dataset_properties(entity: Entity, _: Value) -> Made:
    value = entity.aspect("datasetProperties")
    if value is None:
        return None
    created, modified = _maybe_stamp(value.get("created")), _stamp(value.get("lastModified"))
    return {
        "name": value.get("name") or entity.parts[1],
        "qualifiedName": value.get("qualifiedName"),
        "origin": entity.parts[-1],
        "description": value.get("description"),
        "customProperties": _custom(value),
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
        "customProperties": _custom(value),
        "created": _stamp(audit.get("created") or value.get("created")),
        "lastModified": _stamp(audit.get("lastModified") or changed),
        "deleted": _maybe_stamp(audit.get("deleted")),
        "termSource": value.get("termSource") or "INTERNAL",
        "createdOn": _maybe_stamp(value.get("created")),
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


def _key_part(at: int) -> Resolve:
    return lambda entity, _: entity.parts[at] if -len(entity.parts) <= at < len(entity.parts) else ""


# --- schema -------------------------------------------------------------------------------------------------------

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
        "fields": [_schema_field(entity, entry) for entry in _records(value.get("fields"))],
        "primaryKeys": _strings(value.get("primaryKeys")) if value.get("primaryKeys") is not None else None,
        "foreignKeys": [_foreign_key(entity, entry) for entry in _records(value.get("foreignKeys"))]
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
        "sourceFields": [entity.other(urn) for urn in _strings(entry.get("sourceFields"))],
        "foreignFields": [entity.other(urn) for urn in _strings(entry.get("foreignFields"))],
        "foreignDataset": entity.other(entry.get("foreignDataset")),
    }


def _edited_schema(entity: Entity, _: Value) -> Made:
    value = entity.aspect("editableSchemaMetadata")
    if value is None:
        return None
    fields: list[dict[str, Made]] = []
    for entry in _records(value.get("editableSchemaFieldInfo")):
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
        "siblings": [entity.other(urn) for urn in _strings(value.get("siblings"))],
    }


def _field_refs(value: Json) -> list[dict[str, Made]]:
    split = [split_field(urn) for urn in _strings(value)]
    return [{"urn": dataset, "path": path} for dataset, path in split if path]


def _fine_grained(value: Value | None) -> Made:
    if value is None or value.get("fineGrainedLineages") is None:
        return None
    return [
        {
            "upstreams": _field_refs(entry.get("upstreams")),
            "downstreams": _field_refs(entry.get("downstreams")),
            "query": entry.get("query"),
            "transformOperation": entry.get("transformOperation"),
        }
        for entry in _records(value.get("fineGrainedLineages"))
    ]


def _input_output(entity: Entity, _: Value) -> Made:
    value = entity.aspect("dataJobInputOutput")
    if value is None:
        return None

    def both(plain: str, edges: str) -> list[Entity | None]:
        urns = [*_strings(value.get(plain)), *(str(edge.get("destinationUrn")) for edge in _records(value.get(edges)))]
        return [entity.other(urn) for urn in dict.fromkeys(urns)]

    return {
        "inputDatasets": both("inputDatasets", "inputDatasetEdges"),
        "outputDatasets": both("outputDatasets", "outputDatasetEdges"),
        "inputDatajobs": both("inputDatajobs", "inputDatajobEdges"),
        "fineGrainedLineages": _fine_grained(value),
    }


# --- relations ----------------------------------------------------------------------------------------------------


def _relationships(entity: Entity, args: Value) -> Made:
    asked = args.get("input")
    given: Value = asked if isinstance(asked, dict) else {}
    incoming = given.get("direction") == "INCOMING"
    found: list[tuple[str, str]] = []
    for name in _strings(given.get("types")):
        found += [(name, urn) for urn in _related(entity, name, incoming)]
    start, count = given.get("start"), given.get("count")
    first = start if isinstance(start, int) else 0
    shown = found[first : first + count] if isinstance(count, int) else found[first:]
    return {
        "start": first,
        "count": len(shown),
        "total": len(found),
        "relationships": [
            {"type": name, "direction": given.get("direction"), "entity": entity.other(urn), "created": None}
            for name, urn in shown
        ],
    }


def _related(entity: Entity, name: str, incoming: bool) -> Iterable[str]:
    if name == "DataProductContains" and incoming:
        return entity.world.lineage.products_of(entity.urn)
    if name == "DownstreamOf":
        return entity.world.lineage.neighbours(entity.urn, DOWNSTREAM if incoming else UPSTREAM)
    if name == "IsPartOf" and not incoming:
        return _strings([(entity.aspect("container") or {}).get("container")])
    if name == "OwnedBy" and not incoming:
        owners = _records((entity.aspect("ownership") or {}).get("owners"))
        return [str(entry.get("owner")) for entry in owners]
    return ()


def _lineage(entity: Entity, args: Value) -> Made:
    asked = args.get("input")
    given: Value = asked if isinstance(asked, dict) else {}
    direction = str(given.get("direction"))
    alive = [
        urn
        for urn in entity.world.lineage.neighbours(entity.urn, direction)
        if entity.world.store.exists(urn) and not entity.world.store.is_removed(urn)
    ]
    start, count = given.get("start"), given.get("count")
    first = start if isinstance(start, int) else 0
    shown = alive[first : first + count] if isinstance(count, int) else alive[first:]
    return {
        "start": first,
        "count": len(shown),
        "total": len(alive),
        "filtered": 0,
        "relationships": [
            {"type": "DownstreamOf", "entity": entity.other(urn), "degree": 1, "paths": []} for urn in shown
        ],
    }


def _members(field: str) -> Resolve:
    """The entities that search finds with this entity in a field: what is in a domain, in a container."""

    def resolve(entity: Entity, args: Value) -> Made:
        given = {"count": 1000, **_dict(args.get("input"))}
        rule: Json = {"field": field, "values": [entity.urn]}
        page = entity.world.index.search({**given, "types": None, "orFilters": [{"and": [rule]}]}, {})
        none: list[Made] = []
        hits = [{"entity": entity.other(urn), "matchedFields": none, "extraProperties": none} for urn in page.urns]
        return {"start": page.start, "count": len(hits), "total": page.total, "searchResults": hits, "facets": []}

    return resolve


def _raw_aspects(entity: Entity, args: Value) -> Made:
    asked = args.get("input")
    names = asked.get("aspectNames") if isinstance(asked, dict) else None
    wanted = _strings(names) if isinstance(names, list) else entity.world.store.aspects(entity.urn)
    return [
        {"aspectName": name, "payload": dumps(value).decode()}
        for name in wanted
        if (value := entity.aspect(name)) is not None
    ]


def _definition(entity: Entity, _: Value) -> Made:
    value = entity.aspect("propertyDefinition") or {}
    return {
        "qualifiedName": value.get("qualifiedName") or entity.parts[0],
        "displayName": value.get("displayName"),
        "description": value.get("description"),
        "cardinality": value.get("cardinality") or "SINGLE",
        "immutable": value.get("immutable") is True,
        "valueType": entity.other(value.get("valueType") or "urn:li:dataType:datahub.string"),
        "entityTypes": [entity.other(urn) for urn in _strings(value.get("entityTypes"))],
        "allowedValues": [
            {
                "value": {"__typename": "StringValue", "stringValue": str(told)}
                if isinstance(told := next(iter(_dict(entry.get("value")).values()), ""), str)
                else {"__typename": "NumberValue", "numberValue": told},
                "description": entry.get("description"),
            }
            for entry in _records(value.get("allowedValues"))
        ],
        "typeQualifier": None,
        "created": _resolved_stamp(entity, value.get("created")),
        "lastModified": _resolved_stamp(entity, value.get("lastModified")),
    }


def _dict(value: Json) -> Value:
    return value if isinstance(value, dict) else {}


def _no_documents(_entity: Entity, _: Value) -> Made:
    return {"start": 0, "count": 0, "total": 0, "documents": []}


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


def _aspect_itself(name: str) -> Resolve:
    return lambda entity, _: entity.aspect(name)


def _self(attribute: str) -> Resolve:
    return lambda entity, _: entity.urn if attribute == "urn" else entity.kind.enum


# Fields that any kind answers alike.
COMMON: dict[str, Resolve] = {
    "urn": _self("urn"),
    "type": _self("type"),
    "exists": lambda entity, _: entity.world.store.exists(entity.urn),
    "lastIngested": _last_ingested,
    "platform": _platform,
    "dataPlatformInstance": _instance,
    "container": _container,
    "parentContainers": _parent_containers,
    "browsePathV2": _browse_path,
    "name": _name,
    "properties": _properties,
    "editableProperties": _edited,
    "ownership": _ownership,
    "status": _status,
    "deprecation": _deprecation,
    "institutionalMemory": _links,
    "tags": _tags,
    "globalTags": _tags,
    "glossaryTerms": _terms,
    "domain": _domain,
    "subTypes": _sub_types,
    "structuredProperties": _structured,
    "relationships": _relationships,
    "lineage": _lineage,
    "aspects": _raw_aspects,
    "relatedDocuments": _no_documents,
    "health": lambda _entity, _: [],
    "privileges": lambda entity, _: {"canEditLinks": entity.world.may_write},
}
# Fields that one type answers in its own way.
OWN: dict[tuple[str, str], Resolve] = {
    ("Dataset", "properties"): _dataset_properties,
    ("Dataset", "origin"): _key_part(-1),
    ("Dataset", "schemaMetadata"): _schema,
    ("Dataset", "editableSchemaMetadata"): _edited_schema,
    ("Dataset", "viewProperties"): _view,
    ("Dataset", "siblings"): _siblings,
    ("Dataset", "fineGrainedLineages"): lambda entity, _: _fine_grained(entity.aspect("upstreamLineage")),
    ("Dataset", "description"): lambda entity, _: (entity.aspect("datasetProperties") or {}).get("description"),
    ("Dataset", "externalUrl"): lambda entity, _: (entity.aspect("datasetProperties") or {}).get("externalUrl"),
    ("Dataset", "uri"): lambda entity, _: (entity.aspect("datasetProperties") or {}).get("uri"),
    ("Dashboard", "tool"): _key_part(0),
    ("Dashboard", "dashboardId"): _key_part(1),
    ("Dashboard", "info"): _properties,
    ("Notebook", "tool"): _key_part(0),
    ("Notebook", "notebookId"): _key_part(1),
    ("Notebook", "info"): _properties,
    ("Chart", "tool"): _key_part(0),
    ("Chart", "chartId"): _key_part(1),
    ("Chart", "info"): _properties,
    ("DataJob", "jobId"): _key_part(1),
    ("DataJob", "dataFlow"): lambda entity, _: entity.other(entity.parts[0]),
    ("DataJob", "inputOutput"): _input_output,
    ("DataFlow", "orchestrator"): _key_part(0),
    ("DataFlow", "flowId"): _key_part(1),
    ("DataFlow", "cluster"): _key_part(2),
    ("Domain", "id"): _key_part(0),
    ("Domain", "entities"): _members("domains"),
    ("Domain", "parentDomains"): _parent_chain("domainProperties", "parentDomain", "domains"),
    ("GlossaryTerm", "hierarchicalName"): _key_part(0),
    ("GlossaryTerm", "parentNodes"): _parent_chain("glossaryTermInfo", "parentNode", "nodes"),
    ("GlossaryNode", "parentNodes"): _parent_chain("glossaryNodeInfo", "parentNode", "nodes"),
    ("CorpUser", "username"): _key_part(0),
    ("CorpUser", "info"): _properties,
    ("CorpUser", "editableInfo"): _edited,
    ("CorpUser", "settings"): _aspect_itself("-"),
    ("CorpUser", "status"): _aspect_itself("corpUserStatus"),
    ("CorpGroup", "name"): _key_part(0),
    ("CorpGroup", "info"): _properties,
    ("DataPlatform", "name"): _key_part(0),
    ("DataPlatform", "properties"): _platform_properties,
    ("DataPlatformInstance", "instanceId"): _key_part(-1),
    ("SchemaFieldEntity", "fieldPath"): lambda entity, _: split_field(entity.urn)[1],
    ("SchemaFieldEntity", "parent"): lambda entity, _: entity.other(split_field(entity.urn)[0]),
    ("StructuredPropertyEntity", "definition"): _definition,
    ("StructuredPropertyEntity", "settings"): _aspect_itself("structuredPropertySettings"),
    ("OwnershipTypeEntity", "info"): _ownership_type,
    ("DataTypeEntity", "info"): _display_type,
    ("EntityTypeEntity", "info"): _display_type,
    ("MLModel", "origin"): _key_part(-1),
    ("MLModelGroup", "origin"): _key_part(-1),
}
