"""A store that can only be read, and not for long: what a server of pages opens."""

from __future__ import annotations

import sqlalchemy as sa

from palimpsest.store.engine import Store


def only_read(store: Store, *, milliseconds: int) -> Store:
    """The same store; from now on each of its transactions only reads, and is broken off after so long.

    The database itself refuses a write. A transaction that is broken off raises StoreError.
    """

    def limit(connection: sa.Connection) -> None:
        store.dialect.limit(connection, milliseconds)

    sa.event.listen(store.engine, "begin", limit)
    return store
