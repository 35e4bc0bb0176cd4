"""Lineage as beliefs state it: which upstream entities and columns a value names. Pure."""

from __future__ import annotations

from palimpsest.core.aspects.aspect import Json
from palimpsest.core.aspects.sets import members_of

LINEAGE_ASPECTS = frozenset({"upstreams", "column_upstreams"})
_LONGEST = 500  # letters of a column's path by which lineage is found: an index of PostgreSQL takes 2,700 bytes


def upstreams_named(aspect: str, value: Json) -> set[tuple[str, str]]:
    """(URN, column) of every upstream that a value names; the column is empty for a whole entity."""
    if aspect == "upstreams":
        return {(member[0], "") for member in members_of(value)}
    return {(member[0], in_edge(member[1]) if len(member) > 1 else "") for member in members_of(value)}


def in_edge(path: str) -> str:
    """A column's path as lineage is found by: of a very long one the beginning."""
    return path if len(path) <= _LONGEST else f"{path[:_LONGEST]}…"
