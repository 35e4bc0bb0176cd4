"""Passages written straight into a store, for tests of what is made of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import sqlalchemy as sa

from palimpsest.core.vector import DIMENSION, Vector, Vectors, unit
from palimpsest.store.engine import Connection, Store
from palimpsest.store.schema import entity, passage

_ENTITY = bytes(range(16))


def add_passages(store: Store, texts: Sequence[str], *, first: int = 0) -> list[int]:
    """One passage for each text, their numbers spread as hashes are, in order of the texts. Gives the numbers."""
    numbers = [_spread(first + place) for place in range(len(texts))]
    rows = [
        {"id": number, "entity_id": _ENTITY, "source": "s", "aspect": "a", "current": True, "text": text, "terms": "a"}
        for number, text in zip(numbers, texts, strict=True)
    ]

    def work(connection: Connection) -> None:
        if connection.scalar(sa.select(entity.c.id)) is None:
            about = {"id": _ENTITY, "urn": "urn:x", "kind": "dataset", "platform": "p", "name": "n"}
            connection.execute(sa.insert(entity), about)
        connection.execute(sa.insert(passage), rows)

    store.write(work)
    return numbers


def drop_passages(store: Store, numbers: Sequence[int]) -> None:
    """Take passages away."""
    store.write(lambda connection: connection.execute(sa.delete(passage).where(passage.c.id.in_(numbers))))


def clustered(count: int, *, seed: int = 1) -> Vectors:
    """Vectors that lie in clusters, as those of texts do."""
    chance = np.random.default_rng(seed)
    centres = chance.standard_normal((max(1, count // 50), DIMENSION))
    noise = 0.6 * chance.standard_normal((count, DIMENSION))
    return unit(centres[chance.integers(len(centres), size=count)] + noise)


def exact(vectors: Vectors, question: Vector, most: int) -> list[int]:
    """The places of the nearest vectors, the nearest first."""
    return [int(place) for place in np.argsort(-(vectors @ question), kind="stable")[:most]]


def _spread(place: int) -> int:
    """Far apart, each other than all before: the multiplier is odd."""
    return (place + 1) * 0x1E3779B97F4A7C15 % (1 << 62)
