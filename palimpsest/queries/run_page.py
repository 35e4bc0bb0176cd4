"""run_page: the runs in pages, and one run with what it changed."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from palimpsest.core.errors import UsageError
from palimpsest.core.ids import RunId
from palimpsest.core.moment import Moment
from palimpsest.queries.change_feed import FeedRequest, FeedView, change_feed
from palimpsest.queries.held import When
from palimpsest.queries.runs import RunView, run, view_of
from palimpsest.store import answers_state
from palimpsest.store.engine import Store

MOST_RUNS = 200
_PLACE = re.compile(r"(\d{1,15})-([0-9a-f]{32})")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunsPageView:
    """Runs, the newest first, and what comes `next`, empty at the end."""

    runs: tuple[RunView, ...]
    next: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPageView:
    """One run, and a page of what it changed; none for a run that read nothing."""

    run: RunView
    changes: FeedView


def runs_page(store: Store, after: str = "", page: int = 50) -> RunsPageView:
    """A page of runs. Raises UsageError for a place that there is not."""
    most = max(1, min(page, MOST_RUNS))
    before = _place(after)
    rows = store.read(lambda connection: answers_state.runs_before(connection, before, most + 1))
    shown = rows[:most]
    last = shown[-1] if len(rows) > most else None
    return RunsPageView(
        runs=tuple(view_of(row) for row in shown), next=f"{last.started_at}-{last.id.hex()}" if last else ""
    )


def run_page(store: Store, text: str, when: When, request: FeedRequest) -> RunPageView:
    """One run, by its id or an unambiguous beginning of it. Raises UsageError."""
    found = run(store, text)
    return RunPageView(run=found, changes=change_feed(store, replace(request, run=found.id), when))


def _place(text: str) -> tuple[Moment, RunId] | None:
    if not text:
        return None
    found = _PLACE.fullmatch(text)
    if found is None:
        raise UsageError(f"{text!r} is no place among the runs", "begin at the first page")
    return Moment(int(found[1])), RunId(bytes.fromhex(found[2]))
