"""Index ix_passage_entity_id."""

from __future__ import annotations

from alembic import op

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Index ix_passage_entity_id."""
    op.create_index("ix_passage_entity_id", "passage", ["entity_id"], unique=False, if_not_exists=True)


def downgrade() -> None:
    """Take it away."""
    op.drop_index("ix_passage_entity_id", table_name="passage")
