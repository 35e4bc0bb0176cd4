"""Index ix_entity_name."""

from __future__ import annotations

from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Index ix_entity_name."""
    op.create_index("ix_entity_name", "entity", ["name"], unique=False, if_not_exists=True)


def downgrade() -> None:
    """Take it away."""
    op.drop_index("ix_entity_name", table_name="entity")
