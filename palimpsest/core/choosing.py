"""Choosing: which entity a note is about, which aspect it bears on, and which matter it joins. Pure.

A chooser, the rules or a model, chooses among numbered candidates only; entities, aspects and keys come from here, and
the choice is made once (R3).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from palimpsest.core.aspects import SAID
from palimpsest.core.entity import name_of
from palimpsest.core.ids import CellId, EntityId
from palimpsest.core.likeness import is_same_matter, likeness
from palimpsest.core.moment import Moment
from palimpsest.core.terms import fold

_MOST_MATTERS = 20
_MOST_NAMED = 5
_LONGEST_SLUG = 48


class Note(NamedTuple):
    """A note that waits. `kind` is the aspect that its author gave, or empty."""

    cell: CellId
    entity: EntityId
    urn: str
    observer: str
    kind: str
    text: str
    said_at: Moment


class Subject(NamedTuple):
    """An entity that a note can be about."""

    entity: EntityId
    urn: str


class OpenMatter(NamedTuple):
    """A matter on which something is held, or waits: its entity, aspect and key, and how it is worded now."""

    entity: EntityId
    aspect: str
    key: str
    text: str


class Candidates(NamedTuple):
    """What can be chosen for a note. The first subject is the entity it was said of; one aspect where one was given."""

    note: Note
    subjects: tuple[Subject, ...]
    aspects: tuple[str, ...]
    matters: tuple[OpenMatter, ...]


class Choice(NamedTuple):
    """The places of what was chosen among the candidates; no matter is a new one."""

    subject: int
    aspect: int
    matter: int | None
    sure: bool = True


class Placed(NamedTuple):
    """Where a note goes."""

    note: Note
    entity: EntityId
    aspect: str
    key: str
    sure: bool


def candidates_of(note: Note, named: Sequence[Subject], matters: Sequence[OpenMatter]) -> Candidates:
    """What can be chosen for a note, given the held entities that its text names, and the open matters of all of them.

    Of the matters only those most like it, so that what a chooser reads stays small.
    """
    others = [one for one in named if one.entity != note.entity][:_MOST_NAMED]
    subjects = (Subject(note.entity, note.urn), *others)
    aspects = (note.kind,) if note.kind in SAID else SAID
    near = [
        one for one in matters if one.aspect in aspects and any(one.entity == subject.entity for subject in subjects)
    ]
    if len(near) > _MOST_MATTERS:
        near.sort(key=lambda one: (-likeness(one.text, note.text), one.aspect, one.key))
    return Candidates(note, subjects, aspects, tuple(near[:_MOST_MATTERS]))


def is_valid(choice: Choice, candidates: Candidates) -> bool:
    """Whether a choice names candidates that are there, and a matter of the entity and aspect that it names."""
    if not 0 <= choice.subject < len(candidates.subjects) or not 0 <= choice.aspect < len(candidates.aspects):
        return False
    if choice.matter is None:
        return True
    if not 0 <= choice.matter < len(candidates.matters):
        return False
    matter = candidates.matters[choice.matter]
    subject, aspect = candidates.subjects[choice.subject], candidates.aspects[choice.aspect]
    return matter.entity == subject.entity and matter.aspect == aspect


class RulesChooser:
    """The rules as a chooser: the entity it was said of, the aspect that its words suggest, the matter most like it."""

    name = "rules"

    def choose(self, waiting: Sequence[Candidates]) -> list[Choice | None]:
        """A choice for each note."""
        return [_by_rules(candidates) for candidates in waiting]


def placed(
    waiting: Sequence[Candidates], choices: Sequence[Choice | None], taken: Sequence[tuple[EntityId, str, str]]
) -> list[Placed]:
    """Where the notes go for which there is a valid choice, in their order.

    New matters get a key made of the note's words, which none of those `taken` (entity, aspect, key) has; notes of one
    pass that open the same matter share it.
    """
    keys = set(taken)
    opened: list[OpenMatter] = []
    found = []
    for candidates, choice in zip(waiting, choices, strict=True):
        if choice is None or not is_valid(choice, candidates):
            continue
        note = candidates.note
        entity, aspect = candidates.subjects[choice.subject].entity, candidates.aspects[choice.aspect]
        if choice.matter is not None:
            key = candidates.matters[choice.matter].key
        else:
            near = [one for one in opened if (one.entity, one.aspect) == (entity, aspect)]
            name = name_of(candidates.subjects[choice.subject].urn)
            alike = _most_alike(note.text, near, name)
            key = near[alike].key if alike is not None else _free_key(note.text, entity, aspect, keys)
            keys.add((entity, aspect, key))
            opened.append(OpenMatter(entity, aspect, key, note.text))
        found.append(Placed(note, entity, aspect, key, choice.sure))
    return found


_URN = re.compile(r"urn:li:\w+:(?:\([^()\s]*(?:\([^()\s]*\)[^()\s]*)*\)|[^\s()]+)")
_DOTTED = re.compile(r"[^\W\d][\w$-]*(?:\.[\w$-]+)+")


def names_in(text: str) -> list[str]:
    """What in a text may be the URN or the full dotted name of an entity, in order."""
    urns = [found.rstrip(".,;:!?'\"`") for found in _URN.findall(text)]
    return list(dict.fromkeys([*urns, *_DOTTED.findall(_URN.sub(" ", text))]))


def _by_rules(candidates: Candidates) -> Choice:
    """The note's own entity, unless the text begins with the one other entity that it names."""
    text = candidates.note.text
    subject = 1 if len(candidates.subjects) == 2 and _begins_with(text, candidates.subjects[1].urn) else 0
    about = candidates.subjects[subject]
    wanted = candidates.aspects[0] if len(candidates.aspects) == 1 else aspect_of(text)
    places = [
        place for place, one in enumerate(candidates.matters) if one.entity == about.entity and one.aspect == wanted
    ]
    alike = _most_alike(text, [candidates.matters[place] for place in places], name_of(about.urn))
    return Choice(subject, candidates.aspects.index(wanted), places[alike] if alike is not None else None)


def _begins_with(text: str, urn: str) -> bool:
    start = text.lstrip("`'\"* ")
    return start.startswith((urn, name_of(urn)))


def _most_alike(text: str, matters: Sequence[OpenMatter], about: str) -> int | None:
    """The place of the matter that a text is about, the most alike; None where it is about none of them."""
    alike = [place for place, one in enumerate(matters) if is_same_matter(one.text, text, about=about)]
    return max(alike, key=lambda place: likeness(matters[place].text, text, about=about), default=None)


_BY_WORDS = {
    "decision": r"\b(?:(?:we|team|they) (?:have )?(?:decided|agreed|chose|chosen)|decision|decided (?:to|that|on))\b",
    "quality": (
        r"\b(?:null|nulls|duplicat\w+|missing|incomplete|stale|late|delay\w*|wrong|incorrect|broken|corrupt\w*|"
        r"outlier\w*|unreliable|inconsistent|fresh\w*|refresh\w*|accura\w+|completeness|quality)\b"
    ),
    "usage": (
        r"\b(?:use|uses|used|using|join\w*|filter\w*|query|queried|queries|report\w*|dashboard\w*|consum\w+|"
        r"read by|select\w*)\b"
    ),
}
_QUESTION = re.compile(r"[?？؟]\s*$")


def aspect_of(text: str) -> str:
    """The aspect that a note's words suggest: a question asks, the rest by what it speaks of; else an insight."""
    if _QUESTION.search(text):
        return "question"
    folded = text.casefold()
    return next((aspect for aspect, words in _BY_WORDS.items() if re.search(words, folded)), "insight")


def _free_key(text: str, entity: EntityId, aspect: str, taken: set[tuple[EntityId, str, str]]) -> str:
    """A key made of a text's first words, counted up until it is free."""
    words = [folded for word in re.findall(r"\w+", text) if (folded := fold(word))]
    slug = ""
    for word in words[:8]:
        longer = f"{slug}-{word}" if slug else word[:_LONGEST_SLUG]
        if len(longer) > _LONGEST_SLUG:
            break
        slug = longer
    slug = slug or "matter"
    key, count = slug, 1
    while (entity, aspect, key) in taken:
        count += 1
        key = f"{slug}-{count}"
    return key
