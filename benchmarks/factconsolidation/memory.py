"""Makes a memory of facts by the real jobs, and asks it by the real recall. What is right is not known here."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from palimpsest.adapters.clock import SetClock
from palimpsest.adapters.datahub.file import FileReader
from palimpsest.core.moment import Moment, parse
from palimpsest.core.ranking import nearness_of
from palimpsest.jobs.consolidate import consolidate
from palimpsest.jobs.embed import embed
from palimpsest.jobs.index import index
from palimpsest.jobs.scan import ScanRequest, scan
from palimpsest.ports import Embedder
from palimpsest.queries.held import When
from palimpsest.queries.recall import Meaning, RecallRequest, recall
from palimpsest.store import migrate
from palimpsest.store.engine import Store, open_store
from palimpsest.testing import NoProgress

_BEGIN = parse("2026-01-01T00:00:00Z")
_MINUTE = 60_000
_HOLDER = "benchmark:1:"
LIMIT = 5


class Recalled(NamedTuple):
    """An answer as its value says it, the sentence of a fact, and whether the memory calls it current."""

    text: str
    is_current: bool


def remember(database: Path, facts: Sequence[str], name_of: Callable[[int, str], str]) -> None:
    """Make a memory that reads the facts one by one, a minute after another, and consolidates each.

    A fact is the definition of a glossary term that bears the name which `name_of` gives to its place and text: a fact
    under a name that is held supersedes what is held there.
    """
    store = open_store(f"sqlite:///{database}")
    migrate.upgrade(store, now=_BEGIN)
    clock = SetClock(_BEGIN, step=1)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "fact.json"
        for place, fact in enumerate(facts):
            at = Moment(_BEGIN + place * _MINUTE)
            clock.at = at
            file.write_text(json.dumps([_record(name_of(place, fact), fact)]), encoding="utf-8")
            request = ScanRequest(source="facts", at=at)
            scan(store, FileReader(file), request, clock=clock, progress=NoProgress(), holder=_HOLDER)
            consolidate(store, clock=clock, progress=NoProgress(), holder=_HOLDER)
    index(store, clock=clock, progress=NoProgress())
    store.dispose()


def _record(name: str, fact: str) -> dict[str, object]:
    return {
        "entityType": "glossaryTerm",
        "entityUrn": f"urn:li:glossaryTerm:{name}",
        "changeType": "UPSERT",
        "aspectName": "glossaryTermInfo",
        "aspect": {"json": {"definition": fact, "termSource": "INTERNAL"}},
    }


class Asker:
    """Recall over a memory of so many facts: by its text, and by the vectors of an embedder where one is given."""

    def __init__(self, database: Path, facts: int, embedder: Embedder | None = None) -> None:
        self._store: Store = open_store(f"sqlite:///{database}")
        self._embedder = embedder
        self._now = Moment(_BEGIN + facts * _MINUTE)
        if embedder is not None:
            embed(self._store, embedder, clock=SetClock(self._now, step=1), progress=NoProgress(), holder=_HOLDER)

    def __call__(self, question: str, *, past: bool = False) -> list[Recalled]:
        """What answers, the best first; with `past` what is superseded too."""
        request = RecallRequest(question=question, include_superseded=past, limit=LIMIT)
        view = recall(self._store, request, When(now=self._now), self._meaning(question))
        return [Recalled(text=str(one.belief.value), is_current=one.is_current) for one in view.answers]

    def close(self) -> None:
        """Let go of the memory."""
        self._store.dispose()

    def _meaning(self, question: str) -> Meaning | None:
        if self._embedder is None:
            return None
        name, vector = self._embedder.name, self._embedder.embed_question(question)
        return Meaning(embedder=name, vector=vector, nearness=nearness_of(name))
