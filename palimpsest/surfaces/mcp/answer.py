"""What a call is answered: text for the model, the same as data, and what of it is written down as delivered.

Both forms stay within the budget: an entry is taken whole or left out, and what is left out is counted, with the call
that fetches it. Text of the catalog is data: quoted in the text, and in strings of the data, under the same sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import orjson

from palimpsest.core.aspects.aspect import Json
from palimpsest.core.brief import BYTES_PER_TOKEN, FRAME, tokens_of
from palimpsest.core.jsontext import dumps

CUTS = (600, 200, 60)  # letters of one text of the catalog: as many as fit


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """An entry: its line, the same as data, and what it tells."""

    line: str
    data: Mapping[str, Json]
    urn: str = ""
    version: str = ""
    score: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What is answered. `urns`, `versions` and `scores` are what is written down as delivered.

    `question`: what was asked in words, and `verdict`: how sure the answers are; empty where nothing was recalled.
    """

    text: str
    data: Mapping[str, Json]
    urns: tuple[str, ...] = ()
    versions: tuple[str, ...] = ()
    scores: tuple[float, ...] = ()
    question: str = ""
    verdict: str = ""

    @property
    def tokens(self) -> int:
        """What its text counts."""
        return tokens_of(self.text)


Shape = Callable[[int], Item]  # an entry, with its texts cut to so many letters


def bounded(
    head: Sequence[str],
    shapes: Sequence[Shape],
    *,
    room: int,
    skip: int = 0,
    more: Callable[[int], str],
    extra: Mapping[str, Json] | None = None,
) -> Answer:
    """The entries from `skip` on that fit into `room` tokens, in order; `more` is the call for those that follow."""
    waiting = shapes[skip:]
    longest = _footer(len(waiting), more(len(shapes)))
    frame = dict(extra or {}) | {"frame": FRAME, "items": [], "left_out": len(waiting), "more": longest}
    in_text = room * BYTES_PER_TOKEN - sum(_length(line) for line in (*head, FRAME, longest))
    in_data = room * BYTES_PER_TOKEN - len(orjson.dumps(frame))
    taken: list[Item] = []
    for shape in waiting:
        item = _fitting(shape, in_text, in_data, is_first=not taken)
        if item is None:
            break
        in_text -= _length(item.line)
        in_data -= len(orjson.dumps(item.data)) + 1
        taken.append(item)
    left_out = len(waiting) - len(taken)
    call = more(skip + len(taken)) if left_out else ""
    lines = [*head, *([FRAME] if taken else []), *(item.line for item in taken)]
    data = frame | {"items": [dict(item.data) for item in taken], "left_out": left_out, "more": call}
    return Answer(
        text="\n".join([*lines, *([_footer(left_out, call)] if left_out else [])]),
        data=data,
        urns=tuple(dict.fromkeys(item.urn for item in taken if item.urn)),
        versions=tuple(item.version for item in taken if item.version),
        scores=tuple(item.score for item in taken if item.score is not None),
    )


def _fitting(shape: Shape, in_text: int, in_data: int, *, is_first: bool) -> Item | None:
    """An entry that fits; the first one with its texts cut shorter, if need be, so that one is always told."""
    for cut in CUTS if is_first else CUTS[:1]:
        item = shape(cut)
        if _length(item.line) <= in_text and len(orjson.dumps(item.data)) + 1 <= in_data:
            return item
    return None


def _footer(count: int, call: str) -> str:
    return f"{count} more: {call}"


def _length(line: str) -> int:
    return len(line.encode("utf-8", "surrogatepass")) + 1


def cut(text: str, letters: int) -> str:
    """A text, or so many letters of it and how many there are besides."""
    if len(text) <= letters:
        return text
    return f"{text[:letters]}… ({len(text) - letters:,} letters more)"


def told(when: datetime | None) -> str | None:
    """A time as data."""
    return when.strftime("%Y-%m-%dT%H:%M:%SZ") if when is not None else None


def shown(when: datetime | None) -> str:
    """A time as a model reads it."""
    return when.strftime("%Y-%m-%d %H:%M") if when is not None else "-"


def call_of(tool: str, arguments: Mapping[str, Json]) -> str:
    """A call as it is written: what was not given is left out."""
    given = {name: value for name, value in arguments.items() if value not in ("", None, False)}
    said = [f"{name}={dumps(value).decode()}" for name, value in given.items()]
    return f"{tool}({', '.join(said)})"
