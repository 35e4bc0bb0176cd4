"""Alembic's entry: runs the revisions on the connection that palimpsest.store.migrate hands in."""

from __future__ import annotations

from alembic import context

from palimpsest.store.schema import metadata

connection = context.config.attributes["connection"]
context.configure(
    connection=connection,
    target_metadata=metadata,
    render_as_batch=connection.dialect.name == "sqlite",
    transaction_per_migration=connection.dialect.name != "sqlite",
)
with context.begin_transaction():
    context.run_migrations()
