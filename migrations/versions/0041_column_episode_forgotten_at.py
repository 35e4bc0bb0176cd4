"""Column episode forgotten_at."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import context, op

revision = "0041"
down_revision = "0040"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Column episode forgotten_at."""
    columns = {one["name"] for one in sa.inspect(context.get_bind()).get_columns("episode")}
    if "forgotten_at" not in columns:
        op.add_column("episode", sa.Column("forgotten_at", sa.BigInteger(), nullable=True))


def downgrade() -> None:
    """Take it away."""
    op.drop_column("episode", "forgotten_at")
