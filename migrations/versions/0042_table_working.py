"""Table working."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from palimpsest.store.types import Text

revision = "0042"
down_revision = "0041"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Table working."""
    op.create_table(
        "working",
        sa.Column("task", Text, nullable=False),
        sa.Column("key", Text, nullable=False),
        sa.Column("value", Text, nullable=False),
        sa.Column("observer", Text, nullable=False),
        sa.Column("put_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("task", "key", name=op.f("pk_working")),
        sqlite_with_rowid=False,
        if_not_exists=True,
    )


def downgrade() -> None:
    """Take it away."""
    op.drop_table("working")
