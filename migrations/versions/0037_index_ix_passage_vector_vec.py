"""Index ix_passage_vector_vec."""

from __future__ import annotations

from alembic import context, op

from palimpsest.store.vector_types import attempt, create_index

revision = "0037"
down_revision = "0036"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Only where vectors have a type. A server that refuses it searches all of them; `palimpsest doctor` tells."""
    connection = context.get_context().connection
    statement = create_index(connection)
    if statement:
        attempt(connection, lambda: op.execute(statement))


def downgrade() -> None:
    """Take it away."""
    op.execute("DROP INDEX IF EXISTS ix_passage_vector_vec")
