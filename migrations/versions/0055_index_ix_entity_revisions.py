"""Index ix_entity_revisions."""

from __future__ import annotations

from alembic import op

revision = "0055"
down_revision = "0054"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Index ix_entity_revisions."""
    op.create_index("ix_entity_revisions", "entity", ["revisions", "id"], if_not_exists=True)


def downgrade() -> None:
    """Take it away."""
    op.drop_index("ix_entity_revisions", table_name="entity")
