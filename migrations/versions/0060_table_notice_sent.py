"""Table notice_sent."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from palimpsest.store.types import Id, Milliseconds, Text

revision = "0060"
down_revision = "0059"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Table notice_sent."""
    op.create_table(
        "notice_sent",
        sa.Column("rule", Text, nullable=False),
        sa.Column("recipient", Id, nullable=False),
        sa.Column("cell_id", Id, nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("at", Milliseconds, nullable=False),
        sa.PrimaryKeyConstraint("rule", "recipient", "cell_id", "number", name=op.f("pk_notice_sent")),
        sqlite_with_rowid=False,
        if_not_exists=True,
    )


def downgrade() -> None:
    """Take it away."""
    op.drop_table("notice_sent")
