"""The edits of a belief, read off its versions: what was, what is now, when. First readings are none (R14)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from palimpsest.core import forgetting
from palimpsest.core.aspects import ASPECTS
from palimpsest.core.aspects.aspect import Impact, Json
from palimpsest.core.belief import State
from palimpsest.core.episode import Kind
from palimpsest.core.jsontext import loads
from palimpsest.core.moment import Moment
from palimpsest.queries import held
from palimpsest.queries.held import When
from palimpsest.store.answers import Remembered


class Edit(NamedTuple):
    """One edit: `before` None for what was not there, `after` None for what ended. `said` is the change in words."""

    before: Remembered | None
    after: Remembered | None
    at: Moment
    impact: Impact
    said: str
    by: str

    @property
    def version(self) -> Remembered:
        """The version that the edit opened, or that it ended."""
        found = self.after or self.before
        assert found is not None
        return found


def edits_of(chain: Sequence[Remembered], when: When) -> list[Edit]:
    """The edits of one belief up to the time of the question, oldest first; `chain` is all its versions in order."""
    found = []
    before: Remembered | None = None
    for version in chain:
        if not when.knows(version) or version.opened_as is not State.CURRENT:
            continue
        version = when.worded(version)  # noqa: PLW2901
        seen = version.founded
        opens_a_matter = seen.kind is Kind.SAID and not held.is_revision(version)
        if version.valid_from <= when.moment and not seen.baseline and not opens_a_matter:
            said = _change(version, before, version, seen.kind)
            found.append(Edit(before, version, version.valid_from, seen.impact, said, held.author(seen)))
        before = version
        ended = when.ended(version)
        if ended is not None and version.successor is None and ended <= when.moment:
            impact = Impact.MINOR
            if seen.forgotten_at is None:
                impact = max(ASPECTS[version.aspect].impact(_value(version), None), impact)
            said = _change(version, version, None, Kind.CHANGED)
            found.append(Edit(version, None, ended, impact, said, ""))
            before = None
    return found


def _change(of: Remembered, before: Remembered | None, after: Remembered | None, kind: Kind) -> str:
    was, now = (one.founded.forgotten_at if one is not None else None for one in (before, after))
    return forgetting.change(of.aspect, of.key, _value(before), _value(after), kind, was=was, now=now)


def _value(version: Remembered | None) -> Json:
    return loads(version.value) if version is not None else None
