"""embed: give every passage that states what is current a vector, in batches; then let a new embedder take over.

A projection: it can be ended anywhere and goes on where it stood, and several at once share the work. Nothing waits
for it: what has no vector yet is found by its text.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass

import numpy as np

from palimpsest.core.errors import RefusedTextError, StoppedError
from palimpsest.core.moment import Moment
from palimpsest.core.vector import DIMENSION, Vectors, fitting
from palimpsest.jobs.leased import released_on_failure
from palimpsest.ports import Clock, Embedder, Progress
from palimpsest.store import embedders, runs, vector_index, vector_signs, vectors
from palimpsest.store.embedders import EmbedderState, Known
from palimpsest.store.engine import Connection, Store
from palimpsest.store.runs import Lease

_DELETED_AT_ONCE = 2_000
_LAST = 1 << 62  # numbers of passages are below
_RULES = ""  # what is embedded depends on no rules of comparing
_LITTLE_SHARE = 4  # signs of passages that are gone are taken out when they are more than one in so many


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedReport:
    """What a pass did. `other`: vectors are by this embedder, and nobody asked to change; nothing was done then.

    `refused`: passages that the model did not take; `left`: those that have no vector at the end, with these.
    """

    run: str
    embedder: str
    other: str
    embedded: int
    refused: int
    left: int
    switched: bool
    deleted: int
    milliseconds: int


def embed(
    store: Store,
    embedder: Embedder,
    *,
    clock: Clock,
    progress: Progress,
    holder: str,
    change: bool = False,
    recorded: bool = True,
    page: int = 128,
) -> EmbedReport:
    """Embed what has no vector yet; nothing to do writes nothing.

    `recorded`: under a run of its own; without one it is part of what came before it, as indexing is.
    `change`: by this embedder even where vectors are by another, whose are searched until the last one is made.
    Raises ModelError when the embedder fails: what was made stays.
    """
    runs.end_lost(store, job="embed", now=clock.now())
    started_at = clock.now()
    known = store.read(embedders.known)
    if not known and not store.read(embedders.count_passages):
        return _nothing(embedder.name, milliseconds=clock.now() - started_at)
    adopted = _adopted_already(known, embedder.name) if not change else None
    of = adopted or store.write(lambda c: embedders.adopt(c, embedder.name, now=started_at, change=change))
    if of is None:
        other = next(one.name for one in known if one.state is EmbedderState.CURRENT)
        return _nothing(embedder.name, other=other, milliseconds=clock.now() - started_at)
    pass_ = _Pass(store, embedder, of, clock, progress, holder, page)
    if not pass_.has_work():
        vector_index.make(store)
        return _nothing(embedder.name, milliseconds=clock.now() - started_at)
    if recorded:
        lease = runs.acquire(store, job="embed", source_name=None, rules=_RULES, now=clock.now(), holder=holder)
        with released_on_failure(store, lease, clock):
            pass_.run(lease)
        report = pass_.report(lease, started_at)
        runs.release(store, lease, state="done", now=clock.now(), counts=counts_of(report))
    else:
        pass_.run(None)
        report = pass_.report(None, started_at)
    vector_index.make(store)  # last: it may take minutes, in which no lease is renewed
    return report


def counts_of(report: EmbedReport) -> dict[str, object]:
    """The counters of a report as its run keeps them."""
    return {
        "embedder": report.embedder,
        "embedded": report.embedded,
        "refused": report.refused,
        "switched": report.switched,
        "deleted": report.deleted,
    }


def _nothing(name: str, *, other: str = "", milliseconds: int) -> EmbedReport:
    return EmbedReport(
        run="",
        embedder=name,
        other=other,
        embedded=0,
        refused=0,
        left=0,
        switched=False,
        deleted=0,
        milliseconds=milliseconds,
    )


def _adopted_already(known: list[Known], name: str) -> Known | None:
    wanted = (EmbedderState.CURRENT, EmbedderState.COMING)
    return next((one for one in known if one.name == name and one.state in wanted), None)


class _Pass:
    """One pass at work.

    Passages are gone through in the order of their numbers, from a place that depends on the holder: the numbers are
    hashes, so several passes start apart, and the one that comes upon another's work leaps to a new place.
    """

    def __init__(
        self, store: Store, embedder: Embedder, of: Known, clock: Clock, progress: Progress, holder: str, page: int
    ) -> None:
        self.store, self.embedder, self.of, self.clock, self.progress = store, embedder, of, clock, progress
        self.holder, self.page = holder, page
        self.counts: Counter[str] = Counter()
        self.refused: set[int] = set()
        self.switched = False

    def has_work(self) -> bool:
        """Whether a passage lacks a vector, a new embedder is to take over, or vectors are to be deleted."""
        return (
            bool(self.next_page(0))
            or self.of.state is EmbedderState.COMING
            or any(one.state is EmbedderState.GOING for one in self.store.read(embedders.known))
        )

    def next_page(self, after: int) -> list[tuple[int, str]]:
        """The next passages without a vector."""
        return self.store.read(lambda c: vectors.missing(c, self.of, after=after, most=self.page))

    def run(self, lease: Lease | None) -> None:
        """Embed, let the new embedder take over when its vectors are whole, delete those of the one before."""
        self.embed_missing(lease)
        if self.of.state is EmbedderState.COMING:
            self.switched = self.store.write(lambda c: embedders.switch(c, self.of))
        self.tidy()
        for one in self.store.read(embedders.known):
            if one.state is EmbedderState.GOING:
                self.delete(one, lease)

    def embed_missing(self, lease: Lease | None) -> None:
        """Go on to the last number, then from the first: until nothing is missing on the way from first to last."""
        lacking = self.store.read(lambda c: _lacking(c, self.of))
        vector_index.leave_out(self.store, lacking)
        self.progress.start("embedding", lacking)
        at, from_first, leaps = _place(self.holder, 0), False, 0
        while (page := self.next_page(at)) or not from_first:
            if not page:
                at, from_first = 0, True
                continue
            at = page[-1][0]
            if self.embed_page([one for one in page if one[0] not in self.refused], lease):
                leaps += 1
                at, from_first = _place(self.holder, leaps), False
        self.progress.done()

    def embed_page(self, found: list[tuple[int, str]], lease: Lease | None) -> bool:
        """Embed and write one page; whether others were at work on it meanwhile. Raises StoppedError if given up."""
        numbers, rows = self.embedded(found)
        size, written = self.store.read(vectors.at_once), 0
        for start in range(0, len(numbers), size):
            part = slice(start, start + size)
            now = self.clock.now()

            def work(connection: Connection, part: slice = part, now: Moment = now) -> int | None:
                if lease is not None:
                    runs.beat(connection, lease, now)
                return vectors.write(connection, self.of, numbers[part], rows[part])

            done = self.store.write(work)
            if done is None:
                raise StoppedError(f"the embedder {self.embedder.name} was given up for another", "run again")
            written += done
        self.counts["embedded"] += written
        self.progress.advance(len(found))
        return written < len(numbers)

    def embedded(self, found: list[tuple[int, str]]) -> tuple[list[int], Vectors]:
        """The vectors of passages. Where the model refuses one of them, the others are asked for apart from it."""
        nothing: tuple[list[int], Vectors] = [], np.empty((0, DIMENSION), dtype=np.float32)
        if not found:
            return nothing
        try:
            made = self.embedder.embed_passages([text for _, text in found])
        except RefusedTextError:
            if len(found) == 1:
                self.refused.add(found[0][0])
                return nothing
            half = len(found) // 2
            (first, some), (second, others) = self.embedded(found[:half]), self.embedded(found[half:])
            return first + second, np.concatenate([some, others])
        return [number for number, _ in found], fitting(made, len(found), self.embedder.name)

    def tidy(self) -> None:
        """Keep the signs few and without those of passages that are gone."""
        of = self.of.id
        self.store.write(lambda c: vector_signs.tidy(c, of))
        held = self.store.read(lambda c: vector_signs.count(c, of))
        if not held:
            return
        alive = self.store.read(lambda c: vectors.count(c, self.of))
        if (held - alive) * _LITTLE_SHARE <= held:
            return
        for batch in self.store.read(lambda c: vector_signs.batches(c, of)):
            self.store.write(lambda c, batch=batch: vector_signs.prune(c, of, batch))  # type: ignore[misc]

    def delete(self, gone: Known, lease: Lease | None) -> None:
        """Delete the vectors of an embedder that nobody searches any more."""
        at: int | None = 0
        while at is not None:
            now = self.clock.now()

            def work(connection: Connection, at: int = at, now: Moment = now) -> tuple[int | None, int]:
                if lease is not None:
                    runs.beat(connection, lease, now)
                return vectors.delete_some(connection, gone, after=at, most=_DELETED_AT_ONCE)

            at, deleted = self.store.write(work)
            self.counts["deleted"] += deleted
        self.store.write(lambda c: embedders.leave(c, gone))

    def report(self, lease: Lease | None, started_at: Moment) -> EmbedReport:
        """What was done."""
        return EmbedReport(
            run=lease.run.hex() if lease is not None else "",
            embedder=self.embedder.name,
            other="",
            embedded=self.counts["embedded"],
            refused=len(self.refused),
            left=self.store.read(lambda c: _lacking(c, self.of)),
            switched=self.switched,
            deleted=self.counts["deleted"],
            milliseconds=self.clock.now() - started_at,
        )


def _lacking(connection: Connection, of: Known) -> int:
    return max(0, embedders.count_passages(connection) - vectors.count(connection, of))


def _place(holder: str, leaps: int) -> int:
    """A number of a passage, anywhere: the same for the same holder and leap."""
    digest = hashlib.blake2b(f"{holder} {leaps}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") % _LAST
