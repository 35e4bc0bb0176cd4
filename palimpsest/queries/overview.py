"""overview: how much is held, what changed lately by day, the last changes, the sources, the last runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from threading import Lock
from typing import NamedTuple

from palimpsest.core.aspects.aspect import Impact
from palimpsest.core.ids import RunId
from palimpsest.core.moment import to_datetime
from palimpsest.queries.change_feed import FeedReadingView, FeedRequest, change_feed
from palimpsest.queries.held import When, moment_view
from palimpsest.queries.listing import UsedView, used_view
from palimpsest.queries.runs import RunView, runs
from palimpsest.queries.status import SourceView
from palimpsest.store import answers_changes, answers_pages, answers_state, listing, passages, pending
from palimpsest.store.answers_changes import Reading
from palimpsest.store.answers_pages import Totals
from palimpsest.store.engine import Connection, Store
from palimpsest.store.listing import Used

_DAYS = 28
_DAY = 86_400_000
_LAST_RUNS = 6
_LAST_CHANGES = 12
_MOST_USED = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class DayView:
    """How many changes the readings of one day found, by weight."""

    day: date
    readings: int
    breaking: int
    notable: int
    minor: int

    @property
    def changes(self) -> int:
        """All of them."""
        return self.breaking + self.notable + self.minor


@dataclass(frozen=True, slots=True, kw_only=True)
class OverviewView:
    """The memory at a glance. `days` end with the day of the newest reading, and there is none where there is none.

    beliefs   current versions
    beside    contested and proposed ones, which wait for a person
    earlier   those that were superseded or ended
    changes   revisions, as our link in the catalog counts them
    pending   episodes that wait to be consolidated
    waiting   entities that wait to be indexed
    kinds, platforms   of the most entities
    """

    entities: int
    beliefs: int
    beside: int
    earlier: int
    episodes: int
    changes: int
    pending: int
    waiting: int
    kinds: tuple[UsedView, ...]
    platforms: tuple[UsedView, ...]
    days: tuple[DayView, ...]
    lately: tuple[FeedReadingView, ...]
    sources: tuple[SourceView, ...]
    runs: tuple[RunView, ...]


class _Held(NamedTuple):
    totals: Totals
    pending: int
    waiting: int
    kinds: list[Used]
    platforms: list[Used]


class KeptWeights:
    """What readings changed, by weight, counted anew only when an episode was written, judged or dropped since."""

    def __init__(self) -> None:
        self._kept: tuple[tuple[object, ...], Mapping[RunId, Mapping[int, int]]] = ((), {})
        self._counting = Lock()

    def of(self, connection: Connection, runs: Sequence[RunId], held: _Held) -> Mapping[RunId, Mapping[int, int]]:
        """Run → impact → how many."""
        stamp = (*runs, held.totals.episodes, held.totals.changes, held.pending)
        with self._counting:
            if stamp != self._kept[0]:
                self._kept = (stamp, answers_pages.impacts_of(connection, runs))
            return self._kept[1]


def overview(store: Store, when: When, kept: KeptWeights | None = None) -> OverviewView:
    """The memory at a glance. Who asks often hands in the same `kept`."""
    held = store.read(_held)
    days, found = store.read(lambda connection: _read(connection, held, kept or KeptWeights()))
    return OverviewView(
        entities=held.totals.entities,
        beliefs=held.totals.beliefs,
        beside=held.totals.beside,
        earlier=held.totals.versions - held.totals.beliefs - held.totals.beside,
        episodes=held.totals.episodes,
        changes=held.totals.changes,
        pending=held.pending,
        waiting=held.waiting,
        kinds=used_view(held.kinds),
        platforms=used_view(held.platforms),
        days=days,
        lately=change_feed(store, FeedRequest(page=_LAST_CHANGES), when).readings,
        sources=found,
        runs=runs(store, _LAST_RUNS).runs,
    )


def _held(connection: Connection) -> _Held:
    return _Held(
        answers_pages.totals(connection),
        pending.count_pending(connection),
        passages.count_stale(connection),
        listing.kinds(connection, _MOST_USED),
        listing.platforms(connection, _MOST_USED),
    )


def _read(connection: Connection, held: _Held, kept: KeptWeights) -> tuple[tuple[DayView, ...], tuple[SourceView, ...]]:
    readings = [one for one in answers_changes.readings_between(connection, None, None) if one.finished]
    newest = max((one.read_at for one in readings), default=None)
    days: tuple[DayView, ...] = ()
    if newest is not None:
        last = to_datetime(newest).date()
        lately = [one for one in readings if one.read_at // _DAY > newest // _DAY - _DAYS]
        weights = kept.of(connection, [one.run for one in lately if one.written and not one.is_first], held)
        days = _days(last, lately, weights)
    sources = tuple(
        SourceView(
            name=one.name, kind=one.kind, origin=one.origin, read=moment_view(one.read_at), complete=one.complete
        )
        for one in answers_state.sources(connection)
    )
    return days, sources


def _days(last: date, readings: Sequence[Reading], weights: Mapping[RunId, Mapping[int, int]]) -> tuple[DayView, ...]:
    """The days up to the last one, those without a reading too."""
    counted: dict[date, list[int]] = {last - timedelta(days=back): [0, 0, 0, 0] for back in range(_DAYS)}
    for reading in readings:
        day = counted[to_datetime(reading.read_at).date()]
        day[0] += 1
        for impact, count in weights.get(reading.run, {}).items():
            day[{Impact.BREAKING: 1, Impact.NOTABLE: 2}.get(Impact(impact), 3)] += count
    return tuple(
        DayView(day=day, readings=count, breaking=breaking, notable=notable, minor=minor)
        for day, (count, breaking, notable, minor) in sorted(counted.items())
    )
