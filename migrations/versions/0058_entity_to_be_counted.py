"""Entities that nothing was counted of yet are to be indexed again."""

from __future__ import annotations

from alembic import op

revision = "0058"
down_revision = "0057"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """What was indexed before has no counts."""
    op.execute("UPDATE entity SET indexed_at = NULL WHERE indexed_at IS NOT NULL AND beliefs IS NULL")


def downgrade() -> None:
    """Nothing to take away."""
