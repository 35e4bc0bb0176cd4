"""Index ix_cell_lineage."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0061"
down_revision = "0060"
branch_labels = None
depends_on = None

OF_LINEAGE = sa.text("aspect IN ('column_upstreams', 'upstreams')")


def upgrade() -> None:
    """Index ix_cell_lineage."""
    op.create_index(
        "ix_cell_lineage",
        "cell",
        ["aspect"],
        sqlite_where=OF_LINEAGE,
        postgresql_where=OF_LINEAGE,
        if_not_exists=True,
    )


def downgrade() -> None:
    """Take it away."""
    op.drop_index("ix_cell_lineage", table_name="cell")
