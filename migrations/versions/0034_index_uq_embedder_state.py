"""Index uq_embedder_state."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0034"
down_revision = "0033"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Index uq_embedder_state."""
    op.create_index(
        "uq_embedder_state",
        "embedder",
        ["state"],
        unique=True,
        sqlite_where=sa.text("state IN ('current', 'coming')"),
        postgresql_where=sa.text("state IN ('current', 'coming')"),
        if_not_exists=True,
    )


def downgrade() -> None:
    """Take it away."""
    op.drop_index("uq_embedder_state", table_name="embedder")
