"""Column entity indexed_at."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import context, op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Column entity indexed_at."""
    columns = {one["name"] for one in sa.inspect(context.get_bind()).get_columns("entity")}
    if "indexed_at" not in columns:
        op.add_column("entity", sa.Column("indexed_at", sa.BigInteger(), nullable=True))


def downgrade() -> None:
    """Take it away."""
    op.drop_column("entity", "indexed_at")
