"""Counting: what a scan learns of how often cells of each aspect change, kept in its run beside what it wrote.

Each scan takes up what the last one kept, so that the newest run tells it all. The store's cells are counted only where
no run kept anything, or where a run broke and what it wrote was not counted.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping

from palimpsest.core.aspects import existence
from palimpsest.core.baseline import Difference
from palimpsest.core.confidence import Counted, Moved, days_between
from palimpsest.core.episode import Kind
from palimpsest.core.jsontext import loads
from palimpsest.core.moment import Moment
from palimpsest.jobs.scanning.request import Work
from palimpsest.store import confidence as kept
from palimpsest.store.confidence import Learned

_CHANGED, _APPEARED, _ENDED = "changed", "appeared", "ended"
Moves = Counter[tuple[str, str, str]]  # (raw aspect, aspect, how a cell moved) → how many


def move_of(difference: Difference) -> str:
    """How a difference moves its cell; empty for one that is quiet. An entity that goes away is one that ends."""
    if difference.aspect == "existence" and difference.value is not None:
        there = existence.exists(loads(difference.value))
        held = difference.held
        was = held is not None and held.value is not None and existence.exists(loads(held.value))
        return "" if there == was else _APPEARED if there else _ENDED
    if difference.kind is Kind.REMOVED:
        return _ENDED
    if difference.kind in {Kind.FIRST, Kind.RETURNED}:
        return _APPEARED
    return _CHANGED if difference.impact > 0 else ""


def earlier(work: Work) -> tuple[Moment | None, Learned]:
    """When the last reading was that kept what was learned, and that; to be asked before anything is written."""
    if work.last is None:
        return None, {}
    name = work.request.source
    found = work.store.read(lambda connection: kept.last_learned(connection, name))
    if found is not None and not work.last.unfinished:
        return found
    at, learned = found if found is not None else (work.last.read_at, {})
    held = work.store.read(lambda connection: kept.live_cells(connection, name))
    return at, {
        part: {
            aspect: learned.get(part, {}).get(aspect, Counted())._replace(cells=float(cells))
            for aspect, cells in kinds.items()
        }
        for part, kinds in held.items()
    }


def learned(
    before: tuple[Moment | None, Learned], read_at: Moment, shares: Mapping[str, float], moves: Moves
) -> dict[str, dict[str, list[float]]]:
    """What is known after a scan, as its run keeps it. `shares`: which share of its cells of a raw aspect was read."""
    at, counted = before
    days = days_between(at, read_at) if at is not None else 0.0
    kinds = {(part, aspect) for part, known in counted.items() for aspect in known}
    found: Learned = defaultdict(dict)
    for part, aspect in kinds | {(part, aspect) for part, aspect, _ in moves}:
        moved = Moved(*(moves[part, aspect, how] for how in (_CHANGED, _APPEARED, _ENDED)))
        known = counted.get(part, {}).get(aspect, Counted())
        found[part][aspect] = known.after(aspect, days, shares.get(part, 0.0), moved)
    return kept.as_counts(found)
