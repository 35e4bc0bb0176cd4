"""Table strength."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from palimpsest.store.types import Id

revision = "0032"
down_revision = "0031"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Table strength."""
    op.create_table(
        "strength",
        sa.Column("belief_id", Id(), nullable=False),
        sa.Column("base", sa.Float(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("base >= 0 AND base <= 1", name=op.f("ck_strength_base_bounded")),
        sa.PrimaryKeyConstraint("belief_id", name=op.f("pk_strength")),
        sqlite_with_rowid=False,
        if_not_exists=True,
    )


def downgrade() -> None:
    """Take it away."""
    op.drop_table("strength")
