"""Column entity gone."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import context, op

revision = "0053"
down_revision = "0052"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Column entity gone."""
    columns = {one["name"] for one in sa.inspect(context.get_bind()).get_columns("entity")}
    if "gone" not in columns:
        op.add_column("entity", sa.Column("gone", sa.Boolean(), nullable=True))


def downgrade() -> None:
    """Take it away."""
    op.drop_column("entity", "gone")
