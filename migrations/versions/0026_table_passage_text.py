"""Table passage_text."""

from __future__ import annotations

from alembic import context, op

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Table passage_text."""
    if context.get_context().dialect.name == "sqlite":
        op.execute(
            "CREATE VIRTUAL TABLE IF NOT EXISTS passage_text USING fts5(terms, content='passage', content_rowid='id', "
            "detail=none, columnsize=0, tokenize=\"ascii tokenchars '_='\")"
        )


def downgrade() -> None:
    """Take it away."""
    if context.get_context().dialect.name == "sqlite":
        op.execute("DROP TABLE passage_text")
