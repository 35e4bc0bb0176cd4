"""The digest: what happened in a time, packed into so many words. Pure.

A sentence is taken whole or left out and counted; each names a belief that it rests on. The first of every topic comes
before the second of any, so that many changes hide neither what is contested nor what grew stale.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from html import escape

MOST_WORDS_A_DAY, MOST_WORDS_A_WEEK = 150, 250
_LETTERS = 30  # of a word at most; a longer run of letters counts as several
_UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]")
_MARKS = re.compile(r"([\\`*_{}\[\]()<>#|~!&$^=])")
_OPENS_A_LIST = re.compile(r"^(\d{1,9})([.)])(?=\s|$)|^([-+])")
# What renderers make links of in plain text, whatever is escaped: addresses, mentions, numbers of issues.
_LINKED = re.compile(r"(@|://|#|\bwww|\bGH-|\bmailto|\bxmpp)", re.IGNORECASE)
_JOINER = "\u2060"  # joins two letters without a gap: seen by no one, and no address goes on behind it


class Topic(StrEnum):
    """What a sentence is about, in the order in which it is told."""

    CHANGED = "changed"
    CONTESTED = "contested"
    WAITING = "waiting"
    STALE = "stale"
    FLAPPING = "flapping"


HEADS: Mapping[Topic, str] = {
    Topic.CHANGED: "Changed",
    Topic.CONTESTED: "Contested",
    Topic.WAITING: "Waits in the inbox",
    Topic.STALE: "Grew stale",
    Topic.FLAPPING: "Keeps changing",
}
_LEFT = {
    Topic.CHANGED: ("change", "changes"),
    Topic.CONTESTED: ("contested", "contested"),
    Topic.WAITING: ("waiting", "waiting"),
    Topic.STALE: ("stale", "stale"),
    Topic.FLAPPING: ("flapping", "flapping"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """One sentence and the short names of the beliefs that it rests on. `breaking`: it tells that something broke."""

    topic: Topic
    text: str
    refs: tuple[str, ...]
    breaking: bool = False

    @property
    def whole(self) -> str:
        """The sentence with its beliefs, on one line."""
        return one_line(self.text) + "".join(f" [{ref}]" for ref in self.refs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """The sentences of one topic."""

    topic: Topic
    head: str
    sentences: tuple[Sentence, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Digest:
    """A packed digest: its words, title and marks included, never more than allowed. `left_out` counts the rest."""

    title: str
    sections: tuple[Section, ...]
    left_out: str
    words: int
    limit: int


def words_of(text: str) -> int:
    """How many words a text has: parts between white space; of a script without gaps two letters are one."""
    return sum(_words(part) for part in text.split())


def _words(part: str) -> int:
    if len(part) <= _LETTERS and part.isascii():
        return 1
    wide = sum(1 for letter in part if unicodedata.east_asian_width(letter) in "WF")
    return max(1, -(-wide // 2) + -(-(len(part) - wide) // _LETTERS))


def one_line(text: str) -> str:
    """A text on one line, with white space squeezed, and control, directional and invisible characters spelled out."""
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", " ".join(text.split()))


def pack(title: str, sentences: Iterable[Sentence], limit: int) -> Digest | None:
    """The sentences, the weightiest of each topic first, in at most so many words; None where there is none."""
    by_topic = {topic: [] for topic in Topic}  # type: dict[Topic, list[Sentence]]
    for one in sentences:
        by_topic[one.topic].append(one)
    firsts = [some[0] for some in by_topic.values() if some]
    if not firsts:
        return None
    every = [*firsts, *(one for some in by_topic.values() for one in some[1:])]
    title = one_line(title)
    room = limit - _title_cost(title)
    if sum(map(_cost, every)) + sum(_head_cost(topic) for topic, some in by_topic.items() if some) > room:
        room -= words_of(_left_out(every))
    taken: list[Sentence] = []
    used: set[Topic] = set()
    for one in every:
        cost = _cost(one) + (0 if one.topic in used else _head_cost(one.topic))
        if cost <= room:
            room -= cost
            used.add(one.topic)
            taken.append(one)
    kept = {id(one) for one in taken}
    left = _left_out([one for one in every if id(one) not in kept])
    sections = tuple(
        Section(topic=topic, head=HEADS[topic], sentences=tuple(one for one in some if id(one) in kept))
        for topic, some in by_topic.items()
        if topic in used
    )
    words = _title_cost(title) + words_of(left) + sum(map(_cost, taken)) + sum(map(_head_cost, used))
    return Digest(title=title, sections=sections, left_out=left, words=words, limit=limit)


def _cost(one: Sentence) -> int:
    """The words of a sentence, the mark of a list before it with them."""
    return words_of(one.whole) + 1


def _title_cost(title: str) -> int:
    return words_of(title) + 1


def _head_cost(topic: Topic) -> int:
    return words_of(HEADS[topic]) + 1


def _left_out(sentences: Sequence[Sentence]) -> str:
    """What is left out, counted: `Not shown: 3 breaking, 12 changes, 1 stale`."""
    if not sentences:
        return ""
    breaking = sum(1 for one in sentences if one.breaking)
    parts = [f"{breaking} breaking"] if breaking else []
    for topic, (single, several) in _LEFT.items():
        count = sum(1 for one in sentences if one.topic is topic and not one.breaking)
        parts += [f"{count} {single if count == 1 else several}"] if count else []
    return f"Not shown: {', '.join(parts)}"


# --- forms --------------------------------------------------------------------------------------------------------


def as_text(digest: Digest) -> str:
    """The digest as plain text."""
    lines = [digest.title]
    for section in digest.sections:
        lines += ["", section.head, *(f"- {one.whole}" for one in section.sentences)]
    return "\n".join([*lines, *(["", digest.left_out] if digest.left_out else [])]) + "\n"


def as_markdown(digest: Digest) -> str:
    """The digest as Markdown: nothing of the catalog's text is taken for Markdown, HTML, a link or a mention."""
    lines = [f"# {markdown(digest.title)}"]
    for section in digest.sections:
        lines += ["", f"## {section.head}", "", *(f"- {_in_markdown(one)}" for one in section.sentences)]
    return "\n".join([*lines, *(["", digest.left_out] if digest.left_out else [])]) + "\n"


def _in_markdown(one: Sentence) -> str:
    return markdown(one.text) + "".join(f" `{ref}`" for ref in one.refs)


def markdown(text: str) -> str:
    """Text inside a line of Markdown, as it is."""
    line = _LINKED.sub(lambda found: found[0][0] + _JOINER + found[0][1:], one_line(text))
    line = _MARKS.sub(r"\\\1", line)
    return _OPENS_A_LIST.sub(lambda found: f"{found[1]}\\{found[2]}" if found[1] else f"\\{found[3]}", line)


def as_html(digest: Digest) -> str:
    """The digest as an HTML mail: everything is escaped, and nothing is loaded from anywhere."""
    parts = ['<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8"></head>\n<body>']
    parts.append(f"<h1>{html(digest.title)}</h1>")
    for section in digest.sections:
        items = "\n".join(f"<li>{_in_html(one)}</li>" for one in section.sentences)
        parts.append(f"<h2>{html(section.head)}</h2>\n<ul>\n{items}\n</ul>")
    if digest.left_out:
        parts.append(f"<p>{html(digest.left_out)}</p>")
    return "\n".join([*parts, "</body>", "</html>"]) + "\n"


def _in_html(one: Sentence) -> str:
    return html(one.text) + "".join(f" <code>{html(ref)}</code>" for ref in one.refs)


def html(text: str) -> str:
    """Text inside HTML, as it is; mail programs make no link of an address in it."""
    line = _LINKED.sub(lambda found: found[0][0] + _JOINER + found[0][1:], one_line(text))
    return escape(line, quote=True)
