"""Index ix_entity_stale."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Index ix_entity_stale."""
    op.create_index(
        "ix_entity_stale",
        "entity",
        ["id"],
        unique=False,
        sqlite_where=sa.text("indexed_at IS NULL"),
        postgresql_where=sa.text("indexed_at IS NULL"),
        if_not_exists=True,
    )


def downgrade() -> None:
    """Take it away."""
    op.drop_index("ix_entity_stale", table_name="entity")
