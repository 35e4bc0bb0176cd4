"""PATCH as DataHub applies it: JSON Patch over an aspect whose lists of records are seen as maps by their keys.

`arrayPrimaryKeys` in the patch names the keys; without it DataHub has a template for some aspects and none for others.
"""

from __future__ import annotations

import copy

from palimpsest.core.aspects.aspect import Json

Value = dict[str, Json]
Keys = dict[str, tuple[str, ...]]

# What DataHub's templates key without being told. An empty tuple: a list of plain strings, keyed by themselves.
_EDGES: Keys = {
    "inputDatasetEdges": ("destinationUrn",),
    "outputDatasetEdges": ("destinationUrn",),
    "inputDatajobEdges": ("destinationUrn",),
    "inputEdges": ("destinationUrn",),
    "chartEdges": ("destinationUrn",),
    "datasetEdges": ("destinationUrn",),
    "dashboards": ("destinationUrn",),
    "assets": ("destinationUrn",),
}
TEMPLATES: dict[str, Keys] = {
    "globalTags": {"tags": ("tag",)},
    "glossaryTerms": {"terms": ("urn",)},
    "ownership": {"owners": ("owner", "type")},
    "upstreamLineage": {"upstreams": ("dataset",), "fineGrainedLineages": ()},
    "datasetProperties": {},
    "editableSchemaMetadata": {"editableSchemaFieldInfo": ("fieldPath",)},
    "structuredProperties": {"properties": ("propertyUrn",)},
    "dataJobInputOutput": {**_EDGES, "inputDatasets": (), "outputDatasets": (), "fineGrainedLineages": ()},
    "dataJobInfo": {},
    "dataFlowInfo": {},
    "chartInfo": {**_EDGES, "inputs": ()},
    "dashboardInfo": {**_EDGES, "charts": (), "datasets": ()},
    "dataProductProperties": _EDGES,
    "propertyDefinition": {},
    "siblings": {"siblings": ()},
    "domains": {"domains": ()},
    "subTypes": {"typeNames": ()},
    "documentation": {},
}
# Lists inside one column's edit.
_NESTED: Keys = {"tags": ("tag",), "terms": ("urn",)}
_FINE = "fineGrainedLineages"


class PatchError(Exception):
    """The patch cannot be applied; DataHub answers 500."""


def apply(aspect: str, held: Value | None, patch: Json) -> Value:
    """The value after the patch. Raises PatchError."""
    keys: Keys | None
    if isinstance(patch, dict):
        told = patch.get("arrayPrimaryKeys")
        operations = patch.get("patch")
        keys = {
            path: tuple(str(name) for name in names) for path, names in told.items() if isinstance(names, list)
        } if isinstance(told, dict) and told else TEMPLATES.get(aspect)  # fmt: skip
    else:
        operations, keys = patch, TEMPLATES.get(aspect)
    if keys is None:
        raise PatchError(f"Cannot invoke a template of {aspect}: it is null")
    if not isinstance(operations, list):
        raise PatchError("a patch is a list of operations")
    tree = _to_maps(copy.deepcopy(held or {}), keys)
    for operation in operations:
        if not isinstance(operation, dict):
            raise PatchError("an operation is an object")
        _operate(tree, str(operation.get("op")), str(operation.get("path")), operation.get("value"))
    return _to_lists(tree, keys)


def _to_maps(value: Value, keys: Keys) -> Value:
    for path, names in keys.items():
        name = path.rsplit("/", 1)[-1]
        listed = value.get(name)
        if name == _FINE:
            value[name] = _fine_map(listed)
        elif isinstance(listed, list):
            value[name] = _keyed(listed, names)
        elif listed is None:
            value[name] = {}
    return value


def _keyed(listed: list[Json], names: tuple[str, ...]) -> Value:
    tree: Value = {}
    for entry in listed:
        if not names:
            tree[str(entry)] = entry
            continue
        if not isinstance(entry, dict):
            continue
        place = tree
        for name in names[:-1]:
            inner = place.setdefault(str(entry.get(name)), {})
            place = inner if isinstance(inner, dict) else {}
        place[str(entry.get(names[-1]))] = _nested(entry)
    return tree


def _nested(entry: Value) -> Value:
    """The tags and terms inside one column's edit are keyed too."""
    for name, inner_name in (("globalTags", "tags"), ("glossaryTerms", "terms")):
        inner = entry.get(name)
        if isinstance(inner, dict):
            entry[name] = _to_maps(inner, {inner_name: _NESTED[inner_name]})
    return entry


def _to_lists(tree: Value, keys: Keys) -> Value:
    for path, names in keys.items():
        name = path.rsplit("/", 1)[-1]
        mapped = tree.get(name)
        if isinstance(mapped, dict):
            listed = _fine_list(mapped) if name == _FINE else _flat(mapped, len(names))
            if listed or path in keys:
                tree[name] = [_unnested(entry) for entry in listed]
    return {name: part for name, part in tree.items() if part != [] or name in _REQUIRED}


# Lists that an aspect must have: an emptied one is stored, any other empty list is no field at all.
_REQUIRED = frozenset(
    {"elements", "owners", "tags", "terms", "upstreams", "properties", "editableSchemaFieldInfo", "siblings", "domains",
     "typeNames", "inputDatasets", "outputDatasets", "charts", "datasets"}
)  # fmt: skip


def _flat(mapped: Value, depth: int) -> list[Json]:
    if depth <= 1:
        return list(mapped.values())
    return [entry for inner in mapped.values() if isinstance(inner, dict) for entry in _flat(inner, depth - 1)]


def _unnested(entry: Json) -> Json:
    if isinstance(entry, dict):
        for name, inner_name in (("globalTags", "tags"), ("glossaryTerms", "terms")):
            inner = entry.get(name)
            if isinstance(inner, dict):
                members = inner.get(inner_name)
                if isinstance(members, dict):
                    inner[inner_name] = list(members.values())
    return entry


def _fine_map(listed: Json) -> Value:
    """Column lineage as a map: operation, downstream, query, upstream."""
    tree: Value = {}
    for entry in listed if isinstance(listed, list) else []:
        if not isinstance(entry, dict):
            continue
        operation, query = str(entry.get("transformOperation") or "NONE"), str(entry.get("query") or "NONE")
        for downstream in _strings(entry.get("downstreams")):
            for upstream in _strings(entry.get("upstreams")) or [""]:
                leaf: Value = {"confidenceScore": entry.get("confidenceScore", 1.0)}
                _child(_child(_child(tree, operation), downstream), query)[upstream] = leaf
    return tree


def _child(tree: Value, name: str) -> Value:
    inner = tree.setdefault(name, {})
    if not isinstance(inner, dict):
        raise PatchError(f"{name} is no map")
    return inner


def _fine_list(tree: Value) -> list[Json]:
    found: list[Json] = []
    for operation, downstreams in tree.items():
        for downstream, queries in (downstreams if isinstance(downstreams, dict) else {}).items():
            for query, upstreams in (queries if isinstance(queries, dict) else {}).items():
                sources = upstreams if isinstance(upstreams, dict) else {}
                if not sources:
                    continue
                leaf = next(iter(sources.values()))
                entry: Value = {
                    "upstreamType": "FIELD_SET",
                    "upstreams": [name for name in sources if name],
                    "downstreamType": "FIELD",
                    "downstreams": [downstream],
                    "confidenceScore": leaf.get("confidenceScore", 1.0) if isinstance(leaf, dict) else 1.0,
                }
                if operation != "NONE":
                    entry["transformOperation"] = operation
                if query != "NONE":
                    entry["query"] = query
                found.append(entry)
    return found


def _strings(value: Json) -> list[str]:
    return [str(entry) for entry in value] if isinstance(value, list) else []


def _operate(tree: Value, op: str, path: str, value: Json) -> None:
    steps = [step.replace("~1", "/").replace("~0", "~") for step in path.split("/")[1:]]
    if not steps:
        raise PatchError("a patch of the whole aspect")
    place: Json = tree
    for step in steps[:-1]:
        place = _step(place, step, make=op == "add")
        if place is None:
            if op == "remove":
                return
            raise PatchError(f"{path}: there is no {step}")
    last = steps[-1]
    if isinstance(place, list):
        _operate_list(place, op, last, value)
    elif not isinstance(place, dict):
        raise PatchError(f"{path} leads into no record")
    elif op == "remove":
        place.pop(last, None)
    elif op in ("add", "replace"):
        place[last] = copy.deepcopy(value)
    elif op != "test":
        raise PatchError(f"unknown operation {op}")


def _step(place: Json, step: str, *, make: bool) -> Json:
    if isinstance(place, list):
        return place[int(step)] if step.isdigit() and int(step) < len(place) else None
    if not isinstance(place, dict):
        return None
    inner = place.get(step)
    if inner is None and make:
        inner = place[step] = {}
    if isinstance(inner, list) and step in _NESTED:
        inner = place[step] = _keyed(inner, _NESTED[step])
    return inner


def _operate_list(place: list[Json], op: str, step: str, value: Json) -> None:
    if op == "add" and step == "-":
        place.append(copy.deepcopy(value))
    elif step.isdigit() and int(step) < len(place):
        if op == "remove":
            del place[int(step)]
        else:
            place[int(step)] = copy.deepcopy(value)
    elif op != "remove":
        raise PatchError(f"no element {step}")
