"""The frame around text that others wrote, when it goes to a model: one JSON document between two marked lines.

No text can end the frame: within it a quote, a line's end, a tag, a control or an invisible character is an escape, so
that each text stands within one pair of quotes, on one line; and the mark is taken from the document itself.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Sequence

from palimpsest.core.aspects.aspect import Json

MOST_LETTERS = 8_000
"""How much of one text is shown; it is said of a longer one that it was cut, and how long it is."""

# Angle brackets make tags, and what chat formats of local models take for their own; the square ones likewise.
_TAGS = re.compile(r"[<>]|\[(?=/?[A-Z_]+\])")
_VARIATION = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]")  # invisible, and can carry any byte


def framed(items: Sequence[Json]) -> str:
    """The material of a request: the items, numbered by their place from 1, in a frame."""
    lines = ",\n".join(_written(item) for item in items)
    document = f'{{"items":[\n{lines}\n]}}'
    mark = _mark_of(document)
    return f"material {mark} begins\n{document}\nmaterial {mark} ends"


def shown(text: str) -> dict[str, Json]:
    """A text as a part of an item: as it is, or its beginning and how many letters it has in all."""
    if len(text) <= MOST_LETTERS:
        return {"text": text}
    return {"text": text[:MOST_LETTERS], "cut_from_letters": len(text)}


def tokens_of(text: str) -> int:
    """About how many tokens a text is, never too few by much: a third of its bytes."""
    return -(-len(text.encode("utf-8", "surrogatepass")) // 3)


def written_tokens(item: Json) -> int:
    """About how many tokens an item of the material is."""
    return tokens_of(_written(item))


def _written(value: Json) -> str:
    """JSON on one line, with each character of a text escaped that could mean something outside of it."""
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, list):
        return "[" + ",".join(_written(one) for one in value) + "]"
    if isinstance(value, dict):
        return "{" + ",".join(f"{_quoted(name)}:{_written(one)}" for name, one in value.items()) + "}"
    return json.dumps(value)


def _quoted(text: str) -> str:
    quoted = json.dumps(text, ensure_ascii=False)
    quoted = _TAGS.sub(_escape, quoted)
    if quoted.isascii():
        return quoted.replace("\x7f", "\\u007f")
    quoted = _VARIATION.sub(_escape, quoted)
    return "".join(letter if letter.isprintable() or _is_blank(letter) else _escaped(letter) for letter in quoted)


def _is_blank(letter: str) -> bool:
    return unicodedata.category(letter) == "Zs"


def _escape(found: re.Match[str]) -> str:
    return _escaped(found[0])


def _escaped(letter: str) -> str:
    units = letter.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


def _mark_of(document: str) -> str:
    """A mark that the document does not hold, always the same one for a document."""
    data = document.encode()
    mark = hashlib.sha256(data).hexdigest()[:16]
    while mark in document:
        mark = hashlib.sha256(mark.encode() + data).hexdigest()[:16]
    return mark
