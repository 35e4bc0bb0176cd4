"""PATCH records into member changes. JSON Patch over a raw aspect, with the paths of DataHub's patch templates.

`[{"op", "path", "value"}]`, or `{"arrayPrimaryKeys": …, "patch": [...]}`. Members are named in the path:
`/upstreams/URN`, `/owners/URN/TYPE`, `/tags/URN`, `/customProperties/NAME`, `/elements/URL`,
`/fineGrainedLineages/OPERATION/DOWNSTREAM/QUERY/UPSTREAM`. Any other path is counted, not guessed.
"""

from __future__ import annotations

from collections.abc import Callable

from palimpsest.adapters.datahub.cells import column_edit, structured_property
from palimpsest.adapters.datahub.members import (
    downstream_key,
    edge_member,
    link_member,
    owner_member,
    source_column,
    tag_member,
    term_member,
    upstream_member,
)
from palimpsest.adapters.datahub.wire import listing, record, text
from palimpsest.core.aspects.aspect import Json
from palimpsest.core.aspects.ownership import role_of
from palimpsest.core.aspects.sets import Member
from palimpsest.core.link import is_ours
from palimpsest.core.observation import Patch

MemberOf = Callable[[Json], Member]

# (raw aspect or *, first step of the path) → the aspect whose set it changes, and how to read a member from its value.
_SETS: dict[tuple[str, str], tuple[str, MemberOf]] = {
    ("ownership", "owners"): ("ownership", owner_member),
    ("globalTags", "tags"): ("tags", tag_member),
    ("glossaryTerms", "terms"): ("terms", term_member),
    ("upstreamLineage", "upstreams"): ("upstreams", upstream_member),
    ("institutionalMemory", "elements"): ("links", link_member),
    ("domains", "domains"): ("domain", lambda value: edge_member(value)[:1]),
    ("siblings", "siblings"): ("siblings", lambda value: edge_member(value)[:1]),
    ("subTypes", "typeNames"): ("sub_type", lambda value: (text(value),)),
    ("dataProductProperties", "assets"): ("data_product", lambda value: edge_member(value)[:1]),
    ("dataJobInputOutput", "inputDatasets"): ("upstreams", edge_member),
    ("dataJobInputOutput", "inputDatasetEdges"): ("upstreams", edge_member),
    ("dataJobInputOutput", "inputDatajobs"): ("upstreams", edge_member),
    ("dataJobInputOutput", "inputDatajobEdges"): ("upstreams", edge_member),
    ("dataJobInputOutput", "outputDatasets"): ("outputs", lambda value: edge_member(value)[:1]),
    ("dataJobInputOutput", "outputDatasetEdges"): ("outputs", lambda value: edge_member(value)[:1]),
    **{
        (part, step): ("upstreams", edge_member)
        for part in ("dashboardInfo", "chartInfo")
        for step in ("charts", "chartEdges", "datasets", "datasetEdges", "dashboards", "inputs", "inputEdges")
    },
}
_OPS = frozenset({"add", "remove", "replace"})


def read_patches(urn: str, part: str, value: Json) -> tuple[list[Patch], list[str]]:
    """The member changes of one PATCH record, in order, and the paths that are not turned into any.

    Raises ValueError when it is no patch at all.
    """
    operations = listing(value) if isinstance(value, list) else listing(record(value).get("patch"))
    if not operations and value not in ([], None) and not (isinstance(value, dict) and "patch" in value):
        raise ValueError("a PATCH without operations")
    patches: list[Patch] = []
    unused: list[str] = []
    for entry in operations:
        operation = record(entry)
        op, path = text(operation.get("op")), text(operation.get("path"))
        steps = [_plain(step) for step in path.split("/")[1:]]
        if op not in _OPS or not steps:
            unused.append(path or "(no path)")
            continue
        found = _patches_of(urn, part, op, steps, operation.get("value"))
        if found is None:
            unused.append(f"/{steps[0]}" + ("/…" if len(steps) > 1 else ""))
        else:
            patches.extend(found)
    return patches, unused


def _plain(step: str) -> str:
    return step.replace("~1", "/").replace("~0", "~")


def _patches_of(urn: str, part: str, op: str, steps: list[str], value: Json) -> list[Patch] | None:
    head, rest = steps[0], steps[1:]
    if head == "customProperties":
        return _properties(op, rest, value)
    if head == "fineGrainedLineages" and len(rest) >= 2:
        return _column_lineage(urn, op, rest)
    if part == "structuredProperties" and head == "properties" and rest:
        cell = structured_property(value) if value is not None else None
        return [Patch("structured_property", rest[0], op, None, cell.value if cell else None)]
    if part == "editableSchemaMetadata" and head == "editableSchemaFieldInfo" and len(rest) == 1:
        edit = column_edit(value) if value is not None else None
        return [Patch("column_edit", rest[0], op if edit else "remove", None, edit.value if edit else None)]
    known = _SETS.get((part, head))
    if known is None or not rest:
        return None
    aspect, member_of = known
    if op == "remove":
        member: Member = (rest[0], _role(rest[1:])) if aspect == "ownership" and len(rest) > 1 else (rest[0],)
    else:
        member = member_of(value)
    if aspect == "links" and is_ours(member[0]):
        return []
    return [Patch(aspect, "", op, tuple(member))]


def _role(steps: list[str]) -> str:
    """The role that the steps after an owner name: by `type`, by `typeUrn`, or by both."""
    urn = next((step for step in steps if step.startswith("urn:li:ownershipType:")), None)
    return role_of(steps[0], urn)


def _properties(op: str, rest: list[str], value: Json) -> list[Patch] | None:
    if rest:
        return [Patch("property", rest[0], op, None, None if op == "remove" else text(value))]
    if op == "add" and isinstance(value, dict):
        return [Patch("property", name, op, None, text(part)) for name, part in value.items()]
    return None


def _column_lineage(urn: str, op: str, rest: list[str]) -> list[Patch] | None:
    """`OPERATION/DOWNSTREAM/QUERY/UPSTREAM`; without the last two, the downstream column's whole lineage."""
    operation = "" if rest[0] == "NONE" else rest[0]
    key = downstream_key(urn, rest[1])
    if len(rest) < 4:
        return [Patch("column_upstreams", key, op, None, None)] if op == "remove" else None
    member = source_column(rest[3], operation)
    return [Patch("column_upstreams", key, op, member[:2] if op == "remove" else member)]
