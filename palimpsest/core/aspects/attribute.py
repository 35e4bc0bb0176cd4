"""attribute: a field of a remembered DataHub aspect that has no aspect of its own here; the key is the field's name.

So that nothing that a remembered raw aspect states is lost: external URLs, qualified names, schedules, hyperparameters.
"""

from __future__ import annotations

from dataclasses import replace

from palimpsest.core.aspects.aspect import Edit, Json
from palimpsest.core.aspects.form import compact
from palimpsest.core.aspects.records import field_difference
from palimpsest.core.aspects.texts import text_aspect, whole_difference
from palimpsest.core.aspects.words import quote


def _canonical(value: Json) -> Json:
    return _ordered(compact(value))


def _ordered(value: Json) -> Json:
    """Lists as sets of their parts: order is form."""
    if isinstance(value, list):
        return sorted((_ordered(part) for part in value), key=repr)
    if isinstance(value, dict):
        return {name: _ordered(part) for name, part in value.items()}
    return value


def _difference(before: Json, after: Json) -> tuple[Edit, ...]:
    if isinstance(before, dict) and isinstance(after, dict):
        return field_difference(before, after)
    return whole_difference(_canonical, before, after)


_TEXT = text_aspect("attribute", lambda key: key, shown=quote, rank=80)
ASPECT = replace(_TEXT, canonical=_canonical, difference=_difference)
