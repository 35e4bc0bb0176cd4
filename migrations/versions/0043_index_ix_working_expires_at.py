"""Index ix_working_expires_at."""

from __future__ import annotations

from alembic import op

revision = "0043"
down_revision = "0042"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Index ix_working_expires_at."""
    op.create_index("ix_working_expires_at", "working", ["expires_at"], if_not_exists=True)


def downgrade() -> None:
    """Take it away."""
    op.drop_index("ix_working_expires_at", table_name="working")
