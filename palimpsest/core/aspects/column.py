"""column: one column of a dataset; the key is the path under which it was first held.

Fields: path (as read), type (DataHub's logical type), native_type, nullable, part_of_key, description, tags, terms, and
whatever else the catalog says of it. Field-path spelling is form; a change of letter case, or of one name of a type for
another (VARCHAR, TEXT), is quiet.
"""

from __future__ import annotations

import re
from collections import Counter

from palimpsest.core.aspects.aspect import Aspect, Edit, Impact, Json
from palimpsest.core.aspects.form import compact
from palimpsest.core.aspects.records import field_difference, fields_of
from palimpsest.core.aspects.words import label_of, quote, was_now
from palimpsest.core.paths import simple_path

# One line a family: names that SQL dialects use for one type.
_SYNONYMS = (
    "varchar text string nvarchar clob longtext mediumtext charactervarying character varying ntext varchar2 nvarchar2",
    "int integer int4 int32 mediumint signed",
    "bigint int8 int64 long signedbigint",
    "smallint int2 int16 short",
    "tinyint byteint",
    "bool boolean bit",
    "double doubleprecision float8 float64",
    "float real float4 float32",
    "decimal numeric number dec bignumeric bigdecimal",
    "timestamp datetime timestampntz timestampwithouttimezone datetime2 smalldatetime",
    "timestamptz timestampltz timestampwithtimezone datetimeoffset",
    "bytes binary varbinary blob bytea raw longblob",
    "json jsonb variant super",
    "struct record row object",
    "array list repeated",
    "char character bpchar nchar",
)
_FAMILY = {name: line.split()[0] for line in _SYNONYMS for name in line.split()}
# Wider to the right: a change to the left narrows, a change to the right widens.
_WIDTHS = (
    ("tinyint", "smallint", "int", "bigint", "decimal", "double"),
    ("smallint", "int", "float", "double"),
    ("char", "varchar"),
    ("date", "timestamp", "timestamptz"),
)
# BigQuery's API and its SQL name one type differently.
_ALIASES = ({"int64", "integer"}, {"float64", "float"})
_NUMBERS = re.compile(r"\d+")
_NESTED = re.compile(r"[<\[{]")
_MEMBERS = re.compile(r"[<>\[\]{},]+")


def native_family(native: str) -> tuple[str, tuple[int, ...]]:
    """The family of a native type and its sizes: `VARCHAR(20)` → ("varchar", (20,)); nested types stay as they are."""
    text = re.sub(r"\s+", "", native).casefold()
    if _NESTED.search(text):
        return text, ()
    head, _, sizes = text.partition("(")
    return _FAMILY.get(head, head), tuple(int(size) for size in _NUMBERS.findall(sizes))


def type_impact(before: str, after: str, *, logical_changed: bool) -> Impact:
    """How much a change from one native type to another matters.

    Synonyms are quiet, widening is minor; narrowing, or a change to another kind of value, is breaking. A nested type
    that keeps each of its members is widened.
    """
    if {before.casefold(), after.casefold()} in _ALIASES:
        return Impact.QUIET
    was, was_sizes = native_family(before)
    now, now_sizes = native_family(after)
    if was == now:
        if was_sizes == now_sizes:
            return Impact.QUIET
        if was_sizes and now_sizes:
            longest = max(len(was_sizes), len(now_sizes))
            old = was_sizes + (0,) * (longest - len(was_sizes))
            new = now_sizes + (0,) * (longest - len(now_sizes))
            return Impact.BREAKING if any(n < o for o, n in zip(old, new, strict=True)) else Impact.MINOR
        return Impact.BREAKING if now_sizes else Impact.MINOR
    if _NESTED.search(was) and _NESTED.search(now):
        lost = Counter(_MEMBERS.split(was)) - Counter(_MEMBERS.split(now))
        return Impact.BREAKING if lost else Impact.MINOR
    for order in _WIDTHS:
        if was in order and now in order:
            return Impact.MINOR if order.index(now) > order.index(was) else Impact.BREAKING
    return Impact.BREAKING if logical_changed or (was and now) else Impact.MINOR


def canonical(value: Json) -> Json:
    """The compact record, its path in simple spelling, its sets in order."""
    fields = fields_of(compact(value))  # a new record: it may be changed here
    path = fields.get("path")
    if isinstance(path, str):
        fields["path"] = simple_path(path)
    for name in ("tags", "terms"):
        listed = fields.get(name)
        if isinstance(listed, list):
            fields[name] = sorted(dict.fromkeys(str(member) for member in listed))  # type: ignore[assignment]
    return fields


def difference(before: Json, after: Json) -> tuple[Edit, ...]:
    """The fields that differ; None is a column that is not there."""
    if before is None:
        return (Edit(op="added", item="", after=after),)
    if after is None:
        return (Edit(op="removed", item="", before=before),)
    return field_difference(canonical(before), canonical(after))


def impact(before: Json, after: Json) -> Impact:
    """Gone, narrowed or of another nullability is breaking; labels are notable; case and synonyms are quiet."""
    if after is None:
        return Impact.BREAKING
    if before is None:
        return Impact.MINOR
    was, now = fields_of(canonical(before)), fields_of(canonical(after))
    worst = Impact.QUIET
    for edit in field_difference(was, now):
        worst = max(worst, _edit_impact(edit, was, now))
    return worst


def _edit_impact(edit: Edit, was: dict[str, Json], now: dict[str, Json]) -> Impact:
    match edit.item:
        case "path":
            folded = str(edit.before).casefold() == str(edit.after).casefold()
            return Impact.QUIET if folded else Impact.MINOR
        case "native_type":
            if not edit.before or not edit.after:
                return Impact.MINOR
            return type_impact(str(edit.before), str(edit.after), logical_changed=was.get("type") != now.get("type"))
        case "type":
            if not edit.before or not edit.after or was.get("native_type") != now.get("native_type"):
                return Impact.QUIET if was.get("native_type") and now.get("native_type") else Impact.MINOR
            return Impact.MINOR
        case "nullable":
            return Impact.BREAKING
        case "part_of_key" | "tags" | "terms":
            return Impact.NOTABLE
        case _:
            return Impact.MINOR


def prose(value: Json) -> str | None:
    """What is written on the column."""
    text = fields_of(value).get("description")
    return text if isinstance(text, str) else None


def beside(value: Json) -> Json:
    """All that is said of the column but what is written on it."""
    return {name: part for name, part in fields_of(canonical(value)).items() if name != "description"}


def _type_of(fields: dict[str, Json]) -> str:
    return str(fields.get("native_type") or fields.get("type") or "unknown type")


def say(key: str, value: Json) -> str:
    """`orders.discount NUMERIC(5,2), nullable: what it holds`."""
    fields = fields_of(value)
    marks = [_type_of(fields)]
    if fields.get("part_of_key"):
        marks.append("key")
    marks.append("nullable" if fields.get("nullable") else "not null")
    for name in ("tags", "terms"):
        listed = fields.get(name)
        if isinstance(listed, list) and listed:
            marks.append(f"{name} " + ", ".join(label_of(member) for member in listed))
    text = f": {quote(fields['description'])}" if fields.get("description") else ""
    return f"column {key} {', '.join(marks)}{text}"


def say_change(key: str, before: Json, after: Json) -> str:
    """What was, what is now, field by field."""
    if before is None:
        return f"column {key} added ({_type_of(fields_of(after))})"
    if after is None:
        return f"column {key} gone"
    parts = []
    was, now = fields_of(canonical(before)), fields_of(canonical(after))
    for edit in field_difference(was, now):
        match edit.item:
            case "path":
                parts.append(f"spelled {edit.after}, was {edit.before}")
            case "nullable":
                parts.append("nullable, was not null" if edit.after else "not null, was nullable")
            case "part_of_key":
                parts.append("part of the key" if edit.after else "no longer part of the key")
            case "type" if was.get("native_type") != now.get("native_type"):
                continue
            case "tags" | "terms":
                parts.append(_set_change(edit))
            case _:
                parts.append(_field_change(edit))
    return f"column {key}: " + "; ".join(parts)


def _set_change(edit: Edit) -> str:
    was = {str(member) for member in edit.before} if isinstance(edit.before, list) else set()
    now = {str(member) for member in edit.after} if isinstance(edit.after, list) else set()
    noun = edit.item[:-1]
    said = [f"{noun} {label_of(member)} added" for member in sorted(now - was)]
    said += [f"{noun} {label_of(member)} removed" for member in sorted(was - now)]
    return "; ".join(said)


def _field_change(edit: Edit) -> str:
    word = {"native_type": "type"}.get(edit.item, edit.item.replace("_", " "))
    if edit.op == "added":
        return f"{word} set: {quote(edit.after)}"
    if edit.op == "removed":
        return f"{word} cleared, was {quote(edit.before)}"
    return f"{word} {was_now(edit.before, edit.after)}"


ASPECT = Aspect(
    name="column",
    canonical=canonical,
    difference=difference,
    impact=impact,
    say=say,
    say_change=say_change,
    rank=50,
    paths=True,
    prose=prose,
    beside=beside,
)
