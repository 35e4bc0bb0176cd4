"""Table delivery."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from palimpsest.store.types import Id, Text

revision = "0046"
down_revision = "0045"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Table delivery."""
    op.create_table(
        "delivery",
        sa.Column("id", Id, nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("agent", Text, nullable=False),
        sa.Column("session", Text, nullable=False),
        sa.Column("surface", Text, nullable=False),
        sa.Column("kind", Text, nullable=False),
        sa.Column("entities", Text, nullable=False),
        sa.Column("versions", Text, nullable=False),
        sa.Column("scores", Text, nullable=False),
        sa.Column("tokens", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_delivery")),
        sqlite_with_rowid=False,
        if_not_exists=True,
    )


def downgrade() -> None:
    """Take it away."""
    op.drop_table("delivery")
