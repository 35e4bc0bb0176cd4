"""Passages: what is searched. Each is a text that states some versions, with what they are about. Pure.

The versions of one aspect by one source share passages, cut at MOST_LETTERS: a table's columns stand together, and a
long text has several. What is not current stands apart from what is (R12).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from palimpsest.core import say
from palimpsest.core.aspects import existence
from palimpsest.core.aspects.aspect import Json
from palimpsest.core.aspects.form import squeeze
from palimpsest.core.aspects.words import label_of, quote
from palimpsest.core.belief import State, is_current
from palimpsest.core.ids import BeliefId
from palimpsest.core.jsontext import clean, loads
from palimpsest.core.observer import NOTES
from palimpsest.core.terms import mark, terms_of, tokens_of, trigrams

MOST_LETTERS = 700  # of a passage, apart from its head: about what a sentence model takes in
MOST_LETTERS_OF_VERSION = 20_000
EXISTENCE = "existence"
_QUOTED = 160  # what say() quotes at most
_MOST_NAMES = 24  # words of an entity that are found misspelt
_SPLIT_AT = re.compile(r"\s+")


class Stated(NamedTuple):
    """A version of an entity's beliefs and what it states; `value` is JSON text."""

    belief: BeliefId
    number: int
    state: State
    source: str
    aspect: str
    key: str
    value: str


class About(NamedTuple):
    """The entity that passages are about."""

    urn: str
    kind: str
    platform: str
    name: str


class Passage(NamedTuple):
    """One text, its terms with blanks between, and the versions that it states. It is `current` if all of them are."""

    source: str
    aspect: str
    current: bool
    text: str
    terms: str
    states: tuple[tuple[BeliefId, int], ...]


def existence_said(versions: Iterable[Stated]) -> dict[str, bool]:
    """Source → whether it says that the entity of these versions exists; silence says nothing."""
    return {
        one.source: existence.exists(loads(one.value))
        for one in versions
        if one.aspect == EXISTENCE and one.state is State.CURRENT
    }


def currency(versions: Iterable[Stated]) -> Callable[[Stated], bool]:
    """Tells of each version of one entity whether it is current (R12)."""
    said = existence_said(versions)
    for_notes = any(said.values()) or not said

    def is_shown(one: Stated) -> bool:
        there = for_notes if one.source == NOTES else said.get(one.source, True)
        return is_current(one.state, exists=one.aspect == EXISTENCE or there)

    return is_shown


def passages_of(about: About, versions: Sequence[Stated]) -> list[Passage]:
    """The passages that the versions of one entity give, each text once."""
    is_shown = currency(versions)
    groups: dict[tuple[str, str, bool], list[Stated]] = {}
    for one in sorted(versions, key=lambda version: (version.source, version.aspect, version.key, version.number)):
        groups.setdefault((one.source, one.aspect, is_shown(one)), []).append(one)
    head = head_of(about, versions)
    names = _names(about, versions)
    found: dict[tuple[str, str, bool, str], list[tuple[BeliefId, int]]] = {}
    for (source, aspect, current), members in groups.items():
        for text, states in _chunks(members):
            found.setdefault((source, aspect, current, f"{head}: {text}"), []).extend(states)
    return [
        Passage(
            source,
            aspect,
            current,
            text,
            _terms(about, aspect, text, names if current else ()),
            tuple(dict.fromkeys(states)),  # a long text can say the same twice
        )
        for (source, aspect, current, text), states in found.items()
    ]


def head_of(about: About, versions: Iterable[Stated]) -> str:
    """What a passage begins with: `data product Returns, b2fd91.716c`, `dataset shop.public.orders (postgres)`."""
    kind = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", about.kind).lower() or "entity"
    title = title_of(versions)
    named = f"{title}, {about.name}" if title and not about.name.endswith(title) else about.name
    return clean(f"{kind} {named}" + (f" ({about.platform})" if about.platform else "")).replace("\x00", " ")


def title_of(versions: Iterable[Stated]) -> str:
    """The name that an entity is given by a current belief, what people wrote before what ingestion says."""
    titles = {
        (one.key != "edited", one.source): loads(one.value)
        for one in versions
        if one.aspect == "name" and one.state is State.CURRENT
    }
    return next((squeeze(title) for _, title in sorted(titles.items()) if isinstance(title, str)), "")


def spelled_out(aspect: str, key: str, value: Json) -> str:
    """What a value states, nothing of it cut but at MOST_LETTERS_OF_VERSION."""
    said = say.statement(aspect, key, value)
    for text in _texts(value):
        whole = label_of(text) if text.startswith("urn:li:") else squeeze(text)
        if whole in said:
            continue
        if len(whole) > _QUOTED:
            cut = quote(text)
            said = said.replace(cut, whole) if cut in said else f"{said} {whole}"
        elif text.startswith("urn:li:"):
            said = f"{said}, {whole}"
    return clean(said[:MOST_LETTERS_OF_VERSION]).replace("\x00", " ")


def _texts(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for part in value:
            yield from _texts(part)
    elif isinstance(value, dict):
        for part in value.values():
            yield from _texts(part)


def _chunks(members: Sequence[Stated]) -> Iterator[tuple[str, list[tuple[BeliefId, int]]]]:
    """Texts of about MOST_LETTERS at most, each with the versions that it states."""
    texts: list[str] = []
    states: list[tuple[BeliefId, int]] = []
    room = MOST_LETTERS
    for one in members:
        said = spelled_out(one.aspect, one.key, loads(one.value))
        if len(said) > MOST_LETTERS:
            for piece in _pieces(said):
                yield piece, [(one.belief, one.number)]
            continue
        if texts and len(said) > room:
            yield "; ".join(texts), states
            texts, states, room = [], [], MOST_LETTERS
        texts.append(said)
        states.append((one.belief, one.number))
        room -= len(said) + 2
    if texts:
        yield "; ".join(texts), states


def _pieces(text: str) -> Iterator[str]:
    """A long text cut between words; what has no blanks is cut where it must."""
    words: list[str] = []
    room = MOST_LETTERS
    for word in _SPLIT_AT.split(text):
        if words and len(word) > room:
            yield " ".join(words)
            words, room = [], MOST_LETTERS
        while len(word) > MOST_LETTERS:
            yield word[:MOST_LETTERS]
            word = word[MOST_LETTERS - 1 :]  # noqa: PLW2901  one letter twice: a pair of letters is not lost in a cut
        words.append(word)
        room -= len(word) + 1
    yield " ".join(words)


def _terms(about: About, aspect: str, text: str, names: Iterable[str]) -> str:
    found = terms_of(text)
    found.add(mark("aspect", aspect))
    found.add(mark("platform", about.platform))
    if aspect == EXISTENCE:
        for name in names:
            found.update(trigrams(name))
    return " ".join(sorted(found))


def _names(about: About, versions: Iterable[Stated]) -> tuple[str, ...]:
    """The words of an entity's name and title, those at the end of a long name first."""
    words = [token.text for token in tokens_of(f"{about.name} {title_of(versions)}") if token.kind != "pair"]
    return tuple(dict.fromkeys(word for word in reversed(words) if 3 < len(word) <= 32))[:_MOST_NAMES]
