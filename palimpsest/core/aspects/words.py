"""Values inside sentences: quoted and cut, labelled, or only the part in which two texts differ."""

from __future__ import annotations

from collections.abc import Callable

from palimpsest.core.aspects.aspect import Json
from palimpsest.core.aspects.form import squeeze
from palimpsest.core.entity import name_of


def quote(value: Json, limit: int = 160) -> str:
    """A value inside a sentence: text squeezed and cut at `limit` characters, anything else as short JSON-like text."""
    if isinstance(value, str):
        flat = squeeze(value)
        return flat if len(flat) <= limit else flat[: limit - 1].rstrip() + "…"
    if isinstance(value, list):
        return quote(", ".join(quote(part) for part in value), limit)
    if isinstance(value, dict):
        return quote(", ".join(f"{name} {quote(part)}" for name, part in value.items()), limit)
    if value is True:
        return "yes"
    return "no" if value is False or value is None else str(value)


def differing(before: str, after: str, *, around: int = 3, limit: int = 60) -> tuple[str, str]:
    """Two texts as a sentence about their difference shows them: short ones whole, long ones cut to where they differ.

    `around` words stay on each side of the difference; what is left out is an ellipsis.
    """
    was, now = squeeze(before), squeeze(after)
    if len(was) <= limit and len(now) <= limit:
        return was, now
    old, new = was.split(" "), now.split(" ")
    same = min(len(old), len(new))
    head = next((place for place in range(same) if old[place] != new[place]), same)
    tail = next((place for place in range(same - head) if old[-1 - place] != new[-1 - place]), same - head)
    first = max(0, head - around)
    parts = []
    for words in (old, new):
        last = min(len(words), len(words) - tail + around)
        text = " ".join(words[first:last])
        parts.append(("… " if first else "") + quote(text) + (" …" if last < len(words) else ""))
    return parts[0], parts[1]


def was_now(before: Json, after: Json, shown: Callable[[Json], str] = quote) -> str:
    """`was X, now Y`; of long texts only the part that differs."""
    if isinstance(before, str) and isinstance(after, str) and shown is quote:
        old, new = differing(before, after)
        return f"was {old}, now {new}"
    return f"was {shown(before)}, now {shown(after)}"


def label_of(urn: Json) -> str:
    """A short label for a URN that is a member: `mira` of `urn:li:corpuser:mira`, `orders` kept with its full name."""
    text = str(urn)
    return name_of(text) if text.startswith("urn:li:") else text
