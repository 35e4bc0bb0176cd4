"""Index ix_entity_changed_at."""

from __future__ import annotations

from alembic import op

revision = "0054"
down_revision = "0053"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Index ix_entity_changed_at."""
    op.create_index("ix_entity_changed_at", "entity", ["changed_at", "id"], if_not_exists=True)


def downgrade() -> None:
    """Take it away."""
    op.drop_index("ix_entity_changed_at", table_name="entity")
