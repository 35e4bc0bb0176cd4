"""Lineage as beliefs state it: which upstream entities and columns a value names. Pure."""

from __future__ import annotations

from palimpsest.core.aspects.aspect import Json
from palimpsest.core.aspects.sets import members_of

LINEAGE_ASPECTS = frozenset({"upstreams", "column_upstreams"})


def upstreams_named(aspect: str, value: Json) -> set[tuple[str, str]]:
    """(URN, column) of every upstream that a value names; the column is empty for a whole entity."""
    if aspect == "upstreams":
        return {(member[0], "") for member in members_of(value)}
    return {(member[0], member[1] if len(member) > 1 else "") for member in members_of(value)}
