"""Asks the labelled questions and prints the scores: `python -m benchmarks.recall FOLDER [--embedder hashed …]`.

Makes the memories that are missing in FOLDER, renews what is searched, and asks by text only, and for each embedder by
its vectors only and fused. One copy of each memory for each embedder, so that none is changed over.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, cast

from benchmarks.recall.labels import load
from benchmarks.recall.memories import NAMES, SHARED, make
from benchmarks.recall.score import Answer, Answered, Result, ask_all, kinds_table, ways_table
from palimpsest.adapters.clock import SystemClock
from palimpsest.adapters.embed.building import Wanted, build
from palimpsest.core.errors import UsageError
from palimpsest.core.moment import parse
from palimpsest.core.ranking import WEIGHTS, Nearness, Weights, nearness_of
from palimpsest.jobs.embed import embed
from palimpsest.jobs.index import index
from palimpsest.ports import Embedder, NoProgress
from palimpsest.queries.held import When
from palimpsest.queries.recall import Meaning, RecallRequest, recall
from palimpsest.store import migrate
from palimpsest.store.engine import Store, open_store

_HOLDER = "benchmark"
_BY_VECTORS_ONLY = replace(WEIGHTS, sure=2.0, unsure=2.0)  # no text is enough, and none is sure


def memory(database: Path) -> Store:
    """A memory whose passages are what is held."""
    store = open_store(f"sqlite:///{database}")
    migrate.upgrade(store, now=SystemClock().now())
    index(store, clock=SystemClock(), progress=NoProgress())
    return store


class Asker:
    """Recall over one memory, in one way."""

    def __init__(
        self, store: Store, weights: Weights, embedder: Embedder | None = None, nearness: Nearness | None = None
    ) -> None:
        self._store, self._weights, self._embedder, self._nearness = store, weights, embedder, nearness

    def __call__(self, question: str, **filters: Any) -> Answered:
        """Answer a question. An entity that is not there is no answer."""
        request = RecallRequest(
            question=question,
            entity=filters.get("entity"),
            aspect=filters.get("aspect"),
            platform=filters.get("platform"),
            since=parse(filters["since"]) if filters.get("since") else None,
            include_superseded=bool(filters.get("include_superseded")),
        )
        as_of = parse(filters["as_of"], end_of_day=True) if filters.get("as_of") else None
        when = When(now=SystemClock().now(), as_of=as_of)
        try:
            view = recall(self._store, request, when, self._meaning(question), self._weights)
        except UsageError:
            return Answered(verdict="nothing")
        answers = tuple(
            Answer(
                urn=one.belief.urn,
                aspect=one.belief.aspect,
                key=one.belief.key,
                version=one.belief.version,
                score=one.score,
                is_superseded=one.state != "current",
            )
            for one in view.answers
        )
        return Answered(verdict=cast(Literal["confident", "weak", "nothing"], view.answer), answers=answers)

    def _meaning(self, question: str) -> Meaning | None:
        if self._embedder is None or self._nearness is None or not question.strip():
            return None
        vector = self._embedder.embed_question(question)
        return Meaning(embedder=self._embedder.name, vector=vector, nearness=self._nearness)


def ways_of(folder: Path, databases: Mapping[str, Path], provider: str) -> dict[str, list[Result]]:
    """The answers by the vectors of one embedder only, and fused with text."""
    with closing(build(Wanted(provider=provider), {})) as embedder:
        nearness = nearness_of(embedder.name)
        alone = replace(nearness, weight=1e6, aside=1e6)
        stores = {}
        for name, database in databases.items():
            copy = folder / provider / database.name
            copy.parent.mkdir(exist_ok=True)
            if not copy.exists():
                shutil.copyfile(database, copy)
            stores[name] = memory(copy)
            embed(stores[name], embedder, clock=SystemClock(), progress=NoProgress(), holder=_HOLDER)
        asked: dict[str, Callable[[Store], Asker]] = {
            f"{provider} vectors": lambda store: Asker(store, _BY_VECTORS_ONLY, embedder, alone),
            f"{provider} fused": lambda store: Asker(store, WEIGHTS, embedder, nearness),
        }
        found = {
            way: ask_all(load(), {name: asker(store) for name, store in stores.items()}) for way, asker in asked.items()
        }
        for store in stores.values():
            store.dispose()
        return found


def main() -> None:
    """Make, ask, print."""
    options = argparse.ArgumentParser(prog="python -m benchmarks.recall", description=__doc__)
    options.add_argument("folder", type=Path)
    options.add_argument("--shared", type=Path, default=SHARED)
    options.add_argument("--embedder", action="append", default=[], help="hashed, minilm, …; may be given again")
    options.add_argument("--kinds", action="store_true", help="a table of the kinds of questions for each way")
    asked = options.parse_args()
    made = {name: make(name, asked.folder, asked.shared) for name in NAMES}
    databases = {name: database for name, database in made.items() if database is not None}
    stores = {name: memory(database) for name, database in databases.items()}
    ways = {"text": ask_all(load(), {name: Asker(store, WEIGHTS) for name, store in stores.items()})}
    for store in stores.values():
        store.dispose()
    for provider in asked.embedder:
        ways |= ways_of(asked.folder, databases, provider)
    sys.stdout.write(ways_table(ways) + "\n")
    if asked.kinds:
        for way, results in ways.items():
            sys.stdout.write(f"\n{way}\n\n{kinds_table(results)}\n")


if __name__ == "__main__":
    main()
