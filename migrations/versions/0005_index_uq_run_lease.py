"""Index uq_run_lease."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Index uq_run_lease."""
    op.create_index(
        "uq_run_lease",
        "run",
        ["source"],
        unique=True,
        sqlite_where=sa.text("state = 'running' AND source IS NOT NULL"),
        postgresql_where=sa.text("state = 'running' AND source IS NOT NULL"),
        if_not_exists=True,
    )


def downgrade() -> None:
    """Take it away."""
    op.drop_index("uq_run_lease", table_name="run")
