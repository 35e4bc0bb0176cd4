"""Index ix_delivery_agent."""

from __future__ import annotations

from alembic import op

revision = "0047"
down_revision = "0046"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Index ix_delivery_agent."""
    op.create_index("ix_delivery_agent", "delivery", ["agent", "at"], if_not_exists=True)


def downgrade() -> None:
    """Take it away."""
    op.drop_index("ix_delivery_agent", table_name="delivery")
