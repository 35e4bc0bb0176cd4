"""Metadata files into the double's store: MCE and MCP records, PATCH applied, wire forms as DataHub stores them.

Unlike our own reader it takes every raw aspect, known to us or not; only measurements over time are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from palimpsest.adapters.datahub.cells import READERS, TIME_SERIES
from palimpsest.adapters.datahub.records import files_of, stream
from palimpsest.adapters.datahub.wire import part_of_class
from palimpsest.core.aspects.aspect import Json
from palimpsest.core.jsontext import loads
from palimpsest.core.moment import Moment, told
from palimpsest.testing.gms import patching
from palimpsest.testing.gms.store import SYSTEM, AspectStore, Value

_WRAPPERS = frozenset({"string", "array", "map", "long", "int", "boolean", "double", "float", "bytes"})
# Unions with several members, which keep the member's name.
_UNIONS = frozenset({"platformSchema", "values", "allowedValues", "documentSchema"})
_SPELLED = {part.casefold(): part for part in (*READERS, *TIME_SERIES)}
_SPELLED |= {"structuredpropertydefinition": "propertyDefinition"}


def load(store: AspectStore, path: Path, *, at: Moment | None = None, actor: str = "") -> int:
    """Ingest every record of a file or folder. Returns how many aspects that were. Raises CatalogError, UsageError.

    `at` is the time of the writes; without it, each record's own `lastObserved`, else the store's clock.
    """
    count = 0
    for file in files_of(path):
        for value in stream(file):
            count += ingest(store, value, at=at, actor=actor)
    return count


def ingest(store: AspectStore, value: Json, *, at: Moment | None = None, actor: str = "") -> int:
    """Ingest one record, MCE or MCP. Returns the number of aspects."""
    if not isinstance(value, dict):
        return 0
    system = value.get("systemMetadata")
    given: Value = dict(system) if isinstance(system, dict) else {}
    when = at if at is not None else told(given.get("lastObserved"))
    count = 0
    for urn, part, change, body in _aspects(value):
        if part in TIME_SERIES:
            continue
        if change == "DELETE":
            store.drop(urn, part)
            continue
        try:
            whole = patching.apply(part, store.value(urn, part), body) if change == "PATCH" else body
        except patching.PatchError:
            continue
        if not isinstance(whole, dict):
            continue
        store.put(urn, part, whole, actor=actor or SYSTEM, at=when, system=given)
        count += 1
    return count


def _aspects(value: Value) -> Iterator[tuple[str, str, str, Json]]:
    """(URN, raw aspect, change, body) of each aspect in a record."""
    snapshot = value.get("proposedSnapshot")
    if isinstance(snapshot, dict) and len(snapshot) == 1:
        body = next(iter(snapshot.values()))
        if not isinstance(body, dict) or not isinstance(body.get("urn"), str):
            return
        listed = body.get("aspects")
        for entry in listed if isinstance(listed, list) else []:
            if isinstance(entry, dict) and len(entry) == 1:
                (name, inner), *_ = entry.items()
                part = part_of_class(name)
                yield str(body["urn"]), _SPELLED.get(part.casefold(), part), "UPSERT", plain(inner, wrapped=True)
        return
    urn, named = value.get("entityUrn"), value.get("aspectName")
    if isinstance(urn, str) and isinstance(named, str):
        change = str(value.get("changeType") or "UPSERT")
        yield urn, named, change, plain(body_of(value.get("aspect")), wrapped=False)


def body_of(aspect: Json) -> Json:
    """The value of an MCP's aspect: plain JSON, or JSON text beside its content type. Raises ValueError."""
    if isinstance(aspect, dict):
        if "json" in aspect:
            return aspect["json"]
        if isinstance(aspect.get("value"), str):
            return loads(str(aspect["value"]))
    return aspect


def plain(value: Json, *, wrapped: bool, field: str = "") -> Json:
    """The value as DataHub stores it: no Avro wrapper around an optional value, no `pegasus2avro` in a class name."""
    if isinstance(value, list):
        return [plain(part, wrapped=wrapped, field=field) for part in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        (name, inner), *_ = value.items()
        if name.startswith("com.linkedin."):
            if field in _UNIONS or field == "type" or not wrapped:
                return {name.replace(".pegasus2avro", ""): plain(inner, wrapped=wrapped)}
            return plain(inner, wrapped=wrapped, field=field)
        if wrapped and name in _WRAPPERS and field not in _UNIONS and _fits(name, inner, field):
            return plain(inner, wrapped=wrapped, field=field)
    if field == "customProperties":
        return dict(value)
    return {name: plain(part, wrapped=wrapped, field=name) for name, part in value.items()}


def _fits(name: str, inner: Json, field: str) -> bool:
    """Whether this is a wrapper, and not a map of custom properties with one of that name."""
    if field == "customProperties":
        return name == "map" and isinstance(inner, dict)
    return True
