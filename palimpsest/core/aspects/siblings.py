"""siblings: the set of URNs that are the same thing on another platform (a dbt model and its table)."""

from __future__ import annotations

from palimpsest.core.aspects.sets import set_aspect

ASPECT = set_aspect("siblings", "sibling", rank=40)
