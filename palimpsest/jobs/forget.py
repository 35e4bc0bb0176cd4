"""forget: drop episodes that are weak and that nothing rests on, or empty those of versions that are long closed.

read (what may go) → plan (what is weak) → apply, in transactions of bounded size; then what could still tell it goes.
Versions stay, whatever is forgotten: history tells when their text was.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from palimpsest.core.errors import UsageError
from palimpsest.core.forgetting import Droppable, weak
from palimpsest.core.moment import Moment
from palimpsest.core.strength import WEAK
from palimpsest.jobs.leased import released_on_failure
from palimpsest.ports import Clock, Progress
from palimpsest.store import forgetting, runs, search, shedding
from palimpsest.store.engine import Connection, Store
from palimpsest.store.runs import Lease

_RULES = ""  # what is forgotten depends on no rules of comparing
_START = (bytes(16), -(2**31))


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetRequest:
    """What is to be forgotten: episodes weaker than `below`; with `superseded_before`, the texts of closed versions.

    `rewrite`: write an embedded store anew after that, so that its file does not hold what is gone.
    """

    below: float = WEAK
    superseded_before: Moment | None = None
    dry_run: bool = False
    rewrite: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetReport:
    """What was forgotten: episodes dropped, or emptied, by aspect. `kept`: episodes that might go and are not weak.

    rewritten  whether the file was written anew; None where that was not asked for, not needed, or is a server's affair
    """

    run: str
    dry_run: bool
    dropped: int
    emptied: int
    kept: int
    by_aspect: dict[str, int]
    rewritten: bool | None
    milliseconds: int

    @property
    def forgotten(self) -> int:
        """How many episodes were dropped or emptied."""
        return self.dropped + self.emptied


def forget(store: Store, request: ForgetRequest, *, clock: Clock, progress: Progress, holder: str) -> ForgetReport:
    """Forget, under a run of its own; nothing to forget writes nothing. Raises UsageError, StoreError."""
    started_at = clock.now()
    if not 0 <= request.below <= 1:
        raise UsageError(f"a strength is between 0 and 1, not {request.below:g}", "give another --below")
    if request.superseded_before is not None and request.superseded_before > started_at:
        raise UsageError("--superseded-before is in the future", "give a day that has passed")
    work = _Forgetting(store, request, clock, progress)
    work.plan_only()
    if request.dry_run:
        return work.report(None, None, started_at)
    for job in shedding.JOBS:
        runs.end_lost(store, job=job, now=clock.now())
    if not (work.dropped or work.emptied) and not store.read(shedding.is_unfinished):
        return work.report(None, None, started_at)
    lease = runs.acquire(store, job="forget", source_name=None, rules=_RULES, now=clock.now(), holder=holder)
    with released_on_failure(store, lease, clock):
        work.apply(lease)
        shedding.drop_signs(store)
        rewritten = shedding.rewrite(store) if request.rewrite else None
        counts = work.counts() | {"rewritten": rewritten}
        runs.release(store, lease, state="done", now=clock.now(), counts=counts)
    progress.done()
    return work.report(lease, rewritten, started_at)


class _Forgetting:
    """One pass at work, over weak episodes or over those of closed versions."""

    def __init__(self, store: Store, request: ForgetRequest, clock: Clock, progress: Progress) -> None:
        self.store, self.request, self.clock, self.progress = store, request, clock, progress
        self.by_aspect: Counter[str] = Counter()
        self.dropped = self.emptied = self.kept = 0
        self.now = clock.now()

    def plan_only(self) -> None:
        """Count what would be forgotten."""
        before = self.request.superseded_before
        if before is not None:
            found = self.store.read(lambda c: forgetting.emptiable(c, before, _START, None))
            self.emptied = len(found)
            self.by_aspect.update(one.aspect for one in found)
            return
        for some in self.pages():
            self.count(some, self.weak_of(some))

    def apply(self, lease: Lease) -> None:
        """Forget, page by page, each in one transaction that renews the lease."""
        self.progress.start("forgetting", self.dropped + self.emptied)
        self.dropped = self.emptied = self.kept = 0
        self.by_aspect.clear()
        if self.request.superseded_before is None:
            self.drop(lease)
        else:
            self.empty(lease, self.request.superseded_before)

    def drop(self, lease: Lease) -> None:
        """Drop what is weak."""
        after = _START
        while True:

            def work(c: Connection, after: tuple[bytes, int] = after) -> tuple[list[Droppable], list[Droppable]]:
                runs.beat(c, lease, self.clock.now())
                some = forgetting.droppable(c, after)
                gone = self.weak(c, some)
                forgetting.drop(c, gone)
                return some, gone

            some, gone = self.store.write(work)
            if not some:
                return
            self.count(some, gone)
            self.progress.advance(len(gone))
            after = (some[-1].cell, some[-1].number)

    def empty(self, lease: Lease, before: Moment) -> None:
        """Empty the episodes of closed versions; what is emptied is not found again."""

        def work(c: Connection) -> list[forgetting.Emptiable]:
            runs.beat(c, lease, self.clock.now())
            some = forgetting.emptiable(c, before, _START, forgetting.AT_ONCE)
            forgetting.empty(c, some, self.now)
            return some

        while some := self.store.write(work):
            self.emptied += len(some)
            self.by_aspect.update(one.aspect for one in some)
            self.progress.advance(len(some))

    def pages(self) -> Iterator[list[Droppable]]:
        """What may be dropped, page by page."""
        after = _START
        while some := self.store.read(lambda c, after=after: forgetting.droppable(c, after)):  # type: ignore[misc]
            yield some
            after = (some[-1].cell, some[-1].number)

    def weak_of(self, some: Sequence[Droppable]) -> list[Droppable]:
        """Those of a page that are weak now, looked up apart."""
        return self.store.read(lambda connection: self.weak(connection, some))

    def weak(self, connection: Connection, some: Sequence[Droppable]) -> list[Droppable]:
        """Those of a page that are weak now."""
        strengths = search.strengths(connection, sorted({one.belief for one in some}))
        return weak(some, strengths, below=self.request.below, now=self.now)

    def count(self, some: Sequence[Droppable], gone: Sequence[Droppable]) -> None:
        """Count one page."""
        self.dropped += len(gone)
        self.kept += len(some) - len(gone)
        self.by_aspect.update(one.aspect for one in gone)

    def counts(self) -> dict[str, object]:
        """The counters as the run keeps them."""
        return {
            "dropped": self.dropped,
            "emptied": self.emptied,
            "by_aspect": dict(sorted(self.by_aspect.items())),
        }

    def report(self, lease: Lease | None, rewritten: bool | None, started_at: Moment) -> ForgetReport:
        """Everything counted."""
        return ForgetReport(
            run=lease.run.hex() if lease is not None else "",
            dry_run=self.request.dry_run,
            dropped=self.dropped,
            emptied=self.emptied,
            kept=self.kept,
            by_aspect=dict(sorted(self.by_aspect.items())),
            rewritten=rewritten,
            milliseconds=self.clock.now() - started_at,
        )
