"""Trigger passage_text_drops."""

from __future__ import annotations

from alembic import context, op

revision = "0028"
down_revision = "0027"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Trigger passage_text_drops."""
    if context.get_context().dialect.name == "sqlite":
        op.execute(
            "CREATE TRIGGER IF NOT EXISTS passage_text_drops AFTER DELETE ON passage BEGIN "
            "INSERT INTO passage_text (passage_text, rowid, terms) VALUES ('delete', old.id, old.terms); END"
        )


def downgrade() -> None:
    """Take it away."""
    if context.get_context().dialect.name == "sqlite":
        op.execute("DROP TRIGGER passage_text_drops")
