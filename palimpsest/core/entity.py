"""What a memory is about: an entity, named by a URN; its kind, platform and short name are read off the URN.

Not here: how URNs are stored or looked up.
"""

from __future__ import annotations

import re

# Kinds of DataHub entities that are remembered. A record about any other kind is counted, not held.
KINDS = frozenset(
    {
        "dataset",
        "dashboard",
        "chart",
        "dataJob",
        "dataFlow",
        "container",
        "domain",
        "dataProduct",
        "glossaryTerm",
        "glossaryNode",
        "tag",
        "notebook",
        "application",
        "mlModel",
        "mlModelGroup",
        "mlFeature",
        "mlFeatureTable",
        "mlPrimaryKey",
        "mlModelDeployment",
    }
)
_KIND_BY_FOLDED = {kind.casefold(): kind for kind in KINDS}
_URN = re.compile(r"urn:li:([A-Za-z][A-Za-z0-9_]*):(.+)", re.DOTALL)
_PLATFORM = re.compile(r"urn:li:dataPlatform:([^,()]+)")
_ENVIRONMENT = re.compile(r",([A-Z][A-Z_]*)\)$")


def kind_of(urn: str) -> str | None:
    """The kind of a URN as DataHub spells it (`dataset`), the raw type for kinds we do not hold, None if it is no URN.

    Real URNs spell some kinds in lower case (`urn:li:mlmodel:`); they are the same kind.
    """
    match = _URN.fullmatch(urn)
    if match is None:
        return None
    return _KIND_BY_FOLDED.get(match[1].casefold(), match[1])


def is_remembered(kind: str) -> bool:
    """Whether entities of this kind are held."""
    return kind in KINDS


def platform_of(urn: str) -> str:
    """The platform inside a URN (`snowflake`, `looker`), or an empty string where the URN names none."""
    found = _PLATFORM.search(urn)
    if found:
        return found[1]
    head = re.match(r"urn:li:(?:dashboard|chart|notebook|dataFlow):\(([^,()]+),", urn)
    if head:
        return head[1]
    flow = re.match(r"urn:li:dataJob:\(urn:li:dataFlow:\(([^,()]+),", urn)
    return flow[1] if flow else ""


def environment_of(urn: str) -> str:
    """The environment at the end of a dataset's or flow's URN (`PROD`), or an empty string."""
    found = _ENVIRONMENT.search(urn)
    if found:
        return found[1]
    flow = re.search(r"urn:li:dataFlow:\([^,()]+,.*,([^,()]+)\)", urn)
    return flow[1].upper() if flow else ""


def name_of(urn: str) -> str:
    """The name within a URN: `shop.public.orders` of a dataset, the last part of anything else."""
    match = _URN.fullmatch(urn)
    if match is None:
        return urn
    kind, rest = match[1], match[2]
    if kind in {"dataset", "mlmodel", "mlModel", "mlModelGroup", "mlModelDeployment"} and rest.startswith("("):
        inner = re.fullmatch(r"\(urn:li:dataPlatform:[^,]*,(.*),[^,]*\)", rest, re.DOTALL)
        if inner:
            return inner[1]
    if kind == "schemaField":
        dataset, path = split_field(urn)
        return f"{name_of(dataset)}.{path}" if path else name_of(dataset)
    if rest.startswith("(") and rest.endswith(")"):
        parts = rest[1:-1].split(",")
        return parts[-1] if kind != "dataFlow" or len(parts) < 2 else parts[1]
    return rest


def short_name(urn: str) -> str:
    """The last dotted part of a dataset's name (`orders`); the whole name of anything else."""
    name = name_of(urn)
    if kind_of(urn) != "dataset":
        return name
    last = name.rstrip("/").rsplit("/", 1)[-1].rsplit(".", 1)[-1]
    return last or name


def split_field(urn: str) -> tuple[str, str]:
    """(dataset URN, field path) of a `urn:li:schemaField:(…,path)`; any other URN comes back with an empty path."""
    prefix = "urn:li:schemaField:("
    if not urn.startswith(prefix) or not urn.endswith(")"):
        return urn, ""
    inner = urn[len(prefix) : -1]
    depth = 0
    for position, char in enumerate(inner):
        if char == "(":
            depth += 1
        elif char == ")":
            depth -= 1
            if depth == 0:
                return inner[: position + 1], inner[position + 2 :]
        elif char == "," and depth == 0:
            return inner[:position], inner[position + 1 :]
    return inner, ""
