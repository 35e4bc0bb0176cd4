"""Where an entity stands: its platform and instance, its containers, its parents, when it was last ingested."""

from __future__ import annotations

from palimpsest.testing.gms.entity import Entity, Made, Resolve, records
from palimpsest.testing.gms.store import NO_RUN, Value


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
            {"name": entry.get("id"), "entity": entity.other(entry.get("urn"))} for entry in records(value.get("path"))
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


FIELDS: dict[str, Resolve] = {
    "platform": _platform,
    "dataPlatformInstance": _instance,
    "container": _container,
    "parentContainers": _parent_containers,
    "browsePathV2": _browse_path,
    "lastIngested": _last_ingested,
}
"""Fields of any kind of entity."""
OWN: dict[tuple[str, str], Resolve] = {
    ("Domain", "parentDomains"): _parent_chain("domainProperties", "parentDomain", "domains"),
    ("GlossaryTerm", "parentNodes"): _parent_chain("glossaryTermInfo", "parentNode", "nodes"),
    ("GlossaryNode", "parentNodes"): _parent_chain("glossaryNodeInfo", "parentNode", "nodes"),
}
"""Fields of one type."""
