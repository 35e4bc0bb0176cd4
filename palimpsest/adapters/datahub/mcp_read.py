"""Answers of DataHub's MCP server into raw aspects, purely: one function for each raw aspect that it shows.

The server strips what is empty, so nothing here states an absence: only what is there is stated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from palimpsest.adapters.datahub.wire import live_aspect
from palimpsest.core.aspects.aspect import Json
from palimpsest.core.entity import kind_of
from palimpsest.core.jsontext import dumps
from palimpsest.core.observation import Failed, RawAspect

Value = dict[str, Json]

# Kind → the raw aspect with its main properties, and the one with the edited ones.
PROPERTIES_OF: dict[str, str] = {
    "dataset": "datasetProperties",
    "dashboard": "dashboardInfo",
    "chart": "chartInfo",
    "dataFlow": "dataFlowInfo",
    "dataJob": "dataJobInfo",
    "container": "containerProperties",
    "domain": "domainProperties",
    "dataProduct": "dataProductProperties",
    "glossaryTerm": "glossaryTermInfo",
    "glossaryNode": "glossaryNodeInfo",
    "tag": "tagProperties",
}
_EDITED_OF: dict[str, str] = {
    "dataset": "editableDatasetProperties",
    "dashboard": "editableDashboardProperties",
    "chart": "editableChartProperties",
    "dataFlow": "editableDataFlowProperties",
    "dataJob": "editableDataJobProperties",
    "container": "editableContainerProperties",
}
# What else the server shows of ML entities is spread over several raw aspects: only their labels are read.
_ML = ("mlModel", "mlModelGroup", "mlFeature", "mlFeatureTable")
KINDS = (*PROPERTIES_OF, *_ML)

# Raw aspects that `get_aspect_history` answers about.
HISTORY_PARTS = (
    "datasetProperties",
    "deprecation",
    "domains",
    "editableDatasetProperties",
    "editableSchemaMetadata",
    "globalTags",
    "glossaryTerms",
    "ownership",
    "schemaMetadata",
    "status",
    "structuredProperties",
    "upstreamLineage",
)
# A value of these that history holds is spelled otherwise than the reading spells it: only its absence is taken.
_OTHERWISE_SPELLED = {"schemaMetadata": "fields", "upstreamLineage": "upstreams"}
_COLUMN_FIELDS = ("nativeDataType", "nullable", "description", "label", "isPartOfKey", "isPartitioningKey", "recursive")
_COLUMN_EDITS = ("editedDescription", "editedTags", "editedGlossaryTerms")
_NOT_FOUND = "not found"


def shown_parts(*, history: bool) -> frozenset[str]:
    """The raw aspects that this source can ever state; `history` says that the server has `get_aspect_history`."""
    always = {*PROPERTIES_OF.values(), *_EDITED_OF.values(), *_READERS, "status", "schemaMetadata", "upstreamLineage"}
    return frozenset(always | ({"editableSchemaMetadata"} if history else set()))


def is_missing(entry: Value) -> bool:
    """Whether an entry of `get_entities` says that the catalog has no such entity."""
    error = entry.get("error")
    return isinstance(error, str) and error == f"Entity {entry.get('urn')} {_NOT_FOUND}"


def aspects_of(urn: str, entity: Value, columns: list[Value] | None) -> Iterator[RawAspect | Failed]:
    """What `get_entities` shows of one entity. `columns` are all of its columns, None where it has no schema."""
    yield live_aspect(urn, "status", {"removed": False})
    kind = kind_of(urn) or ""
    for part, value in _stated(kind, entity, columns):
        try:
            yield live_aspect(urn, part, value)
        except (ValueError, RecursionError) as error:
            yield Failed(f"{urn} {part}", str(error))


def _stated(kind: str, entity: Value, columns: list[Value] | None) -> Iterator[tuple[str, Value]]:
    properties = _record(entity.get("properties"))
    if properties and kind in PROPERTIES_OF:
        yield PROPERTIES_OF[kind], main_properties(properties)
    edited = _record(entity.get("editableProperties"))
    if edited and kind in _EDITED_OF:
        yield _EDITED_OF[kind], {name: edited[name] for name in ("name", "description") if name in edited}
    for part, read in _READERS.items():
        value = read(entity)
        if value:
            yield part, value
    if columns is not None:
        yield "schemaMetadata", schema(_record(entity.get("schemaMetadata")), columns)


def main_properties(properties: Value) -> Value:
    """`datasetProperties` and its like."""
    plain = ("name", "description", "externalUrl", "project", "access", "type", "termSource", "sourceRef", "sourceUrl")
    value: Value = {name: properties[name] for name in plain if name in properties}
    pairs = [_record(entry) for entry in _listing(properties.get("customProperties"))]
    if pairs:
        value["customProperties"] = {str(pair["key"]): pair.get("value") or "" for pair in pairs if "key" in pair}
    return value


def ownership(entity: Value) -> Value:
    """`ownership`: the type's URN where there is one, else the old word for it."""
    owners: list[Json] = []
    for entry in _records(_record(entity.get("ownership")).get("owners")):
        owner: Value = {"owner": _urn(entry.get("owner")), "type": entry.get("type") or "NONE"}
        type_urn = _urn(entry.get("ownershipType"))
        if type_urn:
            owner["typeUrn"] = type_urn
        if owner["owner"]:
            owners.append(owner)
    return {"owners": owners} if owners else {}


def global_tags(entity: Value) -> Value:
    """`globalTags`."""
    urns = [_urn(entry.get("tag")) for entry in _records(_record(entity.get("tags")).get("tags"))]
    return {"tags": [{"tag": urn} for urn in urns if urn]} if any(urns) else {}


def glossary_terms(entity: Value) -> Value:
    """`glossaryTerms`."""
    urns = [_urn(entry.get("term")) for entry in _records(_record(entity.get("glossaryTerms")).get("terms"))]
    return {"terms": [{"urn": urn} for urn in urns if urn]} if any(urns) else {}


def domains(entity: Value) -> Value:
    """`domains`: the server shows one."""
    urn = _urn(_record(entity.get("domain")).get("domain"))
    return {"domains": [urn]} if urn else {}


def sub_types(entity: Value) -> Value:
    """`subTypes`."""
    names = _listing(_record(entity.get("subTypes")).get("typeNames"))
    return {"typeNames": names} if names else {}


def structured_properties(entity: Value) -> Value:
    """`structuredProperties`."""
    assigned: list[Json] = []
    for entry in _records(_record(entity.get("structuredProperties")).get("properties")):
        urn = _urn(entry.get("structuredProperty"))
        values: list[Json] = []
        for each in _records(entry.get("values")):
            value = each.get("stringValue", each.get("numberValue"))
            if value is not None:
                values.append({"double": value} if isinstance(value, int | float) else {"string": value})
        if urn:
            assigned.append({"propertyUrn": urn, "values": values})
    return {"properties": assigned} if assigned else {}


def deprecation(entity: Value) -> Value:
    """`deprecation`."""
    found = _record(entity.get("deprecation"))
    names = ("deprecated", "note", "decommissionTime", "actor")
    return {name: found[name] for name in names if name in found} if "deprecated" in found else {}


def view_properties(entity: Value) -> Value:
    """`viewProperties`."""
    found = _record(entity.get("viewProperties"))
    spelled = {"logic": "viewLogic", "language": "viewLanguage", "materialized": "materialized"}
    return {raw: found[name] for name, raw in spelled.items() if name in found}


_READERS: dict[str, Callable[[Value], Value]] = {
    "ownership": ownership,
    "globalTags": global_tags,
    "glossaryTerms": glossary_terms,
    "domains": domains,
    "subTypes": sub_types,
    "structuredProperties": structured_properties,
    "deprecation": deprecation,
    "viewProperties": view_properties,
}


def schema(shown: Value, columns: list[Value]) -> Value:
    """`schemaMetadata`: the columns as the server shows them, in the order of their paths; it has one of its own."""
    fields: list[Json] = []
    for column in sorted(columns, key=lambda column: str(column.get("fieldPath"))):
        field: Value = {"fieldPath": column.get("fieldPath")}
        field.update({name: column[name] for name in _COLUMN_FIELDS if name in column})
        fields.append(field)
    value: Value = {"fields": fields}
    if shown.get("name"):
        value["schemaName"] = shown["name"]
    if shown.get("primaryKeys"):
        value["primaryKeys"] = shown["primaryKeys"]
    keys = [_foreign_key(entry) for entry in _records(shown.get("foreignKeys"))]
    if keys:
        value["foreignKeys"] = [key for key in keys if key.get("name")]
    return value


def _foreign_key(entry: Value) -> Value:
    def paths(name: str) -> list[Json]:
        return [field.get("fieldPath") for field in _records(entry.get(name))]

    return {
        "name": entry.get("name"),
        "foreignDataset": _urn(entry.get("foreignDataset")),
        "sourceFields": paths("sourceFields"),
        "foreignFields": paths("foreignFields"),
    }


def has_column_edits(columns: list[Value] | None) -> bool:
    """Whether people have edited a column. The server words the edits by names; history has them by URN."""
    return any(name in column for column in columns or () for name in _COLUMN_EDITS)


def upstreams(urn: str, found: list[str]) -> RawAspect | None:
    """`upstreamLineage` of the datasets that `get_lineage` names; None where it names none, which may be its cache."""
    datasets = sorted({each for each in found if kind_of(each) == "dataset"})
    return (
        live_aspect(urn, "upstreamLineage", {"upstreams": [{"dataset": each} for each in datasets]})
        if datasets
        else None
    )


def lineage_page(answer: Value) -> tuple[list[str], int]:
    """(URNs that came, how many there are) of a `get_lineage` answer."""
    found = _record(answer.get("upstreams") or answer.get("downstreams"))
    total = found.get("total")
    urns = [_urn(result.get("entity")) for result in _records(found.get("searchResults"))]
    return [urn for urn in urns if urn], total if isinstance(total, int) else 0


def search_page(answer: Value) -> tuple[list[str], int]:
    """(URNs that came, how many there are) of a `search` answer."""
    total = answer.get("total")
    if not isinstance(total, int):
        raise ValueError("the listing does not say how many there are")
    urns = [_urn(result.get("entity")) for result in _records(answer.get("searchResults"))]
    return [urn for urn in urns if urn], total


def facet(answer: Value, *names: str) -> dict[str, int]:
    """Value → count of the first facet that has one of these names."""
    for entry in _records(answer.get("facets")):
        if entry.get("field") in names:
            found: dict[str, int] = {}
            for each in _records(entry.get("aggregations")):
                value, count = each.get("value"), each.get("count")
                if isinstance(value, str) and value and isinstance(count, int) and count > 0:
                    found[value] = count
            return found
    return {}


def of_history(entry: Value) -> RawAspect | Failed | None:
    """One pair of a `get_aspect_history` answer: the raw aspect now, empty where it was never written or is gone.

    None where that cannot be told: the value is cut, or is spelled otherwise than the reading spells it.
    """
    urn, part, current = entry.get("urn"), entry.get("aspectName"), entry.get("current")
    if not isinstance(urn, str) or not isinstance(part, str):
        return None
    error = entry.get("error")
    if error:
        return None if _NOT_FOUND in str(error) else Failed(f"{urn} {part}", str(error)[:300])
    held = _record(current)
    if held.get("valueTruncated"):
        return None
    value = _record(held.get("value"))
    spelled = _OTHERWISE_SPELLED.get(part)
    if spelled is not None:
        return None if value.get(spelled) else live_aspect(urn, part, {spelled: []})
    value = _as_shown(part, value)
    stamp = held.get("auditStamp")
    if isinstance(stamp, dict):
        value = {**value, "auditStamp": stamp}
    try:
        dumps(value)
        return live_aspect(urn, part, value)
    except (ValueError, RecursionError) as problem:
        return Failed(f"{urn} {part}", str(problem))


# Of a raw aspect that history gives whole, what the reading shows of it.
_SHOWN_FIELDS: dict[str, tuple[str, ...]] = {
    "datasetProperties": ("name", "description", "externalUrl", "customProperties"),
    "editableDatasetProperties": ("name", "description"),
    "deprecation": ("deprecated", "note", "decommissionTime", "actor"),
}


def _as_shown(part: str, value: Value) -> Value:
    if part == "status":
        return {"removed": value.get("removed") is True}
    if part == "domains":
        return {"domains": _listing(value.get("domains"))[:1]}
    fields = _SHOWN_FIELDS.get(part)
    return value if fields is None else {name: value[name] for name in fields if name in value}


def _record(value: Json) -> Value:
    return value if isinstance(value, dict) else {}


def _listing(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def _records(value: Json) -> list[Value]:
    return [entry for entry in _listing(value) if isinstance(entry, dict)]


def _urn(value: Json) -> str:
    urn = _record(value).get("urn")
    return urn if isinstance(urn, str) else ""
