"""foreign_key: one foreign key; the key is its name. Fields: own columns, the table pointed at, and its columns."""

from __future__ import annotations

from palimpsest.core.aspects.aspect import Json, compact, fields_of, label_of, quote, record_aspect


def _canonical(value: Json) -> Json:
    fields = dict(fields_of(compact(value)))
    for name in ("columns", "foreign_columns"):
        listed = fields.get(name)
        if isinstance(listed, list):
            fields[name] = sorted(listed, key=str)
    return fields


def _say(key: str, value: Json) -> str:
    fields = fields_of(value)
    own, theirs = quote(fields.get("columns") or []), quote(fields.get("foreign_columns") or [])
    return f"foreign key {key}: {own} → {label_of(fields.get('foreign_dataset') or '')} ({theirs})"


ASPECT = record_aspect("foreign_key", _say, canonical=_canonical, subject=lambda key: f"foreign key {key}", rank=62)
