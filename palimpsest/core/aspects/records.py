"""Aspects whose value is a record of fields."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import cast

from palimpsest.core.aspects.aspect import Aspect, Canonical, Edit, Impact, Json, Judged, Say
from palimpsest.core.aspects.form import compact
from palimpsest.core.aspects.words import quote, was_now


def fields_of(value: Json) -> dict[str, Json]:
    """The fields of a record value; anything else has none."""
    return value if isinstance(value, dict) else {}


def field_difference(before: Json, after: Json) -> tuple[Edit, ...]:
    """The fields in which two records differ, compared in compact form."""
    was, now = fields_of(compact(before)), fields_of(compact(after))
    edits = []
    for name in sorted(was.keys() | now.keys()):
        old, new = was.get(name), now.get(name)
        if old == new:
            continue
        op = "added" if old is None else "removed" if new is None else "changed"
        edits.append(Edit(op=op, item=name, before=old, after=new))
    return tuple(edits)


def record_aspect(
    name: str,
    say: Say,
    *,
    impact: Judged | Impact = Impact.MINOR,
    canonical: Canonical = compact,
    words: Mapping[str, str] | None = None,
    subject: Callable[[str], str] = str,
    rank: int = 50,
    paths: bool = False,
) -> Aspect:
    """An aspect whose value is a record of fields. Empty spellings and white space are form.

    `words` names fields in sentences; `subject` turns the key into what the sentence is about.
    """
    names = dict(words or {})
    judged = impact if callable(impact) else cast("Judged", lambda before, after, fixed=impact: fixed)

    def difference(before: Json, after: Json) -> tuple[Edit, ...]:
        return field_difference(canonical(before), canonical(after))

    def say_change(key: str, before: Json, after: Json) -> str:
        about = subject(key)
        if before is None:
            return f"{about} added" if about else say(key, after)
        if after is None:
            return f"{about} gone" if about else f"no longer stated: {say(key, before)}"
        parts = []
        for edit in difference(before, after):
            word = names.get(edit.item, edit.item.replace("_", " "))
            if edit.op == "added":
                parts.append(f"{word} set: {quote(edit.after)}")
            elif edit.op == "removed":
                parts.append(f"{word} cleared, was {quote(edit.before)}")
            else:
                parts.append(f"{word} {was_now(edit.before, edit.after)}")
        return f"{about}: " + "; ".join(parts) if about else "; ".join(parts)

    return Aspect(
        name=name,
        canonical=canonical,
        difference=difference,
        impact=judged,
        say=say,
        say_change=say_change,
        rank=rank,
        paths=paths,
    )
