"""Index ix_passage_terms."""

from __future__ import annotations

from alembic import context, op

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Index ix_passage_terms."""
    if context.get_context().dialect.name != "sqlite":
        op.create_index(
            "ix_passage_terms", "passage", ["terms"], unique=False, postgresql_using="gin", if_not_exists=True
        )


def downgrade() -> None:
    """Take it away."""
    if context.get_context().dialect.name != "sqlite":
        op.drop_index("ix_passage_terms", table_name="passage")
