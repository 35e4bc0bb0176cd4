"""status: how much is remembered, how it grows, what waits, and when each source was last read."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from palimpsest.queries.held import moment_view
from palimpsest.queries.runs import RunView, runs
from palimpsest.store import answers_state, embedders, pending
from palimpsest.store.embedders import Filled
from palimpsest.store.engine import Store

_LAST_RUNS = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceView:
    """A source, and its newest finished reading."""

    name: str
    kind: str
    origin: str
    read: datetime | None
    complete: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class GrowthView:
    """How many episodes each of the last readings wrote, the newest first, and their mean."""

    readings: tuple[RunView, ...]
    written: int

    @property
    def mean(self) -> float:
        """Episodes a reading."""
        return self.written / len(self.readings) if self.readings else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusView:
    """The store in numbers. `bytes` is None where the database does not tell its size."""

    store: str
    rows: dict[str, int]
    bytes: int | None
    pending: int
    growth: GrowthView
    sources: tuple[SourceView, ...]
    embedders: tuple[Filled, ...]


def status(store: Store) -> StatusView:
    """Count everything."""
    found = store.read(answers_state.sources)
    last = [one for one in runs(store, 0).runs if one.read is not None][:_LAST_RUNS]
    return StatusView(
        store=store.url.render_as_string(hide_password=True),
        rows=store.read(answers_state.rows_by_table),
        bytes=answers_state.bytes_on_disk(store),
        pending=store.read(pending.count_pending),
        growth=GrowthView(readings=tuple(last), written=sum(one.written for one in last)),
        sources=tuple(
            SourceView(
                name=one.name, kind=one.kind, origin=one.origin, read=moment_view(one.read_at), complete=one.complete
            )
            for one in found
        ),
        embedders=tuple(store.read(embedders.filled)),
    )
