"""runs: what each job did and when, as its row says."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

from palimpsest.core.aspects.aspect import Json
from palimpsest.core.errors import UsageError
from palimpsest.core.jsontext import loads
from palimpsest.core.moment import to_datetime
from palimpsest.queries.held import moment_view
from palimpsest.store import answers_state
from palimpsest.store.answers_state import RunRow
from palimpsest.store.engine import Connection, Store

_HEX = re.compile(r"[0-9a-fA-F]{4,32}")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunView:
    """One run. `written` are its episodes, `founded` its versions; `counts` what else it counted, by name."""

    id: str
    job: str
    source: str
    state: str
    started: datetime
    ended: datetime | None
    read: datetime | None
    complete: bool
    rules: str
    written: int
    founded: int
    counts: dict[str, Json]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunsView:
    """Runs, the newest first."""

    runs: tuple[RunView, ...]


def runs(store: Store, most: int) -> RunsView:
    """The newest runs; `most` 0 means all."""
    found = store.read(lambda connection: answers_state.runs_newest_first(connection, most))
    return RunsView(runs=tuple(view_of(row) for row in found))


def run(store: Store, text: str) -> RunView:
    """The run whose id begins so. Raises UsageError for none or several."""
    return store.read(lambda connection: _run(connection, text))


def _run(connection: Connection, text: str) -> RunView:
    digits = text.strip().lower()
    if not _HEX.fullmatch(digits):
        raise UsageError(f"{text!r} is no run", "give 4 to 32 hexadecimal digits, as palimpsest runs shows them")
    found = answers_state.runs_beginning(connection, digits)
    if not found:
        raise UsageError(f"no run {text!r}", "palimpsest runs lists them")
    if len(found) > 1:
        raise UsageError(f"{text!r} can mean {', '.join(row.id.hex() for row in found)}", "give more digits")
    return view_of(found[0])


def view_of(row: RunRow) -> RunView:
    """A run as it is shown."""
    counts = loads(row.counts)
    return RunView(
        id=row.id.hex(),
        job=row.job,
        source=row.source,
        state=row.state,
        started=to_datetime(row.started_at),
        ended=moment_view(row.ended_at),
        read=moment_view(row.read_at),
        complete=row.complete,
        rules=row.rules,
        written=row.written,
        founded=row.founded,
        counts=counts if isinstance(counts, dict) else {},
    )
