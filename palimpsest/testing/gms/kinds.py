"""The kinds of entities that the double knows: their GraphQL names, their main raw aspects, the key that a URN spells.

And the class that DataHub's REST answers name for each raw aspect.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from palimpsest.core.aspects.aspect import Json

_URN = re.compile(r"urn:li:([A-Za-z][A-Za-z0-9_]*):(.+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind: as URNs spell it, as GraphQL calls it, and where its properties are."""

    name: str
    type_name: str
    enum: str
    key_fields: tuple[str, ...]
    properties: str = ""
    edited: str = ""
    searchable: bool = True

    @property
    def key(self) -> str:
        """The raw aspect that holds the key."""
        return _KEYS.get(self.name, f"{self.name}Key")


_KEYS = {"corpuser": "corpUserKey", "mlPrimaryKey": "mlPrimaryKeyKey"}

KINDS = {
    kind.name: kind
    for kind in (
        Kind("dataset", "Dataset", "DATASET", ("platform", "name", "origin"),
             "datasetProperties", "editableDatasetProperties"),
        Kind("dashboard", "Dashboard", "DASHBOARD", ("dashboardTool", "dashboardId"),
             "dashboardInfo", "editableDashboardProperties"),
        Kind("chart", "Chart", "CHART", ("dashboardTool", "chartId"), "chartInfo", "editableChartProperties"),
        Kind("dataJob", "DataJob", "DATA_JOB", ("flow", "jobId"), "dataJobInfo", "editableDataJobProperties"),
        Kind("dataFlow", "DataFlow", "DATA_FLOW", ("orchestrator", "flowId", "cluster"),
             "dataFlowInfo", "editableDataFlowProperties"),
        Kind("container", "Container", "CONTAINER", ("guid",), "containerProperties", "editableContainerProperties"),
        Kind("domain", "Domain", "DOMAIN", ("id",), "domainProperties"),
        Kind("dataProduct", "DataProduct", "DATA_PRODUCT", ("id",), "dataProductProperties"),
        Kind("application", "Application", "APPLICATION", ("id",), "applicationProperties"),
        Kind("notebook", "Notebook", "NOTEBOOK", ("notebookTool", "notebookId"),
             "notebookInfo", "editableNotebookProperties"),
        Kind("glossaryTerm", "GlossaryTerm", "GLOSSARY_TERM", ("name",), "glossaryTermInfo"),
        Kind("glossaryNode", "GlossaryNode", "GLOSSARY_NODE", ("name",), "glossaryNodeInfo"),
        Kind("tag", "Tag", "TAG", ("name",), "tagProperties"),
        Kind("corpuser", "CorpUser", "CORP_USER", ("username",), "corpUserInfo", "corpUserEditableInfo"),
        Kind("corpGroup", "CorpGroup", "CORP_GROUP", ("name",), "corpGroupInfo", "corpGroupEditableInfo"),
        Kind("mlModel", "MLModel", "MLMODEL", ("platform", "name", "origin"),
             "mlModelProperties", "editableMlModelProperties"),
        Kind("mlModelGroup", "MLModelGroup", "MLMODEL_GROUP", ("platform", "name", "origin"),
             "mlModelGroupProperties", "editableMlModelGroupProperties"),
        Kind("mlFeature", "MLFeature", "MLFEATURE", ("featureNamespace", "name"),
             "mlFeatureProperties", "editableMlFeatureProperties"),
        Kind("mlFeatureTable", "MLFeatureTable", "MLFEATURE_TABLE", ("platform", "name"),
             "mlFeatureTableProperties", "editableMlFeatureTableProperties"),
        Kind("mlPrimaryKey", "MLPrimaryKey", "MLPRIMARY_KEY", ("featureNamespace", "name"),
             "mlPrimaryKeyProperties", "editableMlPrimaryKeyProperties"),
        Kind("dataPlatform", "DataPlatform", "DATA_PLATFORM", ("platformName",), "dataPlatformInfo", searchable=False),
        Kind("dataPlatformInstance", "DataPlatformInstance", "DATA_PLATFORM_INSTANCE", ("platform", "instance"),
             "dataPlatformInstanceProperties", searchable=False),
        Kind("schemaField", "SchemaFieldEntity", "SCHEMA_FIELD", ("parent", "fieldPath"), searchable=False),
        Kind("structuredProperty", "StructuredPropertyEntity", "STRUCTURED_PROPERTY", ("id",),
             "propertyDefinition", searchable=False),
        Kind("ownershipType", "OwnershipTypeEntity", "CUSTOM_OWNERSHIP_TYPE", ("id",),
             "ownershipTypeInfo", searchable=False),
        Kind("dataType", "DataTypeEntity", "DATA_TYPE", ("id",), "dataTypeInfo", searchable=False),
        Kind("entityType", "EntityTypeEntity", "ENTITY_TYPE", ("id",), "entityTypeInfo", searchable=False),
        Kind("query", "QueryEntity", "QUERY", ("id",), "queryProperties", searchable=False),
        Kind("document", "Document", "DOCUMENT", ("id",), "documentInfo", searchable=False),
    )
}  # fmt: skip
_BY_FOLDED = {name.casefold(): kind for name, kind in KINDS.items()}


def kind_of(urn: str) -> Kind | None:
    """The kind of a URN; None where the double knows no such kind. Real URNs spell some in lower case."""
    match = _URN.fullmatch(urn)
    return _BY_FOLDED.get(match[1].casefold()) if match else None


def entity_type_of(urn: str) -> str:
    """The entity type that a URN names, known or not; empty when it is no URN."""
    match = _URN.fullmatch(urn)
    if match is None:
        return ""
    kind = _BY_FOLDED.get(match[1].casefold())
    return kind.name if kind else match[1]


def parts_of(urn: str) -> list[str]:
    """The parts of a URN's key. Commas and parentheses inside a name stay in it: the outer parts are never longer."""
    match = _URN.fullmatch(urn)
    if match is None:
        return []
    body = match[2]
    if not (body.startswith("(") and body.endswith(")")):
        return [body]
    kind = _BY_FOLDED.get(match[1].casefold())
    wanted = len(kind.key_fields) if kind else 0
    split = _split(body[1:-1])
    if wanted and len(split) > wanted:
        inner = len(split) - wanted + 1
        if kind is not None and kind.name == "schemaField":
            return [split[0], ",".join(split[1:])]
        head = 1 if wanted > 1 else 0
        return [*split[:head], ",".join(split[head : head + inner]), *split[head + inner :]]
    return split


def _split(body: str) -> list[str]:
    """Split at the commas that are in no parentheses."""
    parts: list[str] = []
    depth = start = 0
    for at, char in enumerate(body):
        if char == "(":
            depth += 1
        elif char == ")":
            depth = max(0, depth - 1)
        elif char == "," and depth == 0:
            parts.append(body[start:at])
            start = at + 1
    parts.append(body[start:])
    return parts


def key_of(urn: str) -> dict[str, Json]:
    """The value of the key aspect that a URN spells."""
    kind = kind_of(urn)
    if kind is None:
        return {}
    return dict(zip(kind.key_fields, parts_of(urn), strict=False))


def key_aspect(urn: str) -> str:
    """The name of the raw aspect that holds the key of this URN's entity."""
    kind = kind_of(urn)
    return kind.key if kind else f"{entity_type_of(urn)}Key"


# Package → raw aspects of it, as classes. What is not listed here is a key or `com.linkedin.common`.
_PACKAGES: dict[str, tuple[str, ...]] = {
    "com.linkedin.dataset": (
        "DatasetProperties", "EditableDatasetProperties", "UpstreamLineage", "ViewProperties",
        "DatasetUpstreamLineage", "DatasetDeprecation",
    ),
    "com.linkedin.schema": ("SchemaMetadata", "EditableSchemaMetadata"),
    "com.linkedin.container": ("Container", "ContainerProperties", "EditableContainerProperties"),
    "com.linkedin.domain": ("Domains", "DomainProperties"),
    "com.linkedin.dashboard": ("DashboardInfo", "EditableDashboardProperties"),
    "com.linkedin.chart": ("ChartInfo", "ChartQuery", "EditableChartProperties"),
    "com.linkedin.datajob": (
        "DataJobInfo", "DataJobInputOutput", "DataFlowInfo", "EditableDataJobProperties", "EditableDataFlowProperties",
    ),
    "com.linkedin.dataproduct": ("DataProductProperties",),
    "com.linkedin.dataplatform": ("DataPlatformInfo",),
    "com.linkedin.application": ("ApplicationProperties", "Applications"),
    "com.linkedin.notebook": ("NotebookInfo", "EditableNotebookProperties"),
    "com.linkedin.dataplatforminstance": ("DataPlatformInstanceProperties",),
    "com.linkedin.glossary": (
        "GlossaryTermInfo", "GlossaryNodeInfo", "GlossaryRelatedTerms",
    ),
    "com.linkedin.tag": ("TagProperties",),
    "com.linkedin.identity": (
        "CorpUserInfo", "CorpUserEditableInfo", "CorpUserStatus", "CorpUserSettings", "CorpGroupInfo",
        "CorpGroupEditableInfo", "GroupMembership", "NativeGroupMembership", "CorpUserCredentials",
    ),
    "com.linkedin.ownership": ("OwnershipTypeInfo",),
    "com.linkedin.structured": ("StructuredProperties", "StructuredPropertySettings"),
    "com.linkedin.query": ("QueryProperties", "QuerySubjects"),
    "com.linkedin.knowledge": ("DocumentInfo", "DocumentSettings"),
}  # fmt: skip
_ODD = {
    "applicationKey": "com.linkedin.application.ApplicationKey",
    "dataProductKey": "com.linkedin.dataproduct.DataProductKey",
    "dataTypeInfo": "com.linkedin.datatype.DataTypeInfo",
    "dataTypeKey": "com.linkedin.datatype.DataTypeKey",
    "entityTypeInfo": "com.linkedin.entitytype.EntityTypeInfo",
    "entityTypeKey": "com.linkedin.entitytype.EntityTypeKey",
    "structuredPropertyKey": "com.linkedin.structured.StructuredPropertyKey",
    "propertyDefinition": "com.linkedin.structured.StructuredPropertyDefinition",
}
_CLASSES = {
    short[0].lower() + short[1:]: f"{package}.{short}" for package, shorts in _PACKAGES.items() for short in shorts
}


def class_of(part: str) -> str:
    """The fully qualified class of a raw aspect, as `GET /aspects` names it."""
    known = _ODD.get(part) or _CLASSES.get(part)
    if known:
        return known
    if part.startswith(("ml", "editableMl")):
        short = part.replace("ml", "ML", 1) if part.startswith("ml") else part.replace("editableMl", "EditableML", 1)
        return f"com.linkedin.metadata.key.{short}" if part.endswith("Key") else f"com.linkedin.ml.metadata.{short}"
    short = part[:1].upper() + part[1:]
    return f"com.linkedin.metadata.key.{short}" if part.endswith("Key") else f"com.linkedin.common.{short}"
