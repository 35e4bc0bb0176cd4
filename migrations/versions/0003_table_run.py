"""Table run."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from palimpsest.store.types import Bytes, Id, Text

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Table run."""
    op.create_table(
        "run",
        sa.Column("id", Id(), nullable=False),
        sa.Column("job", Text, nullable=False),
        sa.Column("source", Text, nullable=True),
        sa.Column("state", Text, nullable=False),
        sa.Column("holder", Text, nullable=False),
        sa.Column("beat_at", sa.BigInteger(), nullable=False),
        sa.Column("started_at", sa.BigInteger(), nullable=False),
        sa.Column("ended_at", sa.BigInteger(), nullable=True),
        sa.Column("read_at", sa.BigInteger(), nullable=True),
        sa.Column("complete", sa.Boolean(), nullable=False),
        sa.Column("rules", Text, nullable=False),
        sa.Column("scope", Text, nullable=True),
        sa.Column("coverage", Bytes(), nullable=True),
        sa.Column("written", sa.Integer(), nullable=False),
        sa.Column("founded", sa.Integer(), nullable=False),
        sa.Column("counts", Text, nullable=True),
        sa.CheckConstraint("state IN ('running', 'done', 'failed', 'stopped')", name=op.f("ck_run_state_known")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_run")),
        sqlite_with_rowid=False,
        if_not_exists=True,
    )


def downgrade() -> None:
    """Take it away."""
    op.drop_table("run")
