"""Index ix_run_started_at."""

from __future__ import annotations

from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Index ix_run_started_at."""
    op.create_index("ix_run_started_at", "run", ["started_at"], unique=False, if_not_exists=True)


def downgrade() -> None:
    """Take it away."""
    op.drop_index("ix_run_started_at", table_name="run")
