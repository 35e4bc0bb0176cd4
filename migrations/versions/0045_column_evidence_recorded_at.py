"""Column evidence recorded_at."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import context, op

revision = "0045"
down_revision = "0044"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Column evidence recorded_at."""
    columns = {one["name"] for one in sa.inspect(context.get_bind()).get_columns("evidence")}
    if "recorded_at" not in columns:
        op.add_column("evidence", sa.Column("recorded_at", sa.BigInteger(), nullable=True))


def downgrade() -> None:
    """Take it away."""
    op.drop_column("evidence", "recorded_at")
