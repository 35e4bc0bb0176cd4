"""Shedding: after something was forgotten, what could tell it still goes: vectors' signs, words, bytes of the file."""

from __future__ import annotations

import sqlalchemy as sa

from palimpsest.core.jsontext import loads
from palimpsest.store import embedders, vector_signs
from palimpsest.store.engine import Connection, Store
from palimpsest.store.schema import passage, run

JOBS = ("forget", "erase")


def is_unfinished(connection: Connection) -> bool:
    """Whether the newest of these jobs was killed, or left the file as it was because others were at work on it."""
    newest = sa.select(run.c.state, run.c.counts).where(run.c.job.in_(JOBS)).order_by(run.c.started_at.desc()).limit(1)
    found = connection.execute(newest).first()
    if found is None or found.state == "running":
        return False
    counts = loads(found.counts) if found.counts else None
    return found.state != "done" or (isinstance(counts, dict) and counts.get("rewritten") is False)


def drop_signs(store: Store) -> None:
    """Take the signs of passages that are gone out of every row, for each embedder."""
    for one in store.read(embedders.known):
        for batch in store.read(lambda c, one=one: vector_signs.batches(c, one.id)):  # type: ignore[misc]
            store.write(lambda c, one=one, batch=batch: vector_signs.prune(c, one.id, batch))  # type: ignore[misc]


def rewrite(store: Store) -> bool | None:
    """Write an embedded store anew, so that nothing that was deleted is left in its bytes.

    False where others who read it keep the old bytes alive: done again later, it goes well. None for a server, which
    gives the space of deleted rows to others in its own time. Takes as long as copying the file, and as much room.
    """
    with store.translated():
        return store.dialect.shed(store.engine, passage.name)
