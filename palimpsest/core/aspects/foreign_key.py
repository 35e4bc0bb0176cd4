"""foreign_key: one foreign key; the key is its name. Fields: own columns, the table pointed at, and its columns."""

from __future__ import annotations

from palimpsest.core.aspects.aspect import Json
from palimpsest.core.aspects.form import compact
from palimpsest.core.aspects.records import fields_of, record_aspect
from palimpsest.core.aspects.words import label_of, quote


def _canonical(value: Json) -> Json:
    """The compact record with its columns in one order: order is form, which column points at which is not."""
    fields = dict(fields_of(compact(value)))
    own, theirs = fields.get("columns"), fields.get("foreign_columns")
    if isinstance(own, list) and isinstance(theirs, list) and len(own) == len(theirs):
        pairs = sorted(zip(own, theirs, strict=True), key=str)
        fields["columns"] = [pair[0] for pair in pairs]
        fields["foreign_columns"] = [pair[1] for pair in pairs]
    return fields


def _say(key: str, value: Json) -> str:
    fields = fields_of(value)
    own, theirs = quote(fields.get("columns") or []), quote(fields.get("foreign_columns") or [])
    return f"foreign key {key}: {own} → {label_of(fields.get('foreign_dataset') or '')} ({theirs})"


ASPECT = record_aspect("foreign_key", _say, canonical=_canonical, subject=lambda key: f"foreign key {key}", rank=62)
