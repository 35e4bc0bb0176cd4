"""Index ix_episode_change."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Index ix_episode_change."""
    op.create_index(
        "ix_episode_change",
        "episode",
        ["run_id", "cell_id"],
        unique=False,
        sqlite_where=sa.text("baseline = 0"),
        postgresql_where=sa.text("NOT baseline"),
        if_not_exists=True,
    )


def downgrade() -> None:
    """Take it away."""
    op.drop_index("ix_episode_change", table_name="episode")
