"""The interface of an aspect.

A value is JSON as it was read; what counts as the same is decided by its canonical form, so that a change of the
canonical rules compares old and new values under the new rules and forges no change. Constructors for the forms that
values share are in texts, sets and records.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TypeAlias

Json: TypeAlias = "str | int | float | bool | list[Json] | dict[str, Json] | None"


class Impact(IntEnum):
    """How much a change matters. Quiet ones are kept, and shown only when asked for."""

    QUIET = 0
    MINOR = 1
    NOTABLE = 2
    BREAKING = 3

    @property
    def word(self) -> str:
        """The impact as people write it."""
        return self.name.lower()


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """One thing that differs between two values: `op` is added, removed or changed; `item` says what within a value."""

    op: str
    item: str
    before: Json = None
    after: Json = None


Canonical: TypeAlias = Callable[[Json], Json]
Difference: TypeAlias = Callable[[Json, Json], tuple[Edit, ...]]
Judged: TypeAlias = Callable[[Json, Json], Impact]
Say: TypeAlias = Callable[[str, Json], str]
SayChange: TypeAlias = Callable[[str, Json, Json], str]
Prose: TypeAlias = Callable[[Json], str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Aspect:
    """A facet that changes on its own. None stands for "nothing held" in every function that takes two values.

    name        the word for it, everywhere
    canonical   value → its canonical form; equal forms are the same fact
    difference  (before, after) → the edits between them
    impact      (before, after) → how much that change matters
    say         (key, value) → the sentence it states
    say_change  (key, before, after) → the sentence that tells the change: what was, what is now
    rank        order of importance when there is room for a few only; lower comes first
    paths       whether keys are column paths, matched as columns are
    prose       value → the prose in it, where what it says is not settled by its form; None for an aspect without any
    beside      value → what of it is not prose; two values that agree in it differ in their prose alone
    """

    name: str
    canonical: Canonical
    difference: Difference
    impact: Judged
    say: Say
    say_change: SayChange
    rank: int = field(default=50)
    paths: bool = False
    prose: Prose | None = None
    beside: Callable[[Json], Json] | None = None

    def differs_only_in_prose(self, before: Json, after: Json) -> bool:
        """Whether two values, both with prose, agree in everything else."""
        if self.prose is None or not self.prose(before) or not self.prose(after):
            return False
        return self.beside is None or self.beside(before) == self.beside(after)
