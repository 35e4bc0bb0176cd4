"""Column entity changed_at."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import context, op

revision = "0049"
down_revision = "0048"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Column entity changed_at."""
    columns = {one["name"] for one in sa.inspect(context.get_bind()).get_columns("entity")}
    if "changed_at" not in columns:
        op.add_column("entity", sa.Column("changed_at", sa.BigInteger(), nullable=True))


def downgrade() -> None:
    """Take it away."""
    op.drop_column("entity", "changed_at")
