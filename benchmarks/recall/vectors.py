"""How fast and how well vectors are found, wherever they are kept; and how fast each embedder makes them.

    python -m benchmarks.recall.vectors                        100,000 vectors on SQLite
    python -m benchmarks.recall.vectors --count 1000000        so many
    python -m benchmarks.recall.vectors --postgresql           on PostgreSQL with pgvector, from the test wheel
    python -m benchmarks.recall.vectors --embedders            passages a second of hashed and minilm

The vectors are synthetic: 384 numbers, a low-rank mixture of clusters, of length one. Times are of one process, warm,
in milliseconds; "cold" is the first question, which reads the signs. Recall is against comparing all.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import sqlalchemy as sa

from palimpsest.adapters.clock import SystemClock
from palimpsest.core.vector import DIMENSION, Vectors, unit
from palimpsest.store import embedders, migrate, vector_index, vector_signs, vectors
from palimpsest.store.embedders import Known
from palimpsest.store.engine import Store, open_store
from palimpsest.store.schema import entity, passage

_QUESTIONS = 200
_MOST = 10
_AT_ONCE = 5_000
_RANK = 48
_ENTITY = bytes(16)


def main() -> None:
    """Measure what is asked for, and print it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--postgresql", action="store_true")
    parser.add_argument("--embedders", action="store_true")
    asked = parser.parse_args()
    if asked.embedders:
        measure_embedders()
        return
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        url = f"sqlite:///{folder}/memory.db"
        if asked.postgresql:
            from tests import servers

            stack.callback(servers.end_all)
            url = servers.kind("postgresql").url(servers.kind("postgresql").make(migrated=False))
        store = open_store(url)
        migrate.upgrade(store, now=SystemClock().now())
        measure_nearest(store, asked.count)
        store.dispose()


def measure_nearest(store: Store, count: int) -> None:
    """Fill a store, and ask it."""
    mixture = _Mixture(count)
    numbers = _numbers(count)
    _add_passages(store, numbers)
    of = store.write(lambda c: embedders.adopt(c, "synthetic:1", now=SystemClock().now(), change=False))
    assert of is not None
    rows = np.concatenate(list(mixture.parts(count)))
    vector_index.leave_out(store, count)
    started = time.perf_counter()
    at_once = store.read(vectors.at_once)
    for start in range(0, count, at_once):
        part = slice(start, start + at_once)
        store.write(lambda c, part=part: vectors.write(c, of, numbers[part].tolist(), rows[part]))
    print(f"{count:,} vectors written: {count / (time.perf_counter() - started):,.0f}/s")
    started = time.perf_counter()
    vector_index.make(store)
    print(f"index made: {time.perf_counter() - started:,.1f} s")
    started = time.perf_counter()
    store.write(lambda c: vector_signs.tidy(c, of.id))
    store.read(lambda c: vectors.missing(c, of, after=0, most=1))
    print(f"seeing that none is missing, and tidying: {(time.perf_counter() - started) * 1e3:,.0f} ms")
    questions = next(mixture.parts(_QUESTIONS))
    truth = [set(numbers[np.argsort(-(rows @ question))[:_MOST]].tolist()) for question in questions]
    _ask(store, of, questions, truth)
    print(f"peak memory of this process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MB")


def _ask(store: Store, of: Known, questions: Vectors, truth: list[set[int]]) -> None:
    taken, hits = [], 0
    for question, wanted in zip(questions, truth, strict=True):
        started = time.perf_counter()
        found = store.read(lambda c, q=question: vectors.nearest(c, of, q, _MOST))
        taken.append((time.perf_counter() - started) * 1e3)
        hits += len(wanted & {one.passage for one in found})
    cold, warm = taken[0], sorted(taken[1:])
    p95 = warm[int(len(warm) * 0.95)]
    print(
        f"nearest {_MOST}: p50 {statistics.median(warm):.1f} ms, p95 {p95:.1f} ms, min {warm[0]:.1f} ms, "
        f"cold {cold:.0f} ms, recall@{_MOST} {hits / (_MOST * len(questions)):.3f}"
    )


class _Mixture:
    """Clusters in a space of few directions, with noise around each."""

    def __init__(self, count: int) -> None:
        self.chance = np.random.default_rng(7)
        self.basis = self.chance.standard_normal((_RANK, DIMENSION))
        self.centres = self.chance.standard_normal((max(10, min(2_000, count // 50)), _RANK))

    def parts(self, count: int) -> Iterator[Vectors]:
        """So many vectors, in parts."""
        for start in range(0, count, 50_000):
            size = min(50_000, count - start)
            chosen = self.centres[self.chance.integers(len(self.centres), size=size)]
            inner = chosen + 0.5 * self.chance.standard_normal((size, _RANK))
            yield unit(inner @ self.basis + 0.3 * self.chance.standard_normal((size, DIMENSION)))


def _numbers(count: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.unique(np.random.default_rng(3).integers(1, 1 << 62, size=count + count // 100))[:count]


def _add_passages(store: Store, numbers: np.ndarray[tuple[int], np.dtype[np.int64]]) -> None:
    about = {"id": _ENTITY, "urn": "urn:x", "kind": "dataset", "platform": "p", "name": "n"}
    store.write(lambda c: c.execute(sa.insert(entity), about))
    same = {"entity_id": _ENTITY, "source": "s", "aspect": "a", "current": True, "text": "t", "terms": "t"}
    for start in range(0, len(numbers), _AT_ONCE):
        rows = [{"id": number, **same} for number in numbers[start : start + _AT_ONCE].tolist()]
        store.write(lambda c, rows=rows: c.execute(sa.insert(passage), rows))


def measure_embedders() -> None:
    """Passages of some 30 words, a second."""
    from palimpsest.adapters.embed.hashed import HashedEmbedder
    from palimpsest.adapters.embed.minilm import MiniLmEmbedder, packaged_path

    chance = np.random.default_rng(5)
    words = [
        f"{stem}{end}" for stem in ("order", "customer", "pay", "ship", "stock") for end in ("", "s", "ing", "_id")
    ]
    words += ["the", "of", "by", "table", "column", "owner", "is", "daily", "source", "description"]
    texts = [" ".join(chance.choice(words, size=30)) for _ in range(2_000)]
    for embedder, count in ((HashedEmbedder(), 2_000), (MiniLmEmbedder(packaged_path()), 400)):
        embedder.embed_passages(texts[:64])
        started = time.perf_counter()
        embedder.embed_passages(texts[:count])
        rate = count / (time.perf_counter() - started)
        started = time.perf_counter()
        for text in texts[:50]:
            embedder.embed_question(text)
        each = (time.perf_counter() - started) * 1e3 / 50
        print(f"{embedder.name}: {rate:,.0f} passages/s, a question {each:.1f} ms")


if __name__ == "__main__":
    main()
