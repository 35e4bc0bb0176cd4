"""DataHub's wire forms: union-wrapped values and plain ones, the names of raw aspects, stamps.

Older files wrap optional values in Avro unions: {"string": "x"}, {"array": […]}, {"com.linkedin.…": {…}}.
"""

from __future__ import annotations

import re

from palimpsest.core.aspects.aspect import Json
from palimpsest.core.jsontext import dumps
from palimpsest.core.moment import told
from palimpsest.core.observation import RawAspect, Stamp

_PLAIN_UNIONS = frozenset({"string", "array", "map", "long", "int", "boolean", "double", "float"})
_HEAD = re.compile(r"^[A-Z]+(?=[A-Z][a-z])|^[A-Z]+(?![a-z])|^[A-Z]")

# Fields that say who touched a raw aspect, when, or how often: never a fact about the entity.
STAMPS = frozenset(
    {
        "created",
        "lastModified",
        "deleted",
        "auditStamp",
        "createdOn",
        "lastRefreshed",
        "lastObserved",
        "createStamp",
        "updateStamp",
        "attribution",
        "context",
        "impersonator",
        "ownerTypes",
    }
)


# What else a schema carries of its own bookkeeping.
SCHEMA_STAMPS = STAMPS | {"hash", "version", "cluster"}


def stamps_of_part(part: str) -> frozenset[str]:
    """The fields of a raw aspect that are no fact: elsewhere a `version` is one."""
    return SCHEMA_STAMPS if part == "schemaMetadata" else STAMPS


# Members of these lists carry stamps of their own.
_STAMPED_LISTS = ("upstreams", "elements", "tags", "terms", "owners")
# Fields that hold an audit stamp.
_AUDITED = frozenset({"lastModified", "auditStamp", "updateStamp", "createStamp", "created", "attribution"})


def unwrap(value: Json) -> Json:
    """The value inside a union wrapper; anything else as it is."""
    if isinstance(value, dict) and len(value) == 1:
        (name, inner), *_ = value.items()
        if name in _PLAIN_UNIONS or name.startswith("com.linkedin."):
            return inner
    return value


def unwrap_deep(value: Json) -> Json:
    """The value with every union wrapper in it taken off, and every stamp left out."""
    inner = unwrap(value)
    if isinstance(inner, dict):
        return {name: unwrap_deep(part) for name, part in inner.items() if name not in STAMPS}
    if isinstance(inner, list):
        return [unwrap_deep(part) for part in inner]
    return inner


def text(value: Json) -> str:
    """A text, or an empty one for null. Raises ValueError for anything that is no scalar."""
    inner = unwrap(value)
    if inner is None:
        return ""
    if isinstance(inner, str):
        return inner
    if isinstance(inner, bool):
        return "true" if inner else "false"
    if isinstance(inner, int | float):
        return str(inner)
    raise ValueError(f"expected text, found {type(inner).__name__}")


def listing(value: Json) -> list[Json]:
    """A list, or an empty one for null. Raises ValueError for anything else."""
    inner = unwrap(value)
    if inner is None:
        return []
    if not isinstance(inner, list):
        raise ValueError(f"expected a list, found {type(inner).__name__}")
    return inner


def record(value: Json) -> dict[str, Json]:
    """A record, or an empty one for null. Raises ValueError for anything else."""
    if isinstance(value, dict) and not (len(value) == 1 and next(iter(value)).startswith("com.linkedin.")):
        return value
    inner = unwrap(value)
    if inner is None:
        return {}
    if not isinstance(inner, dict):
        raise ValueError(f"expected a record, found {type(inner).__name__}")
    return inner


def mapping(value: Json) -> dict[str, Json]:
    """A map of names to values: plain, or as {"map": {…}}."""
    if isinstance(value, dict) and set(value) == {"map"} and isinstance(value["map"], dict):
        return value["map"]
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ValueError(f"expected a map, found {type(value).__name__}")
    return value


def part_of_class(name: str) -> str:
    """The raw aspect's name for its class: `com.…common.Ownership` → `ownership`, `MLModelInfo` → `mlModelInfo`."""
    short = name.rsplit(".", 1)[-1]
    return _HEAD.sub(lambda found: found[0].lower(), short, count=1)


def stamp_of(value: Json) -> Stamp:
    """Who wrote a raw aspect and when: the newest audit stamp at its top or on its members. Zero is no time."""
    best = Stamp()
    if not isinstance(value, dict):
        return best
    places: list[Json] = [value]
    for name in ("upstreams", "elements", "owners", "tags", "terms", "properties"):
        listed = value.get(name)
        if isinstance(listed, list):
            places.extend(listed[:200])
    for place in places:
        if not isinstance(place, dict):
            continue
        for name, stamp in place.items():
            if name not in _AUDITED:
                continue
            found = _audit(stamp)
            if found.at is not None and (best.at is None or found.at > best.at):
                best = found
    if best.at is None and isinstance(value.get("actor"), str):
        return Stamp(actor=str(value["actor"]))
    return best


def _audit(value: Json) -> Stamp:
    """The stamp of an AuditStamp, of a ChangeAuditStamps (its own lastModified), or of a TimeStamp."""
    inner = unwrap(value)
    if not isinstance(inner, dict):
        return Stamp()
    nested = inner.get("lastModified")
    if isinstance(nested, dict):
        return _audit(nested)
    at, actor = inner.get("time"), inner.get("actor")
    return Stamp(at=told(at), actor=actor if isinstance(actor, str) else "")


def without_stamps(body: Json, payload: bytes, stamps: frozenset[str]) -> bytes:
    """What the digest of a raw aspect is taken of: itself without the stamps that a mere re-ingestion changes."""
    if not isinstance(body, dict):
        return payload
    stripped = body
    if not stamps.isdisjoint(body):
        stripped = {name: part for name, part in body.items() if name not in stamps}
    for name in _STAMPED_LISTS:
        members = stripped.get(name)
        if isinstance(members, list) and any(isinstance(m, dict) and not stamps.isdisjoint(m) for m in members):
            if stripped is body:
                stripped = dict(body)
            stripped[name] = [
                {field: part for field, part in m.items() if field not in stamps} if isinstance(m, dict) else m
                for m in members
            ]
    return payload if stripped is body else dumps(stripped)


def live_aspect(urn: str, part: str, value: dict[str, Json]) -> RawAspect:
    """A raw aspect as a live catalog states it: whole, and at the time of the reading.

    Raises ValueError or RecursionError when it cannot be written as JSON.
    """
    payload = dumps(value)
    return RawAspect(urn, part, payload, False, without_stamps(value, payload, stamps_of_part(part)), None, "")
