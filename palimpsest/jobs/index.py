"""index: bring what is searched up to date with what is held, entity by entity, after a consolidation.

A projection: never in the transaction of another job. Each step is one transaction for some entities, so that the pass
can be ended anywhere and goes on where it stood; several at once take turns.
"""

from __future__ import annotations

from dataclasses import dataclass

from palimpsest.core.ids import EntityId
from palimpsest.ports import Clock, Progress
from palimpsest.store import passages, search_index
from palimpsest.store.engine import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexReport:
    """What a pass did: entities looked at, and passages that were written, dropped and left as they were."""

    entities: int
    written: int
    dropped: int
    kept: int
    milliseconds: int


def index(store: Store, *, clock: Clock, progress: Progress) -> IndexReport:
    """Renew the passages of every stale entity. Nothing stale writes nothing."""
    started_at, ids = clock.now(), store.ids
    entities = written = dropped = kept = 0
    waiting = store.read(passages.count_stale)
    if waiting:
        progress.start("indexing", waiting)
        after, now = EntityId(bytes(16)), clock.now()
        while found := store.write(lambda c, a=after: passages.renew_some(c, ids, after=a, now=now)):  # type: ignore[misc]
            entities += len(found.entities)
            written, dropped, kept = written + found.written, dropped + found.dropped, kept + found.kept
            after = found.entities[-1]
            progress.advance(len(found.entities))
        progress.done()
    if written:
        search_index.settle(store, written)
    return IndexReport(
        entities=entities, written=written, dropped=dropped, kept=kept, milliseconds=clock.now() - started_at
    )
