"""Column entity beliefs."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import context, op

revision = "0052"
down_revision = "0051"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Column entity beliefs."""
    columns = {one["name"] for one in sa.inspect(context.get_bind()).get_columns("entity")}
    if "beliefs" not in columns:
        op.add_column("entity", sa.Column("beliefs", sa.Integer(), nullable=True))


def downgrade() -> None:
    """Take it away."""
    op.drop_column("entity", "beliefs")
