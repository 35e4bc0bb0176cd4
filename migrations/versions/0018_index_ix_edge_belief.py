"""Index ix_edge_belief."""

from __future__ import annotations

from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Index ix_edge_belief."""
    op.create_index("ix_edge_belief", "edge", ["belief_id"], unique=False, if_not_exists=True)


def downgrade() -> None:
    """Take it away."""
    op.drop_index("ix_edge_belief", table_name="edge")
