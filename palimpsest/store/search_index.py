"""The index of words, brought in order after a pass wrote passages, where the database does not do so at once."""

from __future__ import annotations

from palimpsest.store.engine import Store
from palimpsest.store.schema import passage
from palimpsest.store.vector_index import attempt

_INDEX = "ix_passage_terms"
_MANY = 5_000  # from so many on, what the database knows of the table is old


def settle(store: Store, written: int) -> None:
    """After so many passages were written. A user who may not do it leaves it to the database, which does it later."""
    steps = store.dialect.settling(passage.name, _INDEX, many=written >= _MANY)
    if steps:
        attempt(store, *steps)
