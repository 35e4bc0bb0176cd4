"""Index ix_cell_observer."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0048"
down_revision = "0047"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Index ix_cell_observer."""
    op.create_index(
        "ix_cell_observer",
        "cell",
        ["observer"],
        sqlite_where=sa.text("observer <> ''"),
        postgresql_where=sa.text("observer <> ''"),
        if_not_exists=True,
    )


def downgrade() -> None:
    """Take it away."""
    op.drop_index("ix_cell_observer", table_name="cell")
