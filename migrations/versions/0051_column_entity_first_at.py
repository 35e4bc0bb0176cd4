"""Column entity first_at."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import context, op

revision = "0051"
down_revision = "0050"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Column entity first_at."""
    columns = {one["name"] for one in sa.inspect(context.get_bind()).get_columns("entity")}
    if "first_at" not in columns:
        op.add_column("entity", sa.Column("first_at", sa.BigInteger(), nullable=True))


def downgrade() -> None:
    """Take it away."""
    op.drop_column("entity", "first_at")
