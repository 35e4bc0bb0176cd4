"""view_definition: the logic of a view or model, its language, and whether it is materialized."""

from __future__ import annotations

from palimpsest.core.aspects.aspect import Json
from palimpsest.core.aspects.records import fields_of, record_aspect
from palimpsest.core.aspects.words import quote


def _say(key: str, value: Json) -> str:
    fields = fields_of(value)
    stored = "materialized view" if fields.get("materialized") else "view"
    return f"{stored} defined as: {quote(fields.get('logic') or '')}"


ASPECT = record_aspect("view_definition", _say, subject=lambda key: "view", words={"logic": "definition"}, rank=35)
