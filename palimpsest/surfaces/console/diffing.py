"""The difference of two texts by words: what of the older one was erased, what in the newer one was written over it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

_TOKEN = re.compile(r"\w+|\s+|[^\w\s]")
_MOST_COMPARED = 600  # words of each text between what they begin and end with alike
_MOST_KEPT = 4_000  # characters of a text that are shown


class Piece(NamedTuple):
    """A stretch of a text: whether the other text lacks it."""

    text: str
    is_changed: bool


class Difference(NamedTuple):
    """Both texts in pieces. `cut`: how many characters of the longer one are not shown."""

    older: tuple[Piece, ...]
    newer: tuple[Piece, ...]
    cut: int


def by_words(older: str, newer: str) -> Difference:
    """Compare two texts. Long ones are cut, and what is too long to be compared counts as wholly rewritten."""
    cut = max(0, len(older) - _MOST_KEPT, len(newer) - _MOST_KEPT)
    before, after = _TOKEN.findall(older[:_MOST_KEPT]), _TOKEN.findall(newer[:_MOST_KEPT])
    head = _alike(before, after)
    tail = _alike(before[head:][::-1], after[head:][::-1])
    was, now = before[head : len(before) - tail], after[head : len(after) - tail]
    erased, written = _compared(was, now)
    ends = "".join(before[:head]), "".join(before[len(before) - tail :])
    return Difference(_pieces(ends, erased), _pieces(ends, written), cut)


def _alike(one: Sequence[str], other: Sequence[str]) -> int:
    """With how many equal tokens both begin."""
    count = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        count += 1
    return count


def _compared(was: list[str], now: list[str]) -> tuple[list[Piece], list[Piece]]:
    if len(was) > _MOST_COMPARED or len(now) > _MOST_COMPARED:
        return [Piece("".join(was), True)], [Piece("".join(now), True)]
    erased: list[Piece] = []
    written: list[Piece] = []
    for kind, low, high, first, last in SequenceMatcher(None, was, now, autojunk=False).get_opcodes():
        erased.append(Piece("".join(was[low:high]), kind != "equal"))
        written.append(Piece("".join(now[first:last]), kind != "equal"))
    return erased, written


def _pieces(ends: tuple[str, str], middle: Sequence[Piece]) -> tuple[Piece, ...]:
    """The pieces of one text, neighbours of a kind as one; a blank between two changed ones is changed with them."""
    given = [one for one in (Piece(ends[0], False), *middle, Piece(ends[1], False)) if one.text]
    found: list[Piece] = []
    for place, one in enumerate(given):
        between = 0 < place < len(given) - 1 and given[place - 1].is_changed and given[place + 1].is_changed
        changed = one.is_changed or (between and one.text.isspace())
        if found and found[-1].is_changed == changed:
            found[-1] = Piece(found[-1].text + one.text, changed)
        else:
            found.append(Piece(one.text, changed))
    return tuple(found)
