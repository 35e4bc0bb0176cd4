"""The databases that a memory can live in, each behind the same small class."""

from __future__ import annotations

import sqlalchemy as sa

from palimpsest.core.errors import StoreError
from palimpsest.store.dialects.dialect import Dialect


def opened(url: sa.URL, *, writing: bool, patience: float) -> tuple[Dialect, sa.URL, sa.Engine]:
    """The dialect of an address, the address as it is used, and an engine. Nothing in the database changes.

    A server is asked what it is, since many say postgresql:// to CockroachDB. Raises StoreError.
    """
    if url.get_backend_name() == "sqlite":
        from palimpsest.store.dialects.sqlite import Sqlite

        embedded = Sqlite()
        return embedded, url, embedded.engine(url, writing=writing, patience=patience)
    if url.get_backend_name() not in ("postgresql", "postgres", "cockroachdb"):
        raise StoreError(
            f"a memory cannot live in {url.get_backend_name()}",
            "use sqlite:///PATH, postgresql+psycopg://… or cockroachdb+psycopg://…",
        )
    from palimpsest.store.dialects import server

    return server.opened(url, writing=writing, patience=patience)
