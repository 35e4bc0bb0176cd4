"""An entity as a GraphQL query meets it, and the small parts that its fields are made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from graphql import GraphQLError

from palimpsest.core.aspects.aspect import Json
from palimpsest.testing.gms.kinds import Kind, kind_of, parts_of
from palimpsest.testing.gms.store import Value

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


def text(value: Json) -> str | None:
    return value if isinstance(value, str) else None


def records(value: Json) -> list[Value]:
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def strings(value: Json) -> list[str]:
    return [entry for entry in value if isinstance(entry, str)] if isinstance(value, list) else []


def stamp(value: Json) -> dict[str, Made]:
    """An audit stamp; zero where there is none, as DataHub answers what may not be null."""
    if isinstance(value, dict) and isinstance(value.get("time"), int):
        return {"time": value["time"], "actor": value.get("actor")}
    return {"time": 0, "actor": None}


def resolved_stamp(entity: Entity, value: Json) -> dict[str, Made]:
    plain = stamp(value)
    return {
        "time": plain["time"],
        "actor": entity.other(text(value.get("actor")) if isinstance(value, dict) else None),
    }


def maybe_stamp(value: Json) -> dict[str, Made] | None:
    return stamp(value) if isinstance(value, dict) else None


def custom(value: Value) -> list[dict[str, Made]]:
    custom = value.get("customProperties")
    return [{"key": key, "value": text} for key, text in custom.items()] if isinstance(custom, dict) else []


def attribution(entity: Entity, value: Json) -> dict[str, Made] | None:
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


def record(value: Json) -> Value:
    return value if isinstance(value, dict) else {}


def key_part(at: int) -> Resolve:
    return lambda entity, _: entity.parts[at] if -len(entity.parts) <= at < len(entity.parts) else ""


def aspect_itself(name: str) -> Resolve:
    return lambda entity, _: entity.aspect(name)


def self_part(attribute: str) -> Resolve:
    return lambda entity, _: entity.urn if attribute == "urn" else entity.kind.enum
