"""The index of vectors that have a type of their own: left out while very many are written, and made after that.

Without it every search compares all vectors, which is right and slow. A user who may not make indexes works with what
there is.
"""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from palimpsest.store.engine import Store
from palimpsest.store.schema import passage_vector
from palimpsest.store.vector_types import INDEX, form_of, has_index, index_statement

MANY = 5_000  # from so many on, building the index at once is quicker than adding to it
_BYTES_EACH = 2_500  # what the build holds of one vector with its neighbours
_MOST_MEMORY = 2 << 30


def leave_out(store: Store, coming: int) -> None:
    """Drop the index of a table without vectors, of pgvector only, when so many are to be written."""
    if coming >= MANY and store.read(_is_empty_with_index):
        attempt(store, f"DROP INDEX IF EXISTS {INDEX}")


def make(store: Store) -> None:
    """Make the index where there is none and vectors have a type of their own."""
    if store.read(lambda connection: form_of(connection).native and not has_index(connection)):
        count = store.read(lambda connection: connection.scalar(sa.select(sa.func.count()).select_from(passage_vector)))
        memory = min(_MOST_MEMORY, max(64 << 20, int(count or 0) * _BYTES_EACH)) >> 10
        steps = [index_statement(store.dialect.name)]
        if store.read(form_of).pgvector:
            steps = [f"SET maintenance_work_mem = '{memory}kB'", *steps, "RESET maintenance_work_mem"]
        attempt(store, *steps)


def _is_empty_with_index(connection: sa.Connection) -> bool:
    if not form_of(connection).pgvector or not has_index(connection):
        return False
    return connection.execute(sa.select(passage_vector.c.passage_id).limit(1)).first() is None


def attempt(store: Store, *steps: str) -> None:
    """Run steps on indexes, each on its own; a refused one is the end of it. The doctor tells of a missing index."""
    with store.translated(), store.engine.connect() as fresh:
        connection = fresh.execution_options(isolation_level="AUTOCOMMIT", postgresql_readonly=False)
        try:
            for step in steps:
                connection.execute(sa.text(step))
        except DBAPIError as error:
            if error.connection_invalidated:
                raise
