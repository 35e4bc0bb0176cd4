"""Table recall_log."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from palimpsest.store.types import Id, Text

revision = "0030"
down_revision = "0029"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Table recall_log."""
    op.create_table(
        "recall_log",
        sa.Column("id", Id(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("question", Text, nullable=False),
        sa.Column("surface", Text, nullable=False),
        sa.Column("answer", Text, nullable=False),
        sa.Column("versions", Text, nullable=False),
        sa.Column("scores", Text, nullable=False),
        sa.CheckConstraint("answer IN ('confident', 'weak', 'nothing')", name=op.f("ck_recall_log_answer_known")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_recall_log")),
        sqlite_with_rowid=False,
        if_not_exists=True,
    )


def downgrade() -> None:
    """Take it away."""
    op.drop_table("recall_log")
