"""Palimpsest, on SQLite, by its jobs: each day's catalog is scanned, consolidated, indexed and embedded.

A catalog is what it is fed with: it has no call that takes one fact. Writing the metadata files is not counted, reading
them is.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import sqlalchemy as sa

from benchmarks.peers.facts import Fact, write_catalogs
from benchmarks.peers.measure import MOST, Bound, cpu
from palimpsest.adapters.clock import SystemClock
from palimpsest.adapters.datahub.file import FileReader
from palimpsest.adapters.embed.hashed import HashedEmbedder
from palimpsest.core.ids import BeliefId
from palimpsest.core.ranking import nearness_of
from palimpsest.jobs.consolidate import consolidate
from palimpsest.jobs.embed import embed
from palimpsest.jobs.index import index
from palimpsest.jobs.reinforce import Recalled, reinforce
from palimpsest.jobs.scan import ScanRequest, scan
from palimpsest.ports import NoProgress
from palimpsest.queries.held import When
from palimpsest.queries.recall import Meaning, RecallRequest, RecallView, recall
from palimpsest.store import migrate
from palimpsest.store.engine import Store, open_store
from palimpsest.store.schema import passage, passage_vector, version

_CLOCK = SystemClock()
_HOLDER = "benchmark"


class Palimpsest:
    """The memory of one file."""

    def __init__(self, store: Store, folder: Path) -> None:
        self.store, self.folder = store, folder
        self.embedder = HashedEmbedder()
        self.seconds: dict[str, float] = {}

    def insert(self, first: Sequence[Fact], later: Sequence[Fact], bound: Bound) -> int:
        """Two days of a catalog."""
        before = cpu()
        paths = write_catalogs(self.folder, first, later)
        bound.start += cpu() - before
        for path in paths:
            self.take_in(path)
            path.unlink()
        return len(first) + len(later)

    def take_in(self, path: Path) -> None:
        """What `palimpsest run` does, its look for broken rules left out."""
        told = {"clock": _CLOCK, "progress": NoProgress()}
        request = ScanRequest(source="catalog")
        self.timed("scan", lambda: scan(self.store, FileReader(path), request, holder=_HOLDER, **told))
        self.timed("consolidate", lambda: consolidate(self.store, holder=_HOLDER, **told))
        self.timed("index", lambda: index(self.store, **told))
        self.timed("embed", lambda: embed(self.store, self.embedder, holder=_HOLDER, **told))

    def timed(self, name: str, work: object) -> None:
        """Do a job, and add up what it took."""
        before = cpu()
        work()  # type: ignore[operator]
        self.seconds[name] = self.seconds.get(name, 0) + cpu() - before

    def recall(self, question: str) -> RecallView:
        """Words and vectors together, as the command asks."""
        name = self.embedder.name
        meaning = Meaning(embedder=name, vector=self.embedder.embed_question(question), nearness=nearness_of(name))
        return recall(self.store, RecallRequest(question=question, limit=MOST), When(now=_CLOCK.now()), meaning)

    def search(self, question: str) -> list[str]:
        """The answers, each with its entity."""
        return [f"{one.belief.urn} {one.belief.statement}" for one in self.recall(question).answers]

    def search_recorded(self, question: str) -> list[str]:
        """With the writing down of what was recalled, which the command does after it."""
        view = self.recall(question)
        versions = [(BeliefId(bytes.fromhex(one.belief.id)), one.belief.version) for one in view.answers]
        scores = [one.score for one in view.answers]
        recalled = Recalled(question=question, surface="cli", answer=view.answer, versions=versions, scores=scores)
        reinforce(self.store, recalled, clock=_CLOCK, holder=_HOLDER)
        return [f"{one.belief.urn} {one.belief.statement}" for one in view.answers]

    def facts_about(self) -> dict[str, object]:
        """Rows by table, versions by state."""

        def counted(connection: sa.Connection) -> dict[str, object]:
            states = connection.execute(sa.select(version.c.state, sa.func.count()).group_by(version.c.state))
            rows = {table.name: connection.scalar(sa.select(sa.func.count()).select_from(table))
                    for table in (passage, passage_vector)}  # fmt: skip
            return {"versions": {str(state): count for state, count in states}, **rows}

        return self.store.read(counted) | {"seconds": self.seconds}


def open_memory(folder: Path, variant: str) -> Palimpsest:
    """An empty one; it has no variants."""
    assert not variant
    store = open_store(f"sqlite:///{folder / 'memory.db'}")
    migrate.upgrade(store, now=_CLOCK.now())
    return Palimpsest(store, folder)
