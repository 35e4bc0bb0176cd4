"""deprecation: whether an entity is deprecated, with note, planned end and replacement."""

from __future__ import annotations

from dataclasses import replace

from palimpsest.core.aspects.aspect import Impact, Json
from palimpsest.core.aspects.form import compact
from palimpsest.core.aspects.records import fields_of, record_aspect
from palimpsest.core.aspects.words import quote
from palimpsest.core.moment import spoken, told


def _end(value: Json) -> str:
    ends = told(value)
    return f", ends {spoken(ends)}" if ends is not None else ""


def _say(key: str, value: Json) -> str:
    fields = fields_of(compact(value))
    if not fields.get("deprecated"):
        return "not deprecated"
    note = f": {quote(fields['note'])}" if fields.get("note") else ""
    return f"deprecated{note}{_end(fields.get('decommission_time'))}"


def _say_change(key: str, before: Json, after: Json) -> str:
    was, now = fields_of(compact(before)), fields_of(compact(after))
    if now.get("deprecated") and not was.get("deprecated"):
        return _say(key, after)
    if was.get("deprecated") and not now.get("deprecated"):
        return f"no longer deprecated, was {_say(key, before)}"
    return _RECORD.say_change(key, before, after)


_RECORD = record_aspect(
    "deprecation",
    _say,
    impact=Impact.NOTABLE,
    words={"deprecated": "deprecated", "decommission_time": "planned end"},
    subject=lambda key: "",
    rank=5,
)
ASPECT = replace(_RECORD, say_change=_say_change)
