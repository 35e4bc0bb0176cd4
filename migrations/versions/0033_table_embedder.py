"""Table embedder."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from palimpsest.store.types import Text

revision = "0033"
down_revision = "0032"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Table embedder."""
    op.create_table(
        "embedder",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("name", Text, nullable=False),
        sa.Column("state", Text, nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("batch", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("state IN ('current', 'coming', 'going', 'gone')", name=op.f("ck_embedder_state_known")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_embedder")),
        sa.UniqueConstraint("name", name=op.f("uq_embedder_name")),
        if_not_exists=True,
    )


def downgrade() -> None:
    """Take it away."""
    op.drop_table("embedder")
