"""Extension vector: pgvector, where the server has it and lets us."""

from __future__ import annotations

from alembic import context, op

from palimpsest.store.vector_types import attempt

revision = "0035"
down_revision = "0034"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Without it, vectors are kept as bytes; `palimpsest doctor` tells."""
    connection = context.get_context().connection
    if connection.dialect.name == "postgresql":
        attempt(connection, lambda: op.execute("CREATE EXTENSION IF NOT EXISTS vector"))


def downgrade() -> None:
    """Take it away."""
    # It may serve others.
