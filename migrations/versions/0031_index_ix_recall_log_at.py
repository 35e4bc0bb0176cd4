"""Index ix_recall_log_at."""

from __future__ import annotations

from alembic import op

revision = "0031"
down_revision = "0030"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Index ix_recall_log_at."""
    op.create_index("ix_recall_log_at", "recall_log", ["at"], unique=False, if_not_exists=True)


def downgrade() -> None:
    """Take it away."""
    op.drop_index("ix_recall_log_at", table_name="recall_log")
