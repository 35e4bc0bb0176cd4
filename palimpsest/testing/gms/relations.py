"""What an entity is related to: relationships, lineage one step away, members; and its raw aspects."""

from __future__ import annotations

from collections.abc import Iterable

from palimpsest.core.aspects.aspect import Json
from palimpsest.core.jsontext import dumps
from palimpsest.testing.gms.entity import Entity, Made, Resolve, record, records, strings
from palimpsest.testing.gms.lineage import DOWNSTREAM, UPSTREAM
from palimpsest.testing.gms.schemas import fine_grained
from palimpsest.testing.gms.store import Value


def _input_output(entity: Entity, _: Value) -> Made:
    value = entity.aspect("dataJobInputOutput")
    if value is None:
        return None

    def both(plain: str, edges: str) -> list[Entity | None]:
        urns = [*strings(value.get(plain)), *(str(edge.get("destinationUrn")) for edge in records(value.get(edges)))]
        return [entity.other(urn) for urn in dict.fromkeys(urns)]

    return {
        "inputDatasets": both("inputDatasets", "inputDatasetEdges"),
        "outputDatasets": both("outputDatasets", "outputDatasetEdges"),
        "inputDatajobs": both("inputDatajobs", "inputDatajobEdges"),
        "fineGrainedLineages": fine_grained(value),
    }


def _relationships(entity: Entity, args: Value) -> Made:
    asked = args.get("input")
    given: Value = asked if isinstance(asked, dict) else {}
    incoming = given.get("direction") == "INCOMING"
    found: list[tuple[str, str]] = []
    for name in strings(given.get("types")):
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
        return strings([(entity.aspect("container") or {}).get("container")])
    if name == "OwnedBy" and not incoming:
        owners = records((entity.aspect("ownership") or {}).get("owners"))
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
        given = {"count": 1000, **record(args.get("input"))}
        rule: Json = {"field": field, "values": [entity.urn]}
        page = entity.world.index.search({**given, "types": None, "orFilters": [{"and": [rule]}]}, {})
        none: list[Made] = []
        hits = [{"entity": entity.other(urn), "matchedFields": none, "extraProperties": none} for urn in page.urns]
        return {"start": page.start, "count": len(hits), "total": page.total, "searchResults": hits, "facets": []}

    return resolve


def _raw_aspects(entity: Entity, args: Value) -> Made:
    asked = args.get("input")
    names = asked.get("aspectNames") if isinstance(asked, dict) else None
    wanted = strings(names) if isinstance(names, list) else entity.world.store.aspects(entity.urn)
    return [
        {"aspectName": name, "payload": dumps(value).decode()}
        for name in wanted
        if (value := entity.aspect(name)) is not None
    ]


def _no_documents(_entity: Entity, _: Value) -> Made:
    return {"start": 0, "count": 0, "total": 0, "documents": []}


FIELDS: dict[str, Resolve] = {
    "relationships": _relationships,
    "lineage": _lineage,
    "aspects": _raw_aspects,
    "relatedDocuments": _no_documents,
}
"""Fields of any kind of entity."""
OWN: dict[tuple[str, str], Resolve] = {
    ("DataJob", "inputOutput"): _input_output,
    ("Domain", "entities"): _members("domains"),
}
"""Fields of one type."""
