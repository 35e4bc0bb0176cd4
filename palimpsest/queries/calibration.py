"""calibration: the history of a store replayed reading by reading, and how well confidence would have told it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from palimpsest.core import calibration as core
from palimpsest.core.aspects import existence
from palimpsest.core.calibration import Interval, Look, Score, Tally
from palimpsest.core.confidence import EXISTENCE, days_between, rates_of
from palimpsest.core.coverage import Coverage
from palimpsest.core.errors import UsageError
from palimpsest.core.jsontext import loads
from palimpsest.core.moment import Moment, to_datetime
from palimpsest.store import confidence as store_of
from palimpsest.store.confidence import History, Step
from palimpsest.store.engine import Connection, Store

_MOST_READINGS = 500
_MOST_LOOKS = 5_000_000  # cells times readings: beyond, the first entities by id stand for all, and ids are hashes
_YEAR = 365.25


@dataclass(frozen=True, slots=True, kw_only=True)
class RateView:
    """What was learned of one aspect of a source by its last reading; what was counted is faded."""

    source: str
    aspect: str
    days: float
    changes: float
    a_year: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceCalibration:
    """What of one source was replayed: its readings before and after the cut, and its cells, of all that it has."""

    source: str
    trained: int
    scored: int
    cut: datetime
    cells: int
    all_cells: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationView:
    """How each model did; the first three are what is asked, the others the same with and without going on."""

    at_share: float
    default: str
    models: tuple[Score, ...]
    sources: tuple[SourceCalibration, ...]
    rates: tuple[RateView, ...]


def calibrate(store: Store, at_share: float) -> CalibrationView:
    """Replay every source that has readings on both sides of its cut: `at_share` of the time from first to last.

    Raises UsageError when none has.
    """
    return store.read(lambda connection: _calibrate(connection, at_share))


def _calibrate(connection: Connection, at_share: float) -> CalibrationView:
    tallies = {model: Tally() for model in core.MODELS}
    sources, rates = [], []
    for name in store_of.scanned_sources(connection):
        readings = _readings(connection, name)
        cut = _cut(readings, at_share)
        looks, cells, all_cells = _looks(connection, name, readings)
        before = [look for look in looks if look.at <= cut and look.fared]
        after = [look for look in looks if look.at > cut and look.fared]
        if not before or not after:
            continue
        learner = core.calibrated(looks, cut, tallies)
        learned = rates_of(learner.watched)
        rates += [
            RateView(
                source=name,
                aspect=aspect,
                days=round(one.days, 1),
                changes=round(one.changes, 1),
                a_year=learned.of(aspect) * _YEAR,
            )
            for aspect, one in sorted(learner.watched.items())
        ]
        sources.append(
            SourceCalibration(
                source=name,
                trained=sum(look.at <= cut for look in looks),
                scored=len(after),
                cut=to_datetime(cut),
                cells=cells,
                all_cells=all_cells,
            )
        )
    if not sources:
        raise UsageError(
            "too little history to calibrate: no source was read twice before and once after the cut",
            "scan more often, or move the cut with --at-share",
        )
    return CalibrationView(
        at_share=at_share,
        default=core.DEFAULT,
        models=tuple(tally.score(model) for model, tally in tallies.items()),
        sources=tuple(sources),
        rates=tuple(rates),
    )


class _Reading(NamedTuple):
    """What was read at one time, by one run or several."""

    at: Moment
    covered: tuple[Coverage, ...]

    def covers(self, ordinal: int) -> bool:
        return any(ordinal in one for one in self.covered)


def _readings(connection: Connection, name: str) -> list[_Reading]:
    found: list[_Reading] = []
    for at, packed in store_of.every_reading(connection, name, _MOST_READINGS):
        if found and found[-1].at == at:
            found[-1] = _Reading(at, (*found[-1].covered, Coverage(packed)))
        else:
            found.append(_Reading(at, (Coverage(packed),)))
    return found


def _cut(readings: Sequence[_Reading], at_share: float) -> Moment:
    first, last = readings[0].at, readings[-1].at
    return Moment(first + round((last - first) * at_share))


def _looks(connection: Connection, name: str, readings: Sequence[_Reading]) -> tuple[list[Look], int, int]:
    """Every reading with how statements fared up to it, how many cells were looked at, and how many there are."""
    looks = [Look(reading.at, Counter()) for reading in readings]
    cells = all_cells = 0
    for entity in store_of.histories(connection, name):
        all_cells += len(entity)
        if cells * len(readings) > _MOST_LOOKS:
            continue
        cells += len(entity)
        there = [one.steps for one in entity if one.aspect == EXISTENCE]
        presence = _presence(there[0] if there else (), readings)
        for one in entity:
            for place, interval in _fared(one, presence, readings):
                looks[place].fared[interval] += 1
    return looks, cells, all_cells


def _presence(steps: Sequence[Step], readings: Sequence[_Reading]) -> list[bool]:
    """Whether an entity existed at each reading, as far as it is said."""
    found, here, after = [], True, list(steps)
    for reading in readings:
        while after and after[0].observed_at <= reading.at:
            here = _exists(after.pop(0))
        found.append(here)
    return found


def _exists(step: Step) -> bool:
    value = loads(step.value) if step.value is not None else None
    return value is None or existence.exists(value)


def _fared(history: History, presence: Sequence[bool], readings: Sequence[_Reading]) -> Iterator[tuple[int, Interval]]:
    """How a cell's statement fared up to each reading that told something of it."""
    steps = list(history.steps)
    is_held = is_current = False
    last = changed_at = Moment(0)
    for place, reading in enumerate(readings):
        here = presence[place] or history.aspect == EXISTENCE
        now: list[Step] = []
        while steps and steps[0].observed_at <= reading.at:
            now.append(steps.pop(0))
        is_read = bool(now) or reading.covers(history.ordinal)
        if is_current and (is_read or not here):
            changed = any(step.is_change for step in now)
            age, days = days_between(changed_at, last), days_between(last, reading.at)
            yield place, Interval(history.aspect, age, days, changed, not here)
        if now:
            is_held = now[-1].kind != "removed" and (history.aspect != EXISTENCE or _exists(now[-1]))
            moved = [step.observed_at for step in now if step.is_change or step.kind in {"first", "returned"}]
            changed_at = max(moved, default=changed_at)
        if is_read:
            last = reading.at
        is_current = is_held and here and (is_current or is_read)
