"""Pseudonyms: what stands for persons whose name is not to be held, wherever the name would be. Pure.

Only keyed hashes of the names are known: a text is cut into what can be a name, and each is looked up. So what was held
and what is read again are replaced by one function, and a reading that names the person compares equal.

In free text a name stands as a URN, as an e-mail address, or as whole words in any letter case; a letter, a digit and
any of `_ . - + @` within a run belong to the word. Everywhere else only URNs and addresses are replaced: a column or a
tag that is called as somebody is stays what it is, and so does every URN of anything but a person.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from palimpsest.core.aspects import SAID
from palimpsest.core.aspects.aspect import Json
from palimpsest.core.errors import UsageError
from palimpsest.core.jsontext import clean
from palimpsest.core.observation import Observation, Patch, Seen, Stamp

PREFIXES = ("urn:li:corpuser:", "urn:palimpsest:person:")
_NOWHERE = "erased.invalid"  # a domain that never is: RFC 2606
_MOST_WORDS = 4
_LONGEST = 200
_END = r"\s,()\"'<>\[\]{}|;"
_PERSON = re.compile(rf"(urn:(?:li:corpuser|palimpsest:person):)([^{_END}]+)")
_URN = re.compile(rf"urn:\w+:[^{_END}](?:[^\s\"'<>|;])*")
_WORD = re.compile(r"\w(?:[\w.+@-]*\w)?")
_ADDRESS = re.compile(r"\w(?:[\w.+-]*\w)?@\w(?:[\w.-]*\w)?")
_MARKS = ".:!?"
# Aspects whose values name things, and hold no free text.
_STRUCTURE = frozenset(
    {
        "column_upstreams", "container", "data_product", "domain", "existence", "foreign_key", "outputs", "ownership",
        "platform_instance", "siblings", "sub_type", "tags", "terms", "upstreams", "view_definition",
    }
)  # fmt: skip
_COLUMNS = frozenset({"column", "column_edit"})
_NOTES = frozenset({*SAID, "note"})


def name_in(urn: str) -> str:
    """The name in the URN of a person. Raises UsageError for any other URN."""
    for prefix in PREFIXES:
        name = " ".join(clean(urn.removeprefix(prefix)).split())
        if urn.startswith(prefix) and 0 < len(name) <= _LONGEST:
            return name
    raise UsageError(f"{urn!r} is no URN of a person", f"write {PREFIXES[0]}NAME or {PREFIXES[1]}NAME")


def folded(name: str) -> str:
    """A name as it is hashed: letter case and white space are form."""
    return " ".join(name.split()).casefold()


class Pseudonyms:
    """Replaces names. `of` maps the hash of a folded name to its pseudonym; `hashed` makes the hash."""

    def __init__(self, of: Mapping[bytes, str], hashed: Callable[[str], bytes]) -> None:
        self._of, self._hashed = of, hashed

    def __bool__(self) -> bool:
        """Whether there is anything to replace."""
        return bool(self._of)

    def of(self, name: str) -> str | None:
        """The pseudonym of a name; None for one that is none of them."""
        return self._of.get(self._hashed(folded(name))) if name else None

    # --- texts --------------------------------------------------------------------------------------------------

    def text(self, text: str) -> str:
        """A free text."""
        found: list[str] = []
        at = 0
        for match in _URN.finditer(text):
            urn = self.naming(match[0])
            of_person = next((prefix for prefix in PREFIXES if match[0].startswith(prefix)), "")
            found += [self._words(text[at : match.start()]), of_person if urn == match[0] and of_person else urn]
            at = match.start() + len(of_person) if urn == match[0] and of_person else match.end()
        return "".join([*found, self._words(text[at:])])

    def naming(self, text: str) -> str:
        """A text that is no prose: only URNs of persons, and addresses, are replaced in it."""
        for prefix in PREFIXES:
            if text.startswith(prefix) and (pseudonym := self.of(text.removeprefix(prefix))):
                return prefix + pseudonym
        if "urn:" in text:
            return _PERSON.sub(self._person, text)
        return _ADDRESS.sub(lambda match: self._address(match[0]) or match[0], text) if "@" in text else text

    def whole(self, text: str) -> str:
        """A text that is a name, or a URN, or something else altogether."""
        return self.of(text) or self.naming(text)

    def urn(self, urn: str) -> str:
        """The URN of an entity: another one where it is a person's."""
        return self.naming(urn) if urn.startswith(PREFIXES) else urn

    def observer(self, observer: str) -> str:
        """An observer: `person:mira`."""
        kind, separator, name = observer.partition(":")
        if not separator:
            return observer
        return f"{kind}:{self.of(name) or (name if kind == 'person' else self.text(name))}"

    def key(self, aspect: str, key: str) -> str:
        """The key of a cell. That of a note is made of its words."""
        if aspect in _NOTES:
            return self._slug(key)
        return self.text(key) if aspect in {"property", "attribute"} else self.naming(key)

    def value(self, aspect: str, value: Json) -> Json:
        """A value of an aspect, prose and names within it replaced."""
        if aspect in _COLUMNS and isinstance(value, dict):
            return {
                name: self._each(part, self.text if name == "description" else self.naming)
                for name, part in value.items()
            }
        return self._each(value, self.naming if aspect in _STRUCTURE else self.text)

    # --- observations -------------------------------------------------------------------------------------------

    def seen(self, seen: Seen) -> Seen:
        """What one raw aspect states, with its stamp."""
        observations = [
            Observation(aspect, self.key(aspect, key), self.value(aspect, value))
            for aspect, key, value in seen.observations
        ]
        stamp = seen.stamp
        return Seen(observations, Stamp(at=stamp.at, actor=self.whole(stamp.actor), run=self.text(stamp.run)))

    def patch(self, patch: Patch) -> Patch:
        """One change of a value."""
        member = patch.member
        if member is not None:
            named = self.value(patch.aspect, list(member))
            member = tuple(str(part) for part in named) if isinstance(named, list) else member
        return patch._replace(
            key=self.key(patch.aspect, patch.key), member=member, value=self.value(patch.aspect, patch.value)
        )

    # --- names in them ------------------------------------------------------------------------------------------

    def _each(self, value: Json, replaced: Callable[[str], str]) -> Json:
        if isinstance(value, str):
            return replaced(value)
        if isinstance(value, list):
            return [self._each(part, replaced) for part in value]
        if isinstance(value, dict):
            return {name: self._each(part, replaced) for name, part in value.items()}
        return value

    def _person(self, match: re.Match[str]) -> str:
        name = match[2].rstrip(_MARKS)
        pseudonym = self.of(name)
        return match[0] if pseudonym is None else match[1] + pseudonym + match[2][len(name) :]

    def _address(self, word: str) -> str | None:
        """What stands for an e-mail address: by all of it, or by what is before the @."""
        return self.of(word) or (f"{before}@{_NOWHERE}" if (before := self.of(word.partition("@")[0])) else None)

    def _words(self, text: str) -> str:
        """A text without URNs: each run of words that is a name, the longest first."""
        words = list(_WORD.finditer(text))
        found: list[str] = []
        at = place = 0
        while place < len(words):
            length, pseudonym = self._longest(text, words[place : place + _MOST_WORDS])
            if pseudonym is not None:
                found += [text[at : words[place].start()], pseudonym]
                at = words[place + length - 1].end()
            place += length
        return "".join([*found, text[at:]])

    def _longest(self, text: str, words: list[re.Match[str]]) -> tuple[int, str | None]:
        """How many of the words at the beginning are one name, and what stands for it; 1 and None where none are."""
        for length in range(len(words), 0, -1):
            pseudonym = self.of(text[words[0].start() : words[length - 1].end()])
            if pseudonym is not None:
                return length, pseudonym
        return 1, self._address(words[0][0]) if "@" in words[0][0] else None

    def _slug(self, key: str) -> str:
        """A key of words with hyphens between them, which stand for whatever was between them in the text."""
        parts = key.split("-")
        found: list[str] = []
        place = 0
        while place < len(parts):
            length, pseudonym = self._longest_slug(parts[place : place + _MOST_WORDS])
            found.append(pseudonym or parts[place])
            place += length
        return "-".join(found)

    def _longest_slug(self, parts: list[str]) -> tuple[int, str | None]:
        for length in range(len(parts), 0, -1):
            for between in ("-", " ", ".", "_", "@") if length > 1 else ("",):
                pseudonym = self.of(between.join(parts[:length]))
                if pseudonym is not None:
                    return length, pseudonym
        return 1, None
