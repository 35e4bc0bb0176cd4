"""Index ix_label_entity_id."""

from __future__ import annotations

from alembic import op

revision = "0057"
down_revision = "0056"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Index ix_label_entity_id."""
    op.create_index("ix_label_entity_id", "label", ["entity_id"], if_not_exists=True)


def downgrade() -> None:
    """Take it away."""
    op.drop_index("ix_label_entity_id", table_name="label")
