"""Aspects whose value is one text."""

from __future__ import annotations

from collections.abc import Callable

from palimpsest.core.aspects.aspect import Aspect, Canonical, Edit, Impact, Json
from palimpsest.core.aspects.form import compact, squeeze
from palimpsest.core.aspects.words import quote, was_now


def whole_difference(canonical: Canonical, before: Json, after: Json) -> tuple[Edit, ...]:
    """The one edit between two values that have no parts; none where their canonical forms are equal."""
    if before is None and after is None:
        return ()
    if before is None:
        return (Edit(op="added", item="", after=after),)
    if after is None:
        return (Edit(op="removed", item="", before=before),)
    if canonical(before) == canonical(after):
        return ()
    return (Edit(op="changed", item="", before=before, after=after),)


def text_aspect(
    name: str,
    label: Callable[[str], str],
    *,
    impact: Impact = Impact.MINOR,
    rank: int = 50,
    shown: Callable[[Json], str] = quote,
    is_prose: bool = False,
) -> Aspect:
    """An aspect whose value is one text. White space is form; letter case is not. `is_prose`: it can be reworded."""

    def canonical(value: Json) -> Json:
        return squeeze(value) if isinstance(value, str) else compact(value)

    def difference(before: Json, after: Json) -> tuple[Edit, ...]:
        return whole_difference(canonical, before, after)

    def say_change(key: str, before: Json, after: Json) -> str:
        what = label(key)
        if before is None:
            return f"{what} set: {shown(after)}"
        if after is None:
            return f"{what} cleared, was {shown(before)}"
        return f"{what} {was_now(before, after, shown)}"

    return Aspect(
        name=name,
        canonical=canonical,
        difference=difference,
        impact=lambda before, after: impact,
        say=lambda key, value: f"{label(key)}: {shown(value)}",
        say_change=say_change,
        rank=rank,
        prose=(lambda value: value if isinstance(value, str) else None) if is_prose else None,
    )
