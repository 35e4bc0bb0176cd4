"""Column entity revisions."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import context, op

revision = "0050"
down_revision = "0049"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Column entity revisions."""
    columns = {one["name"] for one in sa.inspect(context.get_bind()).get_columns("entity")}
    if "revisions" not in columns:
        op.add_column("entity", sa.Column("revisions", sa.Integer(), nullable=True))


def downgrade() -> None:
    """Take it away."""
    op.drop_column("entity", "revisions")
