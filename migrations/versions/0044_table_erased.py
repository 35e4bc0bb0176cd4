"""Table erased."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from palimpsest.store.types import Bytes, Text

revision = "0044"
down_revision = "0043"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Table erased."""
    op.create_table(
        "erased",
        sa.Column("digest", Bytes(), nullable=False),
        sa.Column("pseudonym", Text, nullable=False),
        sa.Column("erased_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_erased")),
        sa.UniqueConstraint("pseudonym", name=op.f("uq_erased_pseudonym")),
        sqlite_with_rowid=False,
        if_not_exists=True,
    )


def downgrade() -> None:
    """Take it away."""
    op.drop_table("erased")
