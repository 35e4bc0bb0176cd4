"""The claim that an English sentence makes, so that a later sentence of the same claim can replace it. Pure.

Two sentences make one claim if they are alike up to their last span of words: `The owner of orders is` Jonas, then
Priya. Where that span begins is told by a few closed classes of words alone; no relation, name or set of sentences is
known here. A sentence of which that cannot be told makes no claim but itself.
"""

from __future__ import annotations

import re
from typing import NamedTuple


def _class(words: str) -> frozenset[str]:
    return frozenset(words.split())


_BE = _class("am is are was were be been being")
_PREPOSITIONS = _class(
    "about after against as at before behind between by during for from in into of on onto over through to under until "
    "with within"
)
_ARTICLES = _class("a an the")
_NOW = _class("already currently meanwhile now presently still today")
_PRONOUNS = _class("he it she that there these they this those what which who")
_RELATIVE = _class("that when where which who whom whose")
_END = re.compile(r"[\s.!?]*$")  # one sentence's own end; `Inc..` loses both
_POSSESSIVE = re.compile(r"['\u2019]s?$")


class Claim(NamedTuple):
    """A sentence taken apart: its claim, without letter case, articles and `now`, and the value as it stands."""

    key: str
    value: str


def claim_of(sentence: str) -> Claim | None:
    """The claim and the value of a sentence, None where it makes none that could be told.

    The value begins after the last of: a form of *to be*; a preposition that follows a word in small letters (one
    within a name, `Duke of Orléans`, opens nothing). After a bare *is* the words before it must hold a relation: what
    something *is* may be many things at once, what its owner is may not.
    """
    words = _END.sub("", sentence).split()
    if not words or words[0].casefold() in _PRONOUNS:
        return None
    at = _last_opening(words)
    if at is None or (words[at].casefold() in _BE and not _has_relation(words[:at])):
        return None
    value = at + 1
    while value < len(words) and words[value].casefold() in _ARTICLES | _NOW:
        value += 1
    if value == len(words):
        return None
    key = " ".join(word.casefold() for word in words[: at + 1] if word.casefold() not in _ARTICLES | _NOW)
    return Claim(key, " ".join(words[value:])) if " " in key else None


def key_of(sentence: str) -> str:
    """The key under which a sentence is held: of its claim, or the sentence itself where it makes none."""
    claim = claim_of(sentence)
    return claim.key if claim is not None else _END.sub("", " ".join(sentence.casefold().split()))


def _last_opening(words: list[str]) -> int | None:
    """The place of the last word after which a value can begin. `has` is none of them: one may have much at once."""
    for at in range(len(words) - 2, 0, -1):
        word, before = words[at], words[at - 1]
        if word in _BE:
            return at
        if word in _PREPOSITIONS and (before[0].islower() or _POSSESSIVE.search(before)):
            return at
    return None


def _has_relation(words: list[str]) -> bool:
    """Whether words before an *is* name what of something it is: `owner of orders`, `Priya's manager`, `who`
    or `where` something did something."""
    return any(word in _PREPOSITIONS | _RELATIVE for word in words) or any(_POSSESSIVE.search(word) for word in words)
