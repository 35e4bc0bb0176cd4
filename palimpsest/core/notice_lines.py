"""How a message is laid out: what breaks first, alike changes as one line, never more than MOST_LINES lines. Pure.

Where there is too much, minor changes are drawn together first, then notable ones; what breaks is always named, by
kind at the least.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Sequence

from palimpsest.core import say
from palimpsest.core.aspects.aspect import Impact
from palimpsest.core.notice import Line, Message, News

MOST_LINES = 20  # of a message, its title and its link among them
MOST_LETTERS = 280  # of a line
_GROUPED_FROM = 3
# What could end a line, hide text or turn its direction round: it is text of a catalog.
_UNSAFE = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]+"
)


def plain(text: str, most: int = MOST_LETTERS) -> str:
    """A text as one line of at most so many letters, without control characters."""
    text = " ".join(_UNSAFE.sub(" ", text).split())
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def message(news: Sequence[News], *, key: str, console: str) -> Message:
    """The message about changes. `console` is the address under which people reach the console; empty: there is none.

    Raises ValueError when there is nothing to tell: nobody is sent an empty message.
    """
    if not news:
        raise ValueError("nothing to tell")
    breaking = sum(1 for one in news if one.impact is Impact.BREAKING)
    link = ""
    if console:
        runs = {one.run for one in news}
        link = f"{console}/run/{runs.pop()}" if len(runs) == 1 else f"{console}/changes"
    return Message(
        key=key,
        title=title(len(news), breaking),
        lines=lines(news, MOST_LINES - 2, link),
        link=link,
        changes=len(news),
        breaking=breaking,
    )


def title(changes: int, breaking: int) -> str:
    """`3 breaking changes and 12 others in the catalog`."""
    if not breaking:
        return f"{say.count_of(changes, 'change')} in the catalog"
    others = changes - breaking
    more = f" and {say.count_of(others, 'other')}" if others else ""
    return f"{say.count_of(breaking, 'breaking change')}{more} in the catalog"


def lines(news: Sequence[News], most: int, link: str = "") -> tuple[Line, ...]:
    """The changes as at most so many lines, the weightiest first. `link` is where several are read about together."""
    news = sorted(news, key=_weight)
    heavy = [one for one in news if one.impact is Impact.BREAKING]
    light = [one for one in news if one.impact is not Impact.BREAKING]
    alike, entity, edit = _by(_alike, _GROUPED_FROM, link), _by(_entity, 2, link), _by(_edit, 2, link)
    for of_heavy, of_light in ((alike, alike), (alike, entity), (alike, edit), (edit, edit)):
        found = [*of_heavy(heavy), *of_light(light)]
        if len(found) <= most:
            return tuple(found)
    kept = found[: most - 1]
    left = say.count_of(len(found) - len(kept), "more kind of change", "more kinds of change")
    return (*kept, Line(text=f"and {left}", impact=found[len(kept)].impact, link=link))


def _weight(one: News) -> tuple[object, ...]:
    return -int(one.impact), one.names, one.urns, one.aspect, one.line


def _alike(one: News) -> Hashable:
    return one.alike


def _entity(one: News) -> Hashable:
    return one.urns


def _edit(one: News) -> Hashable:
    return one.impact, one.edit


def _by(key: Callable[[News], Hashable], least: int, link: str) -> Callable[[Sequence[News]], list[Line]]:
    """Makes lines of changes: those with the same key are one line, where there are at least so many."""

    def made(news: Sequence[News]) -> list[Line]:
        groups: dict[Hashable, list[News]] = {}
        for one in news:
            groups.setdefault(key(one), []).append(one)
        found: list[Line] = []
        for same in groups.values():
            found += [_together(same, key, link)] if len(same) >= least else [_single(one) for one in same]
        return found

    return made


def _single(one: News) -> Line:
    return Line(text=plain(one.line), impact=one.impact, link=one.link)


def _together(same: Sequence[News], key: Callable[[News], Hashable], link: str) -> Line:
    first = same[0]
    if key is _entity:
        words = list(dict.fromkeys(plain(one.short, 60) for one in same))
        changes = say.count_of(len(same), "change")
        return _line(f"{_subject(first)}: {changes}: {say.list_of(words)}", max(one.impact for one in same), link)
    urns = list(dict.fromkeys(urn for one in same for urn in one.urns))
    names = list(dict.fromkeys(plain(name, 60) for one in same for name in one.names))
    said = plain(first.said, 120) if key is _alike else first.edit
    if first.impact is Impact.BREAKING:
        below = frozenset().union(*(one.below for one in same))
        said += f" (breaking, {len(below)} downstream)"
    times = "" if key is _alike or len(same) == len(urns) else f"{len(same)} times "
    by = f", by {first.by}" if first.by and len({one.by for one in same}) == 1 else ""
    what = f"{said} {times}on {say.entities(len(urns), urns)}: {say.list_of(names)}{by}"
    return _line(what, first.impact, link)


def _subject(one: News) -> str:
    return plain(say.list_of(list(dict.fromkeys(one.names))), 120)


def _line(text: str, impact: Impact, link: str) -> Line:
    return Line(text=plain(text), impact=impact, link=link)
