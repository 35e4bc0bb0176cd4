"""The labelled questions: their form, how they are read, and which half a question belongs to.

`questions.jsonl` holds one JSON object a line: id, memory, kind, half, question, expect, filters, and where it helps
absent (what of the question occurs nowhere in the memory) and note. Nothing here opens a store.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

QUESTIONS = Path(__file__).with_name("questions.jsonl")
HALVES = ("tune", "test")
KINDS = ("exact", "inflected", "paraphrase", "typo", "script", "column", "owner", "superseded", "nothing")
FILTERS = ("aspect", "platform", "entity", "since", "as_of", "include_superseded")


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """A right answer: any belief of the entity, narrowed by what is given. `superseded` marks an older version."""

    urn: str
    aspect: str | None = None
    key: str | None = None
    version: int | None = None
    superseded: bool = False

    def fits(self, urn: str, aspect: str, key: str, version: int) -> bool:
        """Whether an answer is this one."""
        return (
            urn == self.urn
            and self.aspect in {None, aspect}
            and self.key in {None, key}
            and self.version in {None, version}
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One labelled question. No expected answer means that the memory holds none."""

    id: str
    memory: str
    kind: str
    half: str
    question: str
    expect: tuple[Expected, ...]
    filters: dict[str, Any]
    absent: tuple[str, ...] = ()
    note: str = ""

    @property
    def answerable(self) -> bool:
        """Whether the memory holds an answer."""
        return bool(self.expect)

    @property
    def with_superseded(self) -> bool:
        """Whether superseded versions are asked for beside the current ones."""
        return bool(self.filters.get("include_superseded"))


def load(path: Path = QUESTIONS) -> list[Question]:
    """Every question, in the order of the file; a name that a question may not have is a TypeError."""
    questions = []
    for line in path.read_text(encoding="utf-8").splitlines():
        fields = json.loads(line)
        fields["expect"] = tuple(Expected(**one) for one in fields["expect"])
        fields["absent"] = tuple(fields.get("absent", ()))
        questions.append(Question(**fields))
    return questions


def halves(questions: Iterable[Question]) -> dict[str, str]:
    """Question id → half. Those of a kind are put in order by memory and by the hash of their id, and dealt in turn."""
    kinds: dict[str, list[Question]] = defaultdict(list)
    for question in questions:
        kinds[question.kind].append(question)
    found: dict[str, str] = {}
    for of_kind in kinds.values():
        ordered = sorted(of_kind, key=lambda one: (one.memory, hashlib.sha256(one.id.encode()).hexdigest()))
        found |= {one.id: HALVES[number % 2] for number, one in enumerate(ordered)}
    return found
