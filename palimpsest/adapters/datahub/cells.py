"""Raw DataHub aspects into observations: one reader for each raw aspect that is remembered.

A field that has no aspect of its own becomes an `attribute`, so that nothing a remembered raw aspect states is lost.
Empty text, null and absence are one: they state nothing. An empty list where a set is expected is a statement.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from palimpsest.adapters.datahub.members import (
    downstream_key,
    edge_member,
    link_member,
    owner_member,
    required,
    source_column,
    tag_member,
    term_member,
    upstream_member,
)
from palimpsest.adapters.datahub.wire import (
    SCHEMA_STAMPS,
    STAMPS,
    listing,
    mapping,
    record,
    stamp_of,
    text,
    unwrap,
    unwrap_deep,
)
from palimpsest.core.aspects import existence
from palimpsest.core.aspects.aspect import Json
from palimpsest.core.aspects.form import compact, is_empty, squeeze
from palimpsest.core.aspects.sets import Member, set_value
from palimpsest.core.entity import split_field
from palimpsest.core.jsontext import loads
from palimpsest.core.link import is_ours
from palimpsest.core.observation import Observation, Seen
from palimpsest.core.paths import simple_path

Reader = Callable[[str, dict[str, Json]], Iterator[Observation]]


def _set(members: Iterator[Member]) -> Json:
    return set_value(frozenset(members))


def _rest(fields: dict[str, Json], handled: frozenset[str]) -> Iterator[Observation]:
    for name, value in fields.items():
        if name in handled or name in STAMPS:
            continue
        plain = unwrap_deep(value)
        if not is_empty(compact(plain)):
            yield Observation("attribute", name, plain)


def _stated(aspect: str, key: str, value: Json) -> Iterator[Observation]:
    found = text(value)
    if squeeze(found):
        yield Observation(aspect, key, found)


# --- readers ----------------------------------------------------------------------------------------------------


def _status(urn: str, fields: dict[str, Json]) -> Iterator[Observation]:
    removed = unwrap(fields.get("removed"))
    gone = removed is True or removed == "true"
    yield Observation("existence", "", existence.absent(existence.STATUS) if gone else existence.present())


_NAMES = ("name", "title", "displayName")
_DESCRIPTIONS = ("description", "definition", "documentation")
# Fields of properties-like raw aspects that list what the entity is made from.
_UPSTREAM_FIELDS = (
    "inputs",
    "inputEdges",
    "charts",
    "chartEdges",
    "datasets",
    "datasetEdges",
    "dashboards",
    "sources",
    "mlFeatures",
    "mlPrimaryKeys",
    "trainingJobs",
)
_PROPERTIES_HANDLED = frozenset((*_NAMES, *_DESCRIPTIONS, *_UPSTREAM_FIELDS, "customProperties", "assets", "tags"))


def _properties(urn: str, fields: dict[str, Json]) -> Iterator[Observation]:
    for name in _NAMES:
        if fields.get(name) is not None:
            yield from _stated("name", "source", fields[name])
            break
    for name in _DESCRIPTIONS:
        if fields.get(name) is not None:
            yield from _stated("description", "source", fields[name])
            break
    for name, value in mapping(fields.get("customProperties")).items():
        yield Observation("property", name, text(value))
    listed = [name for name in _UPSTREAM_FIELDS if fields.get(name) is not None]
    if listed:
        members = (edge_member(entry) for name in listed for entry in listing(fields[name]))
        yield Observation("upstreams", "", _set(members))
    if fields.get("assets") is not None:
        assets = (edge_member(entry)[:1] for entry in listing(fields["assets"]))
        yield Observation("data_product", "", _set(assets))
    old_tags = fields.get("tags")
    if old_tags is not None and not is_empty(compact(unwrap_deep(old_tags))):
        yield Observation("attribute", "tags", unwrap_deep(old_tags))
    yield from _rest(fields, _PROPERTIES_HANDLED)


_EDITED_HANDLED = frozenset((*_NAMES, *_DESCRIPTIONS))


def _edited(urn: str, fields: dict[str, Json]) -> Iterator[Observation]:
    for name in _NAMES:
        yield from _stated("name", "edited", fields.get(name))
    for name in _DESCRIPTIONS:
        yield from _stated("description", "edited", fields.get(name))
    yield from _rest(fields, _EDITED_HANDLED)


def _ownership(urn: str, fields: dict[str, Json]) -> Iterator[Observation]:
    yield Observation("ownership", "", _set(owner_member(entry) for entry in listing(fields.get("owners"))))


def _tags(urn: str, fields: dict[str, Json]) -> Iterator[Observation]:
    yield Observation("tags", "", _set(tag_member(entry) for entry in listing(fields.get("tags"))))


def _terms(urn: str, fields: dict[str, Json]) -> Iterator[Observation]:
    yield Observation("terms", "", _set(term_member(entry) for entry in listing(fields.get("terms"))))


def _domains(urn: str, fields: dict[str, Json]) -> Iterator[Observation]:
    yield Observation("domain", "", _set((text(entry),) for entry in listing(fields.get("domains"))))


def _siblings(urn: str, fields: dict[str, Json]) -> Iterator[Observation]:
    yield Observation("siblings", "", _set((text(entry),) for entry in listing(fields.get("siblings"))))
    yield from _rest(fields, frozenset({"siblings"}))


def _sub_types(urn: str, fields: dict[str, Json]) -> Iterator[Observation]:
    yield Observation("sub_type", "", _set((text(entry),) for entry in listing(fields.get("typeNames"))))


def _container(urn: str, fields: dict[str, Json]) -> Iterator[Observation]:
    yield from _stated("container", "", fields.get("container"))


def _platform_instance(urn: str, fields: dict[str, Json]) -> Iterator[Observation]:
    value: dict[str, Json] = {"platform": text(fields.get("platform")), "instance": text(fields.get("instance"))}
    yield Observation("platform_instance", "", value)


def _view(urn: str, fields: dict[str, Json]) -> Iterator[Observation]:
    value: dict[str, Json] = {
        "logic": text(fields.get("viewLogic")),
        "language": text(fields.get("viewLanguage")),
        "materialized": unwrap(fields.get("materialized")) is True,
    }
    yield Observation("view_definition", "", value)


def _deprecation(urn: str, fields: dict[str, Json]) -> Iterator[Observation]:
    value: dict[str, Json] = {
        "deprecated": unwrap(fields.get("deprecated")) is True,
        "note": text(fields.get("note")),
        "decommission_time": unwrap(fields.get("decommissionTime")),
        "replacement": text(fields.get("replacement")),
    }
    yield Observation("deprecation", "", value)


def _links(urn: str, fields: dict[str, Json]) -> Iterator[Observation]:
    members = (link_member(entry) for entry in listing(fields.get("elements")))
    yield Observation("links", "", _set(member for member in members if not is_ours(member[0])))


def _structured_properties(urn: str, fields: dict[str, Json]) -> Iterator[Observation]:
    for entry in listing(fields.get("properties")):
        yield structured_property(entry)


def structured_property(entry: Json) -> Observation:
    """The cell of one structured property assignment."""
    assigned = record(entry)
    values = ((_plain_number(text(value)),) for value in listing(assigned.get("values")))
    return Observation("structured_property", required(assigned, "propertyUrn"), _set(values))


def _plain_number(spelled: str) -> str:
    return spelled[:-2] if spelled.endswith(".0") and spelled[:-2].lstrip("-").isdigit() else spelled


_SCHEMA_HANDLED = SCHEMA_STAMPS | {"fields", "foreignKeys", "platform", "primaryKeys", "foreignKeysSpecs", "dataset"}
_FIELD_HANDLED = frozenset(
    {
        "fieldPath",
        "type",
        "nativeDataType",
        "nullable",
        "isPartOfKey",
        "description",
        "globalTags",
        "glossaryTerms",
    }
)


def _schema(urn: str, fields: dict[str, Json]) -> Iterator[Observation]:
    keys = {simple_path(text(name)) for name in listing(fields.get("primaryKeys"))}
    for entry in listing(fields.get("fields")):
        yield _column(record(entry), keys)
    for entry in listing(fields.get("foreignKeys")):
        yield _foreign_key(record(entry))
    yield from _rest(fields, _SCHEMA_HANDLED)


def _column(field: dict[str, Json], keys: set[str]) -> Observation:
    path = required(field, "fieldPath")
    value: dict[str, Json] = {"path": path}
    logical = _logical_type(field.get("type"))
    if logical:
        value["type"] = logical
    native = text(field.get("nativeDataType"))
    if native:
        value["native_type"] = native
    if unwrap(field.get("nullable")):
        value["nullable"] = True
    if unwrap(field.get("isPartOfKey")) or (keys and simple_path(path) in keys):
        value["part_of_key"] = True
    if field.get("description"):
        value["description"] = text(field["description"])
    _labels(field, value)
    for name, part in field.items():
        if name not in _FIELD_HANDLED and name not in STAMPS and part is not None and part is not False:
            plain = unwrap_deep(part)
            if not is_empty(compact(plain)):
                value[name] = plain
    return Observation("column", path, value)


def _labels(field: dict[str, Json], value: dict[str, Json]) -> None:
    if field.get("globalTags"):
        tags = sorted({tag_member(entry)[0] for entry in listing(record(field["globalTags"]).get("tags"))})
        if tags:
            value["tags"] = list(tags)
    if field.get("glossaryTerms"):
        terms = sorted({term_member(entry)[0] for entry in listing(record(field["glossaryTerms"]).get("terms"))})
        if terms:
            value["terms"] = list(terms)


def _logical_type(value: Json) -> str:
    """`String` of {"type": {"type": {"com.linkedin.schema.StringType": {}}}}."""
    if not isinstance(value, dict):
        return ""
    inner = value.get("type", value)
    if isinstance(inner, dict) and inner:
        name = next(iter(inner)).rsplit(".", 1)[-1]
        return name.removesuffix("Type")
    return text(inner) if isinstance(inner, str) else ""


def _foreign_key(fields: dict[str, Json]) -> Observation:
    own = [simple_path(split_field(text(entry))[1] or text(entry)) for entry in listing(fields.get("sourceFields"))]
    theirs = [simple_path(split_field(text(entry))[1] or text(entry)) for entry in listing(fields.get("foreignFields"))]
    value: dict[str, Json] = {
        "columns": list(own),
        "foreign_dataset": text(fields.get("foreignDataset")),
        "foreign_columns": list(theirs),
    }
    return Observation("foreign_key", required(fields, "name"), value)


def _editable_schema(urn: str, fields: dict[str, Json]) -> Iterator[Observation]:
    for entry in listing(fields.get("editableSchemaFieldInfo")):
        found = column_edit(entry)
        if found is not None:
            yield found


def column_edit(entry: Json) -> Observation | None:
    """The cell of one column's edit; None when it says nothing."""
    field = record(entry)
    path = required(field, "fieldPath")
    value: dict[str, Json] = {"path": path}
    if squeeze(text(field.get("description"))):
        value["description"] = text(field["description"])
    _labels(field, value)
    for name, part in field.items():
        plain = unwrap_deep(part)
        if name not in _FIELD_HANDLED and name not in STAMPS and not is_empty(compact(plain)):
            value[name] = plain
    return Observation("column_edit", path, value) if len(value) > 1 else None


_LINEAGE_HANDLED = frozenset({"upstreams", "fineGrainedLineages"})


def _upstream_lineage(urn: str, fields: dict[str, Json]) -> Iterator[Observation]:
    if fields.get("upstreams") is not None or not fields.get("fineGrainedLineages"):
        yield Observation("upstreams", "", _set(upstream_member(entry) for entry in listing(fields.get("upstreams"))))
    yield from _column_lineage(urn, fields)
    yield from _rest(fields, _LINEAGE_HANDLED)


def _column_lineage(urn: str, fields: dict[str, Json]) -> Iterator[Observation]:
    sources: dict[str, set[Member]] = {}
    for entry in listing(fields.get("fineGrainedLineages")):
        lineage = record(entry)
        operation = text(lineage.get("transformOperation"))
        upstreams = {source_column(text(upstream), operation) for upstream in listing(lineage.get("upstreams"))}
        for downstream in listing(lineage.get("downstreams")):
            sources.setdefault(downstream_key(urn, text(downstream)), set()).update(upstreams)
    for key, members in sources.items():
        yield Observation("column_upstreams", key, set_value(frozenset(members)))


_JOB_HANDLED = frozenset(
    {
        "inputDatasets",
        "inputDatasetEdges",
        "inputDatajobs",
        "inputDatajobEdges",
        "outputDatasets",
        "outputDatasetEdges",
        "fineGrainedLineages",
    }
)


def _job_lineage(urn: str, fields: dict[str, Json]) -> Iterator[Observation]:
    inputs = ("inputDatasets", "inputDatasetEdges", "inputDatajobs", "inputDatajobEdges")
    members = (edge_member(entry) for name in inputs for entry in listing(fields.get(name)))
    yield Observation("upstreams", "", _set(members))
    outputs = ("outputDatasets", "outputDatasetEdges")
    written = (edge_member(entry)[:1] for name in outputs for entry in listing(fields.get(name)))
    yield Observation("outputs", "", _set(written))
    yield from _column_lineage(urn, fields)
    yield from _rest(fields, _JOB_HANDLED)


def _key(urn: str, fields: dict[str, Json]) -> Iterator[Observation]:
    return iter(())


_PROPERTIES_PARTS = (
    "datasetProperties",
    "containerProperties",
    "domainProperties",
    "dataProductProperties",
    "applicationProperties",
    "tagProperties",
    "dashboardInfo",
    "chartInfo",
    "dataJobInfo",
    "dataFlowInfo",
    "notebookInfo",
    "glossaryTermInfo",
    "glossaryNodeInfo",
    "mlModelProperties",
    "mlModelGroupProperties",
    "mlModelDeploymentProperties",
    "mlFeatureProperties",
    "mlFeatureTableProperties",
    "mlPrimaryKeyProperties",
)
_EDITED_PARTS = (
    "editableDatasetProperties",
    "editableContainerProperties",
    "editableDashboardProperties",
    "editableChartProperties",
    "editableDataJobProperties",
    "editableDataFlowProperties",
    "editableNotebookProperties",
    "editableMlModelProperties",
    "editableMlModelGroupProperties",
    "editableMlFeatureProperties",
    "editableMlFeatureTableProperties",
    "editableMlPrimaryKeyProperties",
)
_KEY_PARTS = (
    "datasetKey",
    "containerKey",
    "domainKey",
    "dataProductKey",
    "applicationKey",
    "tagKey",
    "dashboardKey",
    "chartKey",
    "dataJobKey",
    "dataFlowKey",
    "notebookKey",
    "glossaryTermKey",
    "glossaryNodeKey",
    "mlModelKey",
    "mlModelGroupKey",
    "mlModelDeploymentKey",
    "mlFeatureKey",
    "mlFeatureTableKey",
    "mlPrimaryKeyKey",
)
READERS: dict[str, Reader] = {
    "status": _status,
    "ownership": _ownership,
    "globalTags": _tags,
    "glossaryTerms": _terms,
    "domains": _domains,
    "siblings": _siblings,
    "subTypes": _sub_types,
    "container": _container,
    "dataPlatformInstance": _platform_instance,
    "viewProperties": _view,
    "deprecation": _deprecation,
    "institutionalMemory": _links,
    "structuredProperties": _structured_properties,
    "schemaMetadata": _schema,
    "editableSchemaMetadata": _editable_schema,
    "upstreamLineage": _upstream_lineage,
    "dataJobInputOutput": _job_lineage,
    **dict.fromkeys(_PROPERTIES_PARTS, _properties),
    **dict.fromkeys(_EDITED_PARTS, _edited),
    **dict.fromkeys(_KEY_PARTS, _key),
}

# Raw aspects that are measurements over time: no memory.
TIME_SERIES = frozenset(
    {
        "datasetProfile",
        "datasetUsageStatistics",
        "operation",
        "chartUsageStatistics",
        "dashboardUsageStatistics",
        "assertionRunEvent",
        "dataProcessInstanceRunEvent",
        "queryUsageStatistics",
    }
)


def read_part(urn: str, part: str, payload: bytes) -> Seen:
    """The cells of one raw aspect, and its stamp. Raises ValueError when it is not of the expected form.

    An attribute is named by its field; outside the main properties by raw aspect and field, so that each cell is fed by
    one raw aspect only.
    """
    fields = record(loads(payload))
    observations = list(READERS[part](urn, fields))
    if part not in _PROPERTIES_PARTS:
        observations = [
            found._replace(key=f"{part}.{found.key}") if found.aspect == "attribute" else found
            for found in observations
        ]
    return Seen(observations, stamp_of(fields))
