"""Table vector_sign."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from palimpsest.store.types import Bytes

revision = "0038"
down_revision = "0037"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Table vector_sign."""
    op.create_table(
        "vector_sign",
        sa.Column("embedder_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("batch", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("passages", Bytes(), nullable=False),
        sa.Column("bits", Bytes(), nullable=False),
        sa.CheckConstraint("length(bits) = 6 * length(passages)", name=op.f("ck_vector_sign_bits_for_each")),
        sa.ForeignKeyConstraint(["embedder_id"], ["embedder.id"], name=op.f("fk_vector_sign_embedder_id_embedder")),
        sa.PrimaryKeyConstraint("embedder_id", "batch", name=op.f("pk_vector_sign")),
        if_not_exists=True,
    )


def downgrade() -> None:
    """Take it away."""
    op.drop_table("vector_sign")
