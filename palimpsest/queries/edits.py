"""The edits of a belief, read off its versions: what was, what is now, when. First readings are none (R14)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from palimpsest.core import say
from palimpsest.core.aspects import ASPECTS
from palimpsest.core.aspects.aspect import Impact, Json
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
        if not when.knows(version):
            continue
        seen = version.founded
        if version.valid_from <= when.moment and not seen.baseline:
            said = say.change(version.aspect, version.key, _value(before), _value(version), seen.kind)
            found.append(Edit(before, version, version.valid_from, seen.impact, said, held.author(seen)))
        before = version
        ended = when.ended(version)
        if ended is not None and version.successor is None and ended <= when.moment:
            value = _value(version)
            impact = max(ASPECTS[version.aspect].impact(value, None), Impact.MINOR)
            said = say.change(version.aspect, version.key, value, None)
            found.append(Edit(version, None, ended, impact, said, ""))
            before = None
    return found


def _value(version: Remembered | None) -> Json:
    return loads(version.value) if version is not None else None
