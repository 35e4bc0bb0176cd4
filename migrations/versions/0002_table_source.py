"""Table source."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from palimpsest.store.types import Text

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Table source."""
    op.create_table(
        "source",
        sa.Column("name", Text, nullable=False),
        sa.Column("kind", Text, nullable=False),
        sa.Column("origin", Text, nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_source")),
        sqlite_with_rowid=False,
        if_not_exists=True,
    )


def downgrade() -> None:
    """Take it away."""
    op.drop_table("source")
