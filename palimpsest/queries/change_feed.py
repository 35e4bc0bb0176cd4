"""change_feed: what changed, the newest reading first and in each what breaks first; in pages, by key."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from palimpsest.core.aspects import ASPECTS
from palimpsest.core.aspects.aspect import Impact
from palimpsest.core.errors import UsageError
from palimpsest.core.ids import CellId, Ids, RunId
from palimpsest.core.moment import to_datetime
from palimpsest.queries import held
from palimpsest.queries.change_row import ChangeRow, ChangeView, alike
from palimpsest.queries.changes import Changes, ChangesRequest
from palimpsest.queries.held import When
from palimpsest.store import answers_changes, answers_pages, pending
from palimpsest.store.answers_changes import Reading, Wanted
from palimpsest.store.engine import Connection, Store

MOST_CHANGES = 200
_EVER = "1970-01-01"
_PLACE = re.compile(r"([0-9a-f]{32})-(\d)-([0-9a-f]{32})-(-?\d{1,9})")
_Place = tuple[int, CellId, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedRequest:
    """What is asked. Empty means all; `since` as `changes` takes it, `after` the `next` of the page before."""

    since: str = ""
    until: str = ""
    source: str = ""
    aspect: str = ""
    platform: str = ""
    impact: Impact = Impact.MINOR
    run: str = ""
    after: str = ""
    page: int = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeGroupView:
    """Changes of one reading that say the same, the same weight: often one edit of many entities."""

    impact: str
    aspect: str
    said: str
    changes: tuple[ChangeView, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedReadingView:
    """What one reading changed, as far as this page goes. `continued`: the page before began it."""

    run: str
    source: str
    read: datetime
    continued: bool
    groups: tuple[ChangeGroupView, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedView:
    """A page of changes, and what comes `next`, empty at the end. `pending`: episodes that nobody has judged yet.

    `platforms`, `aspects` and `sources` are what can be asked for.
    """

    since: datetime | None
    until: datetime | None
    readings: tuple[FeedReadingView, ...]
    next: str
    pending: int
    platforms: tuple[str, ...]
    aspects: tuple[str, ...]
    sources: tuple[str, ...]


def change_feed(store: Store, request: FeedRequest, when: When) -> FeedView:
    """A page of what changed. Raises UsageError."""
    if request.aspect and request.aspect not in ASPECTS:
        raise UsageError(f"{request.aspect!r} is no aspect", f"one of: {', '.join(sorted(ASPECTS))}")
    begun = _place(request.after)
    ids = store.ids
    return store.read(lambda connection: _Feed(connection, ids, request, when).feed(begun))


class _Feed(Changes):
    """One page at work: it folds, hints, counts and words as the answer about a whole time does."""

    def __init__(self, connection: Connection, ids: Ids, request: FeedRequest, when: When) -> None:
        self.asked = request
        asked = ChangesRequest(
            since=request.since or _EVER,
            until=request.until or None,
            source=request.source or None,
            aspect=request.aspect or None,
            platform=request.platform or None,
            impact=request.impact,
        )
        super().__init__(connection, ids, asked, when)

    def feed(self, begun: tuple[RunId, _Place] | None) -> FeedView:
        """Walk the readings that wrote something, until the page is full."""
        most = max(1, min(self.asked.page, MOST_CHANGES))
        wanted = Wanted(
            aspect=self.request.aspect,
            platform=self.request.platform,
            least=max(self.asked.impact, Impact.MINOR),
            known_at=self.when.known_at,
        )
        found: list[FeedReadingView] = []
        place = ""
        for reading in self.walked(begun):
            after = begun[1] if begun is not None and begun[0] == reading.run else None
            rows = answers_changes.page_of(self.connection, reading.run, wanted, after, most + 1)
            shown = rows[:most]
            if shown:
                made = self.made([self.row(row) for row in shown])
                found.append(_reading(reading, made, continued=after is not None))
            most -= len(shown)
            if len(rows) > len(shown):
                last = shown[-1].seen if shown else None
                place = _written(reading.run, (int(last.impact), last.cell, last.number) if last else None)
                break
        sources = sorted({reading.source for reading in self.readings})
        return FeedView(
            since=held.moment_view(self.since) if self.asked.since else None,
            until=held.moment_view(self.until),
            readings=tuple(found),
            next=place,
            pending=pending.count_pending(self.connection),
            platforms=tuple(answers_pages.platforms(self.connection)),
            aspects=tuple(sorted(ASPECTS)),
            sources=tuple(sources),
        )

    def walked(self, begun: tuple[RunId, _Place] | None) -> Sequence[Reading]:
        """The readings that can have changes, the newest first, from where the page begins."""
        able = [reading for reading in self.readings if reading.written and not reading.is_first]
        if self.asked.run:
            able = [reading for reading in self.readings if reading.run.hex() == self.asked.run]
        able.sort(key=lambda reading: (-reading.read_at, reading.run))
        if begun is None:
            return able
        at = next((place for place, reading in enumerate(able) if reading.run == begun[0]), None)
        if at is None:
            raise UsageError(f"{self.asked.after!r} is no place among the changes", "begin at the first page")
        return able[at:]

    def made(self, rows: list[ChangeRow]) -> tuple[ChangeGroupView, ...]:
        """The rows of one reading, folded, and grouped by weight and by what they say."""
        if self.when.as_of is not None:
            rows = [row for row in rows if row.valid_from <= self.when.as_of]
        rows = self.folded(rows)
        self.hint_columns(rows)
        self.hint_tables(rows)
        self.count_downstream(rows)
        views = self.worded(rows)
        groups: dict[tuple[object, ...], list[ChangeView]] = {}
        for row, view in zip(rows, views, strict=True):
            groups.setdefault((-int(row.row.seen.impact), *alike(row), row.said), []).append(view)
        return tuple(
            ChangeGroupView(impact=same[0].impact, aspect=same[0].aspect, said=same[0].said, changes=tuple(same))
            for _, same in sorted(groups.items(), key=lambda group: group[0][0])  # type: ignore[arg-type,return-value]
        )


def _reading(reading: Reading, groups: tuple[ChangeGroupView, ...], *, continued: bool) -> FeedReadingView:
    return FeedReadingView(
        run=reading.run.hex(),
        source=reading.source,
        read=to_datetime(reading.read_at),
        continued=continued,
        groups=groups,
    )


def _written(run_id: RunId, place: _Place | None) -> str:
    """A place in the feed as text: a change that a page ends with, or the beginning of a reading."""
    impact, cell, number = place if place is not None else (9, CellId(bytes(16)), 0)
    return f"{run_id.hex()}-{impact}-{cell.hex()}-{number}"


def _place(text: str) -> tuple[RunId, _Place] | None:
    if not text:
        return None
    found = _PLACE.fullmatch(text)
    if found is None:
        raise UsageError(f"{text!r} is no place among the changes", "begin at the first page")
    run_id, impact, cell, number = found.groups()
    return RunId(bytes.fromhex(run_id)), (int(impact), CellId(bytes.fromhex(cell)), int(number))
