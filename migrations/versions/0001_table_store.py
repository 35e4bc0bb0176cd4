"""Table store."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from palimpsest.store.types import Bytes

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Table store."""
    op.create_table(
        "store",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("secret", Bytes(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("id = 1", name=op.f("ck_store_one_row")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_store")),
        if_not_exists=True,
    )


def downgrade() -> None:
    """Take it away."""
    op.drop_table("store")
