"""Trigger passage_text_adds."""

from __future__ import annotations

from alembic import context, op

revision = "0027"
down_revision = "0026"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Trigger passage_text_adds."""
    if context.get_context().dialect.name == "sqlite":
        op.execute(
            "CREATE TRIGGER IF NOT EXISTS passage_text_adds AFTER INSERT ON passage BEGIN "
            "INSERT INTO passage_text (rowid, terms) VALUES (new.id, new.terms); END"
        )


def downgrade() -> None:
    """Take it away."""
    if context.get_context().dialect.name == "sqlite":
        op.execute("DROP TRIGGER passage_text_adds")
