"""Holds the labelled questions against the memories: every label is true, and what is said to be absent is.

`python -m benchmarks.recall.check_labels FOLDER` makes the memories that are missing in FOLDER, prints every label that
is wrong and exits 1 if there is any. It reads what is held (`palimpsest beliefs`), and never asks recall.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import snowballstemmer  # type: ignore[import-untyped]

from benchmarks.recall.labels import FILTERS, KINDS, Expected, Question, halves, load
from benchmarks.recall.memories import NAMES, SHARED, make, palimpsest

# Words of a question that ask, and tell nothing of what is asked for.
_WORDS_THAT_ASK = """
a about all an and any anybody are as at be been before by can currently did do does each ever every find for from get
had has have held hold how i if in inside into is it its kept lies list lists many more much must my no nobody not now
of on once one or our somebody something that the their them then there they this to today tried was we were what when
where which who whom why with you your
"""
_ASKING = frozenset(_WORDS_THAT_ASK.split())


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """One version of a belief, as `palimpsest beliefs --json` prints it, and all its text."""

    urn: str
    aspect: str
    key: str
    version: int
    state: str
    live: bool
    since: str
    text: str


class Memory:
    """What a store holds: every version, and on request what held at a time."""

    def __init__(self, database: Path) -> None:
        self._store = f"sqlite:///{database}"
        self.versions = self._read("--state", "all")
        self.text = "\n".join(one.text for one in self.versions).casefold()
        self._then: dict[str, list[Held]] = {}

    def at(self, moment: str) -> list[Held]:
        """What held then."""
        if moment not in self._then:
            self._then[moment] = self._read("--as-of", moment)
        return self._then[moment]

    def _read(self, *options: str) -> list[Held]:
        document = json.loads(palimpsest(self._store, "beliefs", "--limit", "0", "--json", *options))
        return [_held(one) for one in document["data"]["beliefs"]]


def _held(row: dict[str, Any]) -> Held:
    belief = row["belief"]
    value = belief["value"]
    parts = (belief["urn"], belief["key"], belief["statement"], json.dumps(value, ensure_ascii=False))
    return Held(
        urn=belief["urn"],
        aspect=belief["aspect"],
        key=belief["key"],
        version=belief["version"],
        state=row["state"],
        live=row["is_current"],
        since=belief["since"],
        text=" ".join(parts),
    )


def words(text: str) -> set[str]:
    """The words of a text: case and accents folded, names split where they are put together."""
    split = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text)
    plain = "".join(one for one in unicodedata.normalize("NFKD", split) if not unicodedata.combining(one))
    return {word for word in re.split(r"[\W_]+", plain.casefold()) if word}


def stems(of: Iterable[str]) -> set[str]:
    """The English stems of words that are no asking words."""
    stem = snowballstemmer.stemmer("english").stemWord
    return {stem(word) for word in of if word not in _ASKING and len(word) > 1}


def distance(one: str, other: str) -> int:
    """Edits (insert, delete, replace, swap of neighbours) from one word to the other."""
    last: list[int] = []
    row = list(range(len(other) + 1))
    for i, left in enumerate(one, 1):
        before, last, row = last, row, [i]
        for j, right in enumerate(other, 1):
            best = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (left != right))
            if i > 1 and j > 1 and left == other[j - 2] and one[i - 2] == right:
                best = min(best, before[j - 2] + 1)
            row.append(best)
    return row[-1]


def _passes(question: Question, held: Held) -> bool:
    filters = question.filters
    return (
        filters.get("aspect") in {None, held.aspect}
        and (filters.get("platform") is None or f"dataPlatform:{filters['platform']}," in held.urn)
        and filters.get("entity", "") in held.urn
        and filters.get("since", "") <= held.since
    )


def _candidates(question: Question, memory: Memory) -> list[Held]:
    """What may be answered to a question under its filters."""
    if "as_of" in question.filters:
        among = memory.at(question.filters["as_of"])
    elif question.with_superseded:
        among = [one for one in memory.versions if one.state in {"current", "superseded"}]
    else:
        among = [one for one in memory.versions if one.live and one.state == "current"]
    return [one for one in among if _passes(question, one)]


def _answers(expected: Expected, among: list[Held]) -> list[Held]:
    return [one for one in among if expected.fits(one.urn, one.aspect, one.key, one.version)]


def _existing(question: Question, memory: Memory) -> Iterator[str]:
    among = _candidates(question, memory)
    for expected in question.expect:
        found = _answers(expected, among)
        if not found:
            yield f"is not held: {expected}"
        if expected.superseded and any(one.state != "superseded" for one in found):
            yield f"is not superseded: {expected}"
    if question.with_superseded:
        now = [one for one in question.expect if not one.superseded]
        if len(now) != 1 or len(question.expect) < 2 or any(one.state != "current" for one in _answers(now[0], among)):
            yield "needs one current version and what it superseded"


def _absent(question: Question, memory: Memory) -> Iterator[str]:
    for word in question.absent:
        if word.casefold() not in question.question.casefold():
            yield f"{word!r} is not in the question"
        if word.casefold() in memory.text:
            yield f"{word!r} occurs in the memory"
    if question.kind == "nothing":
        if question.expect or not (question.absent or question.filters):
            yield "says neither what is absent nor which filter leaves nothing"
        if question.filters and _candidates(question, memory):
            yield "its filters leave something"


def _wording(question: Question, memory: Memory) -> Iterator[str]:
    """Whether a question is worded as its kind says."""
    among = _candidates(question, memory)
    asked = words(question.question)
    texts = [words(" ".join(held.text for held in _answers(one, among))) for one in question.expect]
    if question.kind == "exact" and not any(
        len(word) > 3 and word in text for word in asked - _ASKING for text in texts
    ):
        yield "names nothing of an expected answer"
    if question.kind == "paraphrase":
        for text in texts:
            if shared := stems(asked) & stems(text):
                yield f"shares {sorted(shared)} with an expected answer"
    if question.kind == "inflected" and not any(stems(asked - text) & stems(text) for text in texts):
        yield "has no word of an expected answer in another form"
    if question.kind == "typo":
        names = set().union(*texts, *(_last_name(one.urn) for one in question.expect))
        if all(distance(wrong, name) > 2 for wrong in question.absent for name in names):
            yield "is no typo of an expected name"


def _last_name(urn: str) -> set[str]:
    """The last name in the URN of a dataset, unsplit."""
    return {urn.split(",")[-2].rsplit(".", 1)[-1].casefold()} if "," in urn else set()


def _form(question: Question, half: str) -> Iterator[str]:
    if question.kind not in KINDS or question.memory not in NAMES or set(question.filters) - set(FILTERS):
        yield "has an unknown kind, memory or filter"
    if question.half != half:
        yield f"belongs to the half {half}"
    if question.answerable == (question.kind == "nothing"):
        yield "has answers and should not, or the other way round"


def wrong(questions: list[Question], memories: dict[str, Memory]) -> list[str]:
    """What is wrong, one line each. A question of a memory that is not here is looked at for its form only."""
    found = [f"{name}: used {count} times" for name, count in Counter(one.id for one in questions).items() if count > 1]
    right = halves(questions)
    for question in questions:
        checks = [_form(question, right[question.id])]
        if memory := memories.get(question.memory):
            checks += [_existing(question, memory), _absent(question, memory), _wording(question, memory)]
        found += [f"{question.id} {question.question!r}: {line}" for check in checks for line in check]
    return found


def main() -> None:
    """Check them all, and say how many."""
    options = argparse.ArgumentParser(prog="python -m benchmarks.recall.check_labels", description=__doc__)
    options.add_argument("folder", type=Path)
    options.add_argument("--shared", type=Path, default=SHARED)
    asked = options.parse_args()
    made = {name: make(name, asked.folder, asked.shared) for name in NAMES}
    memories = {name: Memory(database) for name, database in made.items() if database is not None}
    questions = load()
    found = wrong(questions, memories)
    for line in found:
        sys.stdout.write(f"{line}\n")
    checked = sum(one.memory in memories for one in questions)
    sys.stdout.write(f"{checked} of {len(questions)} questions checked, {len(found)} labels wrong\n")
    raise SystemExit(bool(found))


if __name__ == "__main__":
    main()
