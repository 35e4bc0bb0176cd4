"""foreign_key: one foreign key; the key is its name. Fields: own columns, the table pointed at, and its columns."""

from __future__ import annotations

from itertools import zip_longest

from palimpsest.core.aspects.aspect import Json, compact, fields_of, label_of, quote, record_aspect


def _canonical(value: Json) -> Json:
    """The compact record; the pairs of columns in one order, since their order is form and who goes with whom is not."""
    fields = dict(fields_of(compact(value)))
    own, theirs = (fields.get(name) or [] for name in ("columns", "foreign_columns"))
    if isinstance(own, list) and isinstance(theirs, list):
        pairs = sorted(zip_longest(own, theirs, fillvalue=""), key=str)
        for name, columns in (("columns", own), ("foreign_columns", theirs)):
            if columns:
                fields[name] = [pair[name == "foreign_columns"] for pair in pairs][: len(columns)]
    return fields


def _say(key: str, value: Json) -> str:
    fields = fields_of(value)
    own, theirs = quote(fields.get("columns") or []), quote(fields.get("foreign_columns") or [])
    return f"foreign key {key}: {own} → {label_of(fields.get('foreign_dataset') or '')} ({theirs})"


ASPECT = record_aspect("foreign_key", _say, canonical=_canonical, subject=lambda key: f"foreign key {key}", rank=62)
