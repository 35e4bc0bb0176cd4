"""column_edit: what people wrote on a column in DataHub's editor, over what ingestion says; the key is the column."""

from __future__ import annotations

from palimpsest.core.aspects.aspect import Aspect, Impact, Json
from palimpsest.core.aspects.column import beside, canonical, difference, prose
from palimpsest.core.aspects.column import say_change as column_change
from palimpsest.core.aspects.records import field_difference, fields_of
from palimpsest.core.aspects.words import label_of, quote


def impact(before: Json, after: Json) -> Impact:
    """Labels are notable, prose is minor, a change of letter case of the path alone is quiet."""
    edits = field_difference(canonical(before) if before else None, canonical(after) if after else None)
    if any(edit.item in {"tags", "terms"} for edit in edits):
        return Impact.NOTABLE
    if edits and all(edit.item == "path" for edit in edits):
        return Impact.QUIET
    return Impact.MINOR


def say(key: str, value: Json) -> str:
    """`column note (edited): the text; tags pii`."""
    fields = fields_of(value)
    parts = [quote(fields["description"])] if fields.get("description") else []
    for name in ("tags", "terms"):
        listed = fields.get(name)
        if isinstance(listed, list) and listed:
            parts.append(f"{name} " + ", ".join(label_of(member) for member in listed))
    return f"column {key} (edited): " + "; ".join(parts)


def say_change(key: str, before: Json, after: Json) -> str:
    """As a column's change, with an edit that appears or goes told as such."""
    if before is None:
        return say(key, after)
    if after is None:
        return f"column {key}: edit gone, was {say(key, before).partition(': ')[2]}"
    return column_change(f"{key} (edited)", before, after)


ASPECT = Aspect(
    name="column_edit",
    canonical=canonical,
    difference=difference,
    impact=impact,
    say=say,
    say_change=say_change,
    rank=48,
    paths=True,
    prose=prose,
    beside=beside,
)
