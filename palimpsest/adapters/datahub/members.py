"""The members of sets in DataHub's wire forms: owners, tags, terms, upstreams, links, edges, source columns.

Each function raises ValueError when what names the member is missing.
"""

from __future__ import annotations

from palimpsest.adapters.datahub.wire import record, text, unwrap
from palimpsest.core.aspects.aspect import Json
from palimpsest.core.aspects.ownership import role_of
from palimpsest.core.aspects.sets import Member
from palimpsest.core.entity import split_field
from palimpsest.core.paths import simple_path


def owner_member(value: Json) -> Member:
    """(owner, role)."""
    fields = record(value)
    return required(fields, "owner"), role_of(text(fields.get("type")), text(fields.get("typeUrn")))


def tag_member(value: Json) -> Member:
    """(tag,)."""
    return (required(record(value), "tag"),)


def term_member(value: Json) -> Member:
    """(term,)."""
    return (required(record(value), "urn"),)


def upstream_member(value: Json) -> Member:
    """(dataset, kind of derivation)."""
    fields = record(value)
    return required(fields, "dataset"), text(fields.get("type"))


def link_member(value: Json) -> Member:
    """(URL, label)."""
    fields = record(value)
    return required(fields, "url"), text(fields.get("description") or fields.get("label"))


def edge_member(value: Json) -> Member:
    """(URN, ""), of a plain URN or of an Edge."""
    inner = unwrap(value)
    urn = required(inner, "destinationUrn") if isinstance(inner, dict) else text(inner)
    if not urn:
        raise ValueError("an edge without a URN")
    return urn, ""


def required(fields: dict[str, Json], name: str) -> str:
    """A field that must be there and say something."""
    found = text(fields.get(name))
    if not found:
        raise ValueError(f"{name} is missing")
    return found


def source_column(field_urn: str, operation: str = "") -> Member:
    """(dataset, path, operation) of a source column; the path is empty where a whole dataset is named."""
    dataset, path = split_field(field_urn)
    return dataset, simple_path(path), operation


def downstream_key(urn: str, field_urn: str) -> str:
    """The path of a downstream column of this very dataset; the whole URN of any other."""
    dataset, path = split_field(field_urn)
    return path if path and dataset == urn else field_urn
