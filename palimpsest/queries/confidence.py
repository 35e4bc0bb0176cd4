"""How sure current beliefs are: computed when asked, from the readings that confirmed them; stored nowhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from palimpsest.core import confidence as core
from palimpsest.core.aspects import ASPECTS
from palimpsest.core.aspects.aspect import Impact
from palimpsest.core.confidence import EXISTENCE, PRIOR, Rates, days_between
from palimpsest.core.coverage import Coverage
from palimpsest.core.episode import Kind
from palimpsest.core.ids import BeliefId, CellId, EntityId, Ids
from palimpsest.core.jsontext import dumps, loads
from palimpsest.core.moment import Moment, to_datetime
from palimpsest.queries import held
from palimpsest.queries.held import Sure, When
from palimpsest.store import answers
from palimpsest.store import confidence as store
from palimpsest.store.answers import Remembered
from palimpsest.store.confidence import Place, Reading
from palimpsest.store.engine import Connection

_FIRST_LOOK = 2  # readings of each source: the newest one mostly covered it all
_MOST_READINGS = 64  # of all sources: what none of them confirmed was last confirmed when it was first read


def confidences(
    connection: Connection,
    now: Sequence[Remembered],
    chains: Mapping[BeliefId, Sequence[Remembered]],
    when: When,
) -> dict[BeliefId, Sure]:
    """How sure the beliefs are that are current at the time of the question. `chains` holds their versions."""
    if not now:
        return {}
    confirmations = _Confirmations(connection, now, chains, when)
    sources = sorted({one.source for one in now})
    origins = store.origins(connection) if len(sources) > 1 else {}
    there = {(one.entity, one.source): confirmations.of(one) for one in now if one.aspect == EXISTENCE}
    found: dict[BeliefId, tuple[Remembered, float, Moment]] = {}
    for one in now:
        at = confirmations.of(one)
        seen = max(at, there.get((one.entity, one.source), at))
        found[one.belief] = (one, confirmations.alone(one, at, seen), at)
    agreed = _corroborated(found, origins)
    return {
        belief: Sure(confidence=agreed.get(belief, own), confirmed=to_datetime(at))
        for belief, (_, own, at) in found.items()
    }


def confidences_of(connection: Connection, ids: Ids, now: Sequence[Remembered], when: When) -> dict[BeliefId, Sure]:
    """The same for current beliefs of any entities: their slots and their existence are looked up in every source."""
    sources = answers.source_names(connection)
    beliefs = {one.belief for one in now}
    for one in now:
        beliefs |= {ids.belief(one.entity, source, one.aspect, one.key) for source in sources}
        beliefs |= {ids.belief(one.entity, source, EXISTENCE, "") for source in sources}
    around = answers.versions_of_beliefs(connection, sorted(beliefs))
    return confidences(connection, held.current(around, when), held.by_belief(around), when)


def _corroborated(
    found: Mapping[BeliefId, tuple[Remembered, float, Moment]], origins: Mapping[str, str]
) -> dict[BeliefId, float]:
    """What beliefs come to that a source of another origin states too, by their canonical forms."""
    if len(set(origins.values())) < 2:
        return {}
    slots: dict[tuple[EntityId, str, str, bytes], list[tuple[BeliefId, str, float]]] = {}
    for belief, (one, own, _) in found.items():
        form = dumps(ASPECTS[one.aspect].canonical(loads(one.value)))
        origin = origins.get(one.source, one.source)
        slots.setdefault((one.entity, one.aspect, one.key, form), []).append((belief, origin, own))
    agreed = {}
    for said in slots.values():
        if len({origin for _, origin, _ in said}) < 2:
            continue
        for belief, origin, own in said:
            others: dict[str, float] = {}
            for _, other, theirs in said:
                if other != origin:
                    others[other] = max(theirs, others.get(other, 0.0))
            agreed[belief] = core.corroborated([own, *others.values()])
    return agreed


class _Confirmations:
    """When versions were last confirmed, and what their sources had learned by then."""

    def __init__(
        self,
        connection: Connection,
        now: Sequence[Remembered],
        chains: Mapping[BeliefId, Sequence[Remembered]],
        when: When,
    ) -> None:
        self._connection, self._chains, self._when = connection, chains, when
        self._places = store.places(connection, [one.founded.cell for one in now])
        self._bounds = {one.belief: self._bound(one) for one in now}
        self._rates: dict[str, Rates] = {}
        self._at: dict[BeliefId, Moment] = {}
        waiting = [one for one in now if self._place(one.founded.cell).ordinal is not None]
        sources = sorted({one.source for one in waiting})
        most = _FIRST_LOOK * len(sources)
        waiting = self._look(waiting, sources, most)
        if waiting:
            self._look(waiting, sorted({one.source for one in waiting}), _MOST_READINGS)

    def of(self, version: Remembered) -> Moment:
        """When a version was last confirmed: by a reading, at worst by the one that founded it.

        Before that one, at a time that only the catalog's stamp tells, it was true when it began.
        """
        founded = version.founded.observed_at
        if founded > self._when.moment:
            return version.valid_from
        place = self._place(version.founded.cell)
        said = place.borne_out_at if place.borne_out_at is not None and self._when.is_now else None
        return max(founded, self._at.get(version.belief, founded), said if said is not None else founded)

    def alone(self, version: Remembered, at: Moment, seen: Moment) -> float:
        """The probability that a version is still true, by its own source alone."""
        moment = self._when.moment
        age, days = days_between(self._changed(version), at), days_between(at, moment)
        if self._place(version.founded.cell).ordinal is None:
            return core.alone(age=age, days=days)
        rates = self._rates.get(version.source, PRIOR)
        return core.still_true(rates, version.aspect, age=age, days=days, unseen=days_between(seen, moment))

    def _look(self, waiting: Sequence[Remembered], sources: Sequence[str], most: int) -> list[Remembered]:
        """Look so many readings up; what none of them confirms is given back."""
        when = self._when
        if not sources:
            return []
        upto = None if when.is_now else when.moment
        readings = store.readings(self._connection, sources, most=most, upto=upto, known_at=when.known_at)
        left = list(waiting)
        for reading in readings:
            self._learn(reading)
            mine = [one for one in left if one.source == reading.source]
            if not mine:
                continue
            covered = Coverage(reading.coverage)
            for one in mine:
                bound = self._bounds[one.belief]
                ordinal = self._place(one.founded.cell).ordinal
                if ordinal is not None and ordinal in covered and (bound is None or reading.read_at < bound):
                    self._at[one.belief] = reading.read_at
            left = [one for one in left if one.belief not in self._at]
        return left

    def _learn(self, reading: Reading) -> None:
        if reading.source not in self._rates:
            learned = store.learned_in(reading.counts)
            if learned is not None:
                self._rates[reading.source] = core.rates_of(core.by_aspect(learned))

    def _place(self, cell: CellId) -> Place:
        return self._places.get(cell, _NOWHERE)

    def _bound(self, version: Remembered) -> Moment | None:
        """From when on a reading confirms something else: what came after the version, judged or not."""
        chain = self._chains.get(version.belief, ())
        later = next((one.founded.observed_at for one in chain if one.number > version.number), None)
        after = (later, version.valid_to, self._place(version.founded.cell).pending_at)
        return min((one for one in after if one is not None), default=None)

    def _changed(self, version: Remembered) -> Moment:
        """When what a version states came about: quiet versions before it are no change."""
        began = version
        for one in reversed(self._chains.get(version.belief, ())):
            if one.number > began.number or began.founded.impact is not Impact.QUIET:
                continue
            if began.founded.kind is not Kind.FIRST and one.successor == began.number:
                began = one
        return began.valid_from


_NOWHERE = Place(None, None, None)


def usual(confirmed: Iterable[datetime | None]) -> datetime | None:
    """When most of what is shown together was confirmed: said once for all. The newest of several; None for nothing."""
    counted = Counter(one for one in confirmed if one is not None)
    return max(counted, key=lambda one: (counted[one], one), default=None)
