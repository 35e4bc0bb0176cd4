"""Whether a text says again what another one said, and whether two notes are about the same matter. Pure, no model.

Meant to be wrong on one side only: what is called a restatement must be one, for a change would else pass unseen. So
two texts may differ in form, plural, spelling and words that claim nothing, and in no other word: a number, a negation,
`all` for `some`, `view` for `table`, a name, one sentence more, in any language, is a new text.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from math import sqrt
from unicodedata import normalize

from palimpsest.core.matter_words import matters_of, opposes
from palimpsest.core.terms import fold, stem

MOST_LETTERS = 20_000  # of a text that may be a near-duplicate; a longer one restates only in the same plain form
# How these were chosen: docs/judging.md.
LEAST_OVERLAP = 0.75
LEAST_COSINE = 0.8
SAME_MATTER = 0.55

# --- the plain form -----------------------------------------------------------------------------------------------

_TAG = re.compile(
    r"</?(?:b|i|u|em|strong|code|pre|p|br|hr|div|span|ul|ol|li|h[1-6]|tt|small|blockquote) {0,3}/?>", re.IGNORECASE
)  # not <s> and <del>: what is struck out is withdrawn. A tag with attributes stays: it may hold an address
_UNSEEN = re.compile(
    "[\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufe0f\ufeff\U000e0000-\U000e007f]"
)
_RAISED = re.compile("(?<=[0-9A-Za-z])([\u00b2\u00b3\u00b9\u2070-\u2079]+)")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_CHUNK = re.compile(r"[^\s()\[\]{}\"“”„«»‹›,;|`<>=?≤≥≠、。।؟،؛]+|[<>=?≤≥≠؟]")
_EDGES = ".:!'’‘*#&/•·-‐‑‒–—―"
_TRAILING = _EDGES.replace("#", "")
_DASH = re.compile("[-‐‑–—―]+")
_OPERATORS = frozenset("-–*/")
_HELD_TOGETHER = re.compile(r"[0-9_./:@\\]")


def plain(text: str) -> str:
    """A text as its words in their order, without letter case, white space, markup and punctuation that claims nothing.

    Compatibility forms are one (NFKC) and what cannot be seen is left out. Signs stay where they claim something: those
    of a number or a comparison, `?`, `!` and `~~` before a word, and all inside a name or an address.
    """
    return " ".join(words_of(text))


def words_of(text: str) -> list[str]:
    """The words of the plain form of a text."""
    if "&" in text:
        text = html.unescape(text)
    if not text.isascii():
        text = normalize("NFKC", _RAISED.sub(r"^\1", _UNSEEN.sub("", text))).replace("’", "'")
    if "<" in text:
        text = _TAG.sub(" ", text)
    if "," in text:
        text = _THOUSANDS.sub("", text)
    is_formula = "=" in text
    if is_formula:
        text = text.replace("!=", "≠")
    found: list[str] = []
    for chunk in _CHUNK.findall(text):
        if chunk.isalpha():
            found.append(chunk.casefold())
        elif chunk in _OPERATORS and (is_formula or chunk == "/" or (found and found[-1][-1].isdigit())):
            found.append(chunk)  # any other is the point of a list
        else:
            found += _parts_of(chunk)
    return found


def _parts_of(chunk: str) -> list[str]:
    """The words of what stands between blanks: a name, number or address is one, other words part at their dashes."""
    core = chunk.lstrip(_EDGES)
    sign = chunk[len(chunk) - len(core) - 1] if len(core) < len(chunk) else ""
    core = core.rstrip(_TRAILING)
    if not core:
        return []
    if sign == "!" or (sign and sign in "-." and core[0].isdigit()):
        core = sign + core
    if "/" not in core:  # what an address names may depend on letter case
        core = core.casefold()
    return [core] if _HELD_TOGETHER.search(core) else [part for part in _DASH.split(core) if part]


# --- restatement --------------------------------------------------------------------------------------------------

_EMPTY = frozenset(("a", "an", "the", "is", "are", "of", "and", "that", "which"))
_LEAD = re.compile(
    r"(?:this|the) (table|view|dataset|column|field|model|metric) (?:contains|holds|stores|lists|has|is) "
)
_BARE_LEAD = re.compile(
    r"(?:contains|holds) |(?:a |the )?flag (?:indicating|that indicates) (?=whether )|indicates (?=whether )"
)
_NAME = re.compile(r"(?<!\w)\w*[a-z0-9][A-Z]\w*|(?<=\w )[A-Z]{1,3}\b")
_ENDINGS = frozenset([("", "s"), ("", "es"), ("y", "ies")])
_SPELLINGS = re.compile(r"(?<=..)(?:is(?=e[sdr]?$|ing$|ations?$)|ys(?=e[sd]?$|ing$))")


def restates(before: str, after: str) -> bool:
    """Whether the second text says the same as the first, as far as that is certain without understanding either."""
    if before == after:
        return True
    old, new = words_of(before), words_of(after)
    if old == new:
        return True
    if len(before) > MOST_LETTERS or len(after) > MOST_LETTERS or not old or not new:
        return False
    if _is_spaced_otherwise(old, new):
        return True
    if not _claim_alike(old, new) or _names(before) != _names(after):
        return False
    return overlap(old, new) >= LEAST_OVERLAP and cosine(old, new) >= LEAST_COSINE


def _is_spaced_otherwise(old: Sequence[str], new: Sequence[str]) -> bool:
    """`BigQuery` for `big query`; never over a short word, a negation or a number: `in active` is not `inactive`."""
    if abs(len(old) - len(new)) > 3 or "".join(old) != "".join(new):
        return False
    return _fixed(old) == _fixed(new)


def _fixed(words: Iterable[str]) -> list[str]:
    return [word for word in words if len(word) < 3 or not word.isalpha() or opposes(word)]


def _claim_alike(old: Sequence[str], new: Sequence[str]) -> bool:
    """Whether the words that claim something are the same in the same order, but for inflection and spelling."""
    (about, mine), (other, theirs) = _claims(old), _claims(new)
    if len(mine) != len(theirs) or not mine or (about and other and about != other):
        return False
    return all(one == two or _is_inflected(one, two) for one, two in zip(mine, theirs, strict=True))


def _claims(words: Sequence[str]) -> tuple[str, list[str]]:
    """What a text calls its subject in its lead (`this table contains`), and the words that claim something."""
    start = " ".join(words[:6]) + " "
    lead = _LEAD.match(start)
    about = lead[1] if lead else ""
    skipped = lead[0].count(" ") if lead else 0
    if not lead and (bare := _BARE_LEAD.match(start)):
        skipped = bare[0].count(" ")
    kept = [word for word in words[skipped:] if word not in _EMPTY]
    return about, [
        word
        for at, word in enumerate(kept)
        if not (word == "total" and kept[at + 1 : at + 2] in (["number"], ["count"]))
    ]


def _is_inflected(one: str, two: str) -> bool:
    """Whether two words are one: plural, British spelling, a letter doubled in a long one. Only for words of letters.

    No tense and no participle: `delete` and `deleted`, `active` and `activated` are not the same.
    """
    if not (one.isalpha() and two.isalpha()) or opposes(one) or opposes(two):
        return False
    one, two = _SPELLINGS.sub(_with_z, one), _SPELLINGS.sub(_with_z, two)
    short, long = sorted((one, two), key=len)
    if short == long or (len(short) >= 7 and _undoubled(short) == _undoubled(long)):
        return True
    same = len(short) - 1 if short.endswith("y") and long.endswith("ies") else len(short)
    return len(short) >= 3 and short[:same] == long[:same] and (short[same:], long[same:]) in _ENDINGS


def _with_z(found: re.Match[str]) -> str:
    return found[0][0] + "z"


def _undoubled(word: str) -> str:
    return "".join(letter for letter, before in zip(word, " " + word, strict=False) if letter != before)


def _names(text: str) -> list[str]:
    """Words that their capitals make a name: `OrderItem` is not `OrderItems`, nor is the A in `Group A` an article."""
    return [name.casefold() for name in _NAME.findall(text)]


def overlap(old: Iterable[str], new: Iterable[str]) -> float:
    """Shared stems, each counted as often as both have it, of all (Dice)."""
    mine, theirs = Counter(map(_stem, old)), Counter(map(_stem, new))
    total = mine.total() + theirs.total()
    return 2 * (mine & theirs).total() / total if total else 1.0


def _stem(word: str) -> str:
    return stem(fold(word))


def cosine(old: Iterable[str], new: Iterable[str]) -> float:
    """The cosine of two texts' n-grams of 3 to 5 letters within words, their ends marked."""
    mine, theirs = _grams(old), _grams(new)
    small, large = sorted((mine, theirs), key=len)
    product = sum(count * large[gram] for gram, count in small.items() if gram in large)
    lengths = sum(count * count for count in mine.values()) * sum(count * count for count in theirs.values())
    return min(1.0, product / sqrt(lengths)) if lengths else 1.0


def _grams(words: Iterable[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for word, count in Counter(words).items():
        for gram in _grams_of(word[:64]):
            found[gram] = found.get(gram, 0) + count
    return found


@lru_cache(maxsize=16_384)
def _grams_of(word: str) -> tuple[str, ...]:
    marked = f"<{word}>"
    return tuple(marked[at : at + size] for size in (3, 4, 5) for at in range(max(1, len(marked) - size + 1)))


# --- the same matter ----------------------------------------------------------------------------------------------

_NOTE_LETTERS = 4_000  # of a note that are looked at


def likeness(one: str, other: str, *, about: str = "") -> float:
    """How far two notes are about the same matter, 0 to 1, whether they agree or not.

    What they say of it (negations, numbers, how often, yes or no) does not count, only what they speak of. `about` is
    the name of the entity, whose words do not count either. Notes that name different columns are 0.
    """
    mine, theirs = words_of(one[:_NOTE_LETTERS]), words_of(other[:_NOTE_LETTERS])
    if mine == theirs:
        return 1.0
    named, also = _columns(mine), _columns(theirs)
    if named and also and not named & also:
        return 0.0
    subject = frozenset(map(_stem, re.split(r"[\W_]+", about))) if about else frozenset()
    spoken, heard = matters_of(mine, subject), matters_of(theirs, subject)
    total = sum(spoken.values()) + sum(heard.values())
    if not total:
        return 0.0
    return 2 * sum(min(weight, heard[what]) for what, weight in spoken.items() if what in heard) / total


def is_same_matter(one: str, other: str, *, about: str = "") -> bool:
    """Whether two notes about one entity are about the same matter, so that one may stand against the other."""
    return likeness(one, other, about=about) >= SAME_MATTER


def _columns(words: Iterable[str]) -> set[str]:
    return {word for word in words if "_" in word and word[0].isalpha()}
