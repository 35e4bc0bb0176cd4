"""Index ix_evidence_episode."""

from __future__ import annotations

from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Index ix_evidence_episode."""
    op.create_index("ix_evidence_episode", "evidence", ["cell_id", "episode"], unique=False, if_not_exists=True)


def downgrade() -> None:
    """Take it away."""
    op.drop_index("ix_evidence_episode", table_name="evidence")
