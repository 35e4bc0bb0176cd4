"""Index ix_episode_pending."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Index ix_episode_pending."""
    op.create_index(
        "ix_episode_pending",
        "episode",
        ["cell_id"],
        unique=False,
        sqlite_where=sa.text("verdict IS NULL"),
        postgresql_where=sa.text("verdict IS NULL"),
        if_not_exists=True,
    )


def downgrade() -> None:
    """Take it away."""
    op.drop_index("ix_episode_pending", table_name="episode")
