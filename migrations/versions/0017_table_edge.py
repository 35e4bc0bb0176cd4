"""Table edge."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from palimpsest.store.types import Id, Text

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Table edge."""
    op.create_table(
        "edge",
        sa.Column("upstream_id", Id(), nullable=False),
        sa.Column("column", Text, nullable=False),
        sa.Column("belief_id", Id(), nullable=False),
        sa.Column("downstream_column", Text, nullable=False),
        sa.PrimaryKeyConstraint("upstream_id", "column", "belief_id", name=op.f("pk_edge")),
        sqlite_with_rowid=False,
        if_not_exists=True,
    )


def downgrade() -> None:
    """Take it away."""
    op.drop_table("edge")
