"""Terms: text as it is searched, the same on every database, so that no tokenizer of one of them decides what is found.

A term holds letters, digits, marks of letters, `_` and `=` only. Words are folded (compatibility forms, case, accents),
identifiers give their parts and the whole (`order_id`, `orderId`: order, id, orderid), words of Latin and Cyrillic
letters their stem and themselves, scripts without blanks between words their letters and pairs of letters.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple
from unicodedata import normalize

import snowballstemmer  # type: ignore[import-untyped]

MOST_LETTERS = 64  # of a term; what is longer is cut
_KEPT = 8_192  # compounds that are remembered taken apart: texts say the same names and words again and again
_KEPT_LETTERS = 128  # of one of these, at most

# Marks that belong to the letter before them, by block: Latin, Hebrew, Arabic, the scripts of India, and the like.
_MARKS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc\u0900-\u0903"
    "\u093a-\u094f\u0955-\u0957\u0962\u0963\u0981-\u0dff\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20f0\u3099\u309a\ufe20-\ufe2f"
)
# Scripts that are written without blanks between words: Thai, Lao, Burmese, Khmer, Chinese, Japanese, Korean.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3130-\u318f\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff"
)
_LETTER = rf"(?:\w|[{_MARKS}\u0e31-\u0e4e])"
_COMPOUND = re.compile(rf"{_LETTER}+(?:[.\-]{_LETTER}+)*")
_SEGMENT = re.compile(r"\.")
_PART = re.compile(r"[_\-]+|(?<=[a-zа-яё0-9])(?=[A-ZА-ЯЁ])|(?<=[A-Z])(?=[A-Z][a-z])")
_RUN = re.compile(rf"[{_UNSPACED}]+|[^{_UNSPACED}]+")
_IS_UNSPACED = re.compile(rf"[{_UNSPACED}]")
_ACCENT = re.compile(r"([^\u0400-\u04ff\u0590-\u0dff\u0e00-\u0eff])[\u0300-\u036f]+")
_PLAIN = str.maketrans({"ё": "е", "ø": "o", "ł": "l", "đ": "d", "ı": "i"})
_UNSAFE = re.compile(rf"[^\w{_MARKS}\u0e31-\u0e4e]+")
_CYRILLIC = re.compile(r"[а-я]+")


class Token(NamedTuple):
    """A word of a text: as it is written, folded, its stem, and how it came about.

    `kind` is `word`, `part` (a word of an identifier), `whole` (all parts of an identifier as one) or `pair` (two
    letters, or one that stands alone, of a script without blanks).
    """

    text: str
    stem: str
    kind: str


def tokens_of(text: str) -> Iterator[Token]:
    """The words of a text in their order, identifiers taken apart and whole."""
    for compound in _compounds(text):
        yield from _taken_apart(compound) if len(compound) <= _KEPT_LETTERS else _tokens_of_compound(compound)


def terms_of(text: str) -> set[str]:
    """Every term under which a text is found: stems, words, wholes, pairs of letters and the letters themselves."""
    found: set[str] = set()
    for compound in _compounds(text):
        if len(compound) <= _KEPT_LETTERS:
            found |= _terms_of_compound(compound)
        else:
            found.update(_terms(_tokens_of_compound(compound)))
    return found


def _compounds(text: str) -> list[str]:
    found: list[str] = _COMPOUND.findall(text if text.isascii() else normalize("NFKC", text))
    return found


@lru_cache(maxsize=_KEPT)
def _taken_apart(compound: str) -> tuple[Token, ...]:
    return tuple(_tokens_of_compound(compound))


@lru_cache(maxsize=_KEPT)
def _terms_of_compound(compound: str) -> frozenset[str]:
    return frozenset(_terms(_tokens_of_compound(compound)))


def _terms(tokens: Iterable[Token]) -> Iterator[str]:
    for token in tokens:
        yield token.text
        yield token.stem
        if token.kind == "pair":
            yield from token.text


def _tokens_of_compound(compound: str) -> Iterator[Token]:
    every: list[str] = []
    segments = _SEGMENT.split(compound) if "." in compound else [compound]
    for segment in segments:
        parts = [fold(part) for part in _PART.split(segment) if part]
        parts = [part for part in parts if part]
        kind = "part" if len(parts) > 1 or len(segments) > 1 else "word"
        for part in parts:
            yield from _tokens_of_part(part, kind)
        if len(parts) > 1:
            yield _whole(parts)
        every += parts
    if len(segments) > 1 and len(every) > 1:
        yield _whole(every)


def _whole(parts: list[str]) -> Token:
    whole = "".join(parts)[:MOST_LETTERS]
    return Token(whole, whole, "whole")


def _tokens_of_part(part: str, kind: str) -> Iterator[Token]:
    if part.isascii() or not _IS_UNSPACED.search(part):
        yield Token(part, stem(part), kind)
        return
    for run in _RUN.findall(part):
        if not _IS_UNSPACED.match(run):
            yield Token(run, stem(run), kind)
        elif len(run) == 1:
            yield Token(run, run, "pair")
        else:
            for at in range(len(run) - 1):
                yield Token(run[at : at + 2], run[at : at + 2], "pair")


@lru_cache(maxsize=100_000)
def fold(word: str) -> str:
    """A word without letter case and accents, cut to the length of a term."""
    folded = word.casefold()
    if not folded.isascii():
        folded = normalize("NFC", _ACCENT.sub(r"\1", normalize("NFD", folded.translate(_PLAIN))))
        folded = _UNSAFE.sub("", folded)
    return folded[:MOST_LETTERS]


@lru_cache(maxsize=100_000)
def stem(word: str) -> str:
    """The stem of a folded word: English for Latin letters, Russian for Cyrillic ones; any other word as it is."""
    if word.isascii():
        return str(snowballstemmer.stemmer("english").stemWord(word)) if word.isalpha() else word
    return str(snowballstemmer.stemmer("russian").stemWord(word)) if _CYRILLIC.fullmatch(word) else word


# --- terms that are no words: marks to narrow a search by, and three letters in a row of a name ------------------


def mark(name: str, value: str) -> str:
    """The term that says a property of a passage: `aspect=ownership`. Values that differ in signs only share it."""
    return f"{name}={_UNSAFE.sub('_', fold(value))}"


def trigrams(word: str) -> list[str]:
    """The terms under which a misspelt word finds a name: three letters in a row, its ends marked."""
    padded = f"_{word}_"
    return list(dict.fromkeys(f"3={padded[at : at + 3]}" for at in range(len(padded) - 2)))


def likeness(word: str, other: str) -> float:
    """How likely a folded word is another one misspelt, 0 to 1: letters left out, added, changed or swapped count.

    Optimal string alignment distance (Damerau 1964, each pair of letters swapped once), one slip for four letters;
    a name that only begins so is half as likely.
    """
    longest = max(len(word), len(other))
    allowed = min(3, max(1, len(word) // 4))
    if abs(len(word) - len(other)) <= allowed:
        slips = _distance(word, other)
        if slips <= allowed:
            return 1 - slips / longest
    return 0.5 if len(word) >= 4 and other.startswith(word) else 0.0


def _distance(one: str, other: str) -> int:
    before, last = list[int](), list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        now = [i]
        for j, opposite in enumerate(other, 1):
            cost = min(last[j] + 1, now[-1] + 1, last[j - 1] + (letter != opposite))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == opposite:
                cost = min(cost, before[j - 2] + 1)
            now.append(cost)
        before, last = last, now
    return last[-1]
