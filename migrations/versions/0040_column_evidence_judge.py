"""Column evidence judge."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import context, op

from palimpsest.store.types import Text

revision = "0040"
down_revision = "0039"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Column evidence judge."""
    columns = {one["name"] for one in sa.inspect(context.get_bind()).get_columns("evidence")}
    if "judge" not in columns:
        op.add_column("evidence", sa.Column("judge", Text, nullable=True))


def downgrade() -> None:
    """Take it away."""
    op.drop_column("evidence", "judge")
