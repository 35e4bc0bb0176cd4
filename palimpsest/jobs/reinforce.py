"""reinforce: write down what was recalled, and let the beliefs that answered be the stronger for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from palimpsest.core.ids import BeliefId
from palimpsest.core.jsontext import dumps
from palimpsest.ports import Clock
from palimpsest.store import erasing, recalls
from palimpsest.store.engine import Connection, Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalled:
    """What was asked, by which surface, and what it was told: versions as (belief, number), each with its score."""

    question: str
    surface: str
    answer: str
    versions: Sequence[tuple[BeliefId, int]]
    scores: Sequence[float]


def reinforce(store: Store, recall: Recalled, *, clock: Clock, holder: str) -> None:
    """Record one recall. Raises StoreError, on a store that may only be read too."""
    now, ids = clock.now(), store.ids
    versions = dumps([f"{belief.hex()}:{number}" for belief, number in recall.versions]).decode()
    scores = dumps(list(recall.scores)).decode()

    def work(connection: Connection) -> None:
        recalls.log(
            connection,
            ids,
            now=now,
            holder=holder,
            question=erasing.pseudonyms(connection, ids).text(recall.question.replace("\x00", " ")),
            surface=recall.surface,
            answer=recall.answer,
            versions=versions,
            scores=scores,
        )
        recalls.strengthen(connection, [belief for belief, _ in recall.versions], now)

    store.write(work)
