"""Table notice_cursor."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from palimpsest.store.types import Id, Milliseconds, Text

revision = "0059"
down_revision = "0058"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Table notice_cursor."""
    op.create_table(
        "notice_cursor",
        sa.Column("rule", Text, nullable=False),
        sa.Column("recipient", Id, nullable=False),
        sa.Column("since", Milliseconds, nullable=False),
        sa.Column("position", Milliseconds, nullable=False),
        sa.PrimaryKeyConstraint("rule", "recipient", name=op.f("pk_notice_cursor")),
        sqlite_with_rowid=False,
        if_not_exists=True,
    )


def downgrade() -> None:
    """Take it away."""
    op.drop_table("notice_cursor")
