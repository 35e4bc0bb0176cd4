"""memvara, by `remember` and `search`, in an environment of its own, with the SQLite that it needs.

Variants: none commits each fact, as its API does by itself; `batch` commits 1,000 at a time, by its store's `batch`;
`own` is `batch` with its own default embedder in place of Palimpsest's.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

import pysqlite3

sys.modules["sqlite3"] = pysqlite3

from memvara import Memvara, NullLLM  # noqa: E402
from memvara.schema import BUILTIN_PREDICATES, Cardinality, PredicateRegistry, PredicateSpec  # noqa: E402

from benchmarks.peers.facts import Fact  # noqa: E402
from benchmarks.peers.measure import MOST, Bound  # noqa: E402
from palimpsest.adapters.embed.hashed import HashedEmbedder  # noqa: E402

_AT_ONCE = 1_000
_PREDICATES = ("description", "owner", "domain", "tag", "term", "retention")


class _Embedder:
    """Palimpsest's embedder, as memvara asks for one."""

    def __init__(self) -> None:
        self.inner = HashedEmbedder()
        self.name, self.dim = self.inner.name, 384

    def encode(self, texts: Sequence[str]) -> object:
        return self.inner.embed_passages(texts)


class WithMemvara:
    """A store of one user. Every predicate holds one value, so that a later fact ends an earlier one."""

    def __init__(self, memory: Memvara, at_once: int) -> None:
        self.memory, self.at_once = memory, at_once

    def insert(self, first: Sequence[Fact], later: Sequence[Fact], bound: Bound) -> int:
        """Fact by fact."""
        every, done = [*first, *later], 0
        for start in range(0, len(every), self.at_once):
            with self.memory.store.batch() if self.at_once > 1 else nullcontext():
                for fact in every[start : start + self.at_once]:
                    self.memory.remember(fact.subject, fact.predicate, fact.value, text=fact.sentence)
                    done += 1
            if bound.is_used_up():
                break
        return done

    def search(self, question: str) -> list[str]:
        """Its hybrid search."""
        return [one.text for one in self.memory.search(question, k=MOST)]

    def facts_about(self) -> dict[str, object]:
        """Its own statistics."""
        return dict(self.memory.stats())


def open_memory(folder: Path, variant: str) -> WithMemvara:
    """An empty one in a file."""
    specs = tuple(PredicateSpec(name, cardinality=Cardinality.ONE) for name in _PREDICATES)
    memory = Memvara(
        str(folder / "memvara.db"),
        user="benchmark",
        llm=NullLLM(),
        registry=PredicateRegistry((*BUILTIN_PREDICATES, *specs)),
        embedder=None if variant == "own" else _Embedder(),
    )
    return WithMemvara(memory, _AT_ONCE if variant else 1)
