"""What a hook says of news: few whole lines in a budget of tokens, counted where there are more. Pure.

Catalog text stands in quotes, cut before it is quoted.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from palimpsest.core import say
from palimpsest.core.brief import BYTES_PER_TOKEN, FRAME, plain, quoted
from palimpsest.core.entity import name_of
from palimpsest.core.moment import Moment
from palimpsest.surfaces.hooks.news import News

MOST_LINES = 10
BUDGET = 600
_LONGEST = 240
_LONGEST_LINE = 900
_MOST_EDITS = 2


class Speech(NamedTuple):
    """What is said, the entities that it is about, and the versions that it tells."""

    text: str
    urns: tuple[str, ...]
    versions: tuple[str, ...]


SILENCE = Speech("", (), ())


def session(found: Sequence[News], *, last: Moment | None, agent: str, now: Moment) -> Speech:
    """What is said at the start of a session. `last`: when the agent's last one ended, None where there was none."""
    if not found:
        return SILENCE
    urns = {one.urn for one in found}
    many = say.count_of(len(urns), "entity", "entities")
    if last is None:
        head = f"Palimpsest, the memory of the data catalog: what changed last, in {many}."
        more = "palimpsest changes --since last"
    else:
        ago = say.ago(last, now)
        head = f"Palimpsest, the memory of the data catalog: changed since your last session {ago}, in {many}:"
        more = f"palimpsest brief --session --agent {shlex.quote(plain(agent))}"
    foot = f"Before you touch one of them, ask for its brief: the tool brief, or palimpsest brief NAME. All: {more}"
    shown = _names(urns)

    def line(one: News) -> str:
        by = f" by {plain(one.by)}" if one.by else ""
        return f"- {shown(one.urn, one.column)}: {quoted(_cut(one.said))}, {say.ago(one.at, now)}{by}"

    lines = [(line(one), one.urn, one.versions) for one in found]
    return _packed(head, lines, foot)


def prompt(found: Sequence[News], *, now: Moment) -> Speech:
    """What is said to a prompt that names entities: of each, what changed last and when."""
    if not found:
        return SILENCE
    by_urn: dict[str, list[News]] = {}
    for one in sorted(found, key=lambda one: (-one.at, -one.impact, one.edited)):
        by_urn.setdefault(one.urn, []).append(one)
    shown = _names(set(by_urn))
    lines = []
    for urn, news in by_urn.items():
        told = news[:_MOST_EDITS]
        edits = "; ".join(f"{quoted(_cut(one.edited))} {say.ago(one.at, now)}" for one in told)
        more = f"; {say.count_of(len(news) - len(told), 'more change')}" if len(news) > len(told) else ""
        command = f"palimpsest brief {shlex.quote(plain(urn))}"
        versions = tuple(version for one in told for version in one.versions)
        lines.append((f"- {shown(urn, '')}: {edits}{more}; before you touch it: {command}", urn, versions))
    return _packed("Palimpsest, the memory of the data catalog, knows what is named here.", lines, "")


def _packed(head: str, lines: Sequence[tuple[str, str, tuple[str, ...]]], foot: str) -> Speech:
    """Whole lines within the budget; what did not fit is counted."""
    room = BUDGET * BYTES_PER_TOKEN - sum(_size(one) for one in (head, FRAME, foot, "- and 1,000,000 more"))
    taken: list[tuple[str, str, tuple[str, ...]]] = []
    for one in lines:
        if len(taken) < MOST_LINES and _size(one[0]) <= min(room, _LONGEST_LINE):
            room -= _size(one[0])
            taken.append(one)
    if not taken:
        return SILENCE
    left = len(lines) - len(taken)
    said = [head, FRAME, *(one[0] for one in taken)] + ([f"- and {left:,} more"] if left else [])
    return Speech(
        "\n".join([*said, foot] if foot else said),
        tuple(dict.fromkeys(one[1] for one in taken)),
        tuple(version for one in taken for version in one[2]),
    )


def _names(urns: set[str]) -> Callable[[str, str], str]:
    """How an entity, or a column of it, is named among others: by its name, or where several have it, by its URN."""
    alike = Counter(name_of(urn) for urn in urns)

    def shown(urn: str, column: str) -> str:
        name = name_of(urn) if alike[name_of(urn)] == 1 else urn
        return quoted(_cut(f"{name}.{column}" if column else name))

    return shown


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _size(line: str) -> int:
    return len(line.encode("utf-8", "surrogatepass")) + 1
