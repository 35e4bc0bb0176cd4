"""Table version."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from palimpsest.store.types import Id, Text

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Table version."""
    op.create_table(
        "version",
        sa.Column("belief_id", Id(), nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("state", Text, nullable=False),
        sa.Column("cell_id", Id(), nullable=False),
        sa.Column("episode", sa.Integer(), nullable=False),
        sa.Column("valid_from", sa.BigInteger(), nullable=False),
        sa.Column("valid_after", sa.BigInteger(), nullable=True),
        sa.Column("valid_to", sa.BigInteger(), nullable=True),
        sa.Column("recorded_at", sa.BigInteger(), nullable=False),
        sa.Column("closed_at", sa.BigInteger(), nullable=True),
        sa.Column("run_id", Id(), nullable=False),
        sa.Column("judge", Text, nullable=False),
        sa.Column("reason", Text, nullable=False),
        sa.Column("reverts_to", sa.Integer(), nullable=True),
        sa.Column("successor", sa.Integer(), nullable=True),
        sa.Column("ended_reason", Text, nullable=True),
        sa.CheckConstraint(
            "state <> 'current' OR (valid_to IS NULL AND closed_at IS NULL)", name=op.f("ck_version_current_open")
        ),
        sa.CheckConstraint(
            "state <> 'superseded' OR (successor IS NOT NULL AND closed_at IS NOT NULL AND ended_reason IS NOT NULL)",
            name=op.f("ck_version_superseded_says_why"),
        ),
        sa.CheckConstraint(
            "state IN ('current', 'superseded', 'retracted', 'contested', 'proposed')",
            name=op.f("ck_version_state_known"),
        ),
        sa.CheckConstraint("successor IS NULL OR successor > number", name=op.f("ck_version_no_cycle")),
        sa.ForeignKeyConstraint(
            ["cell_id", "episode"], ["episode.cell_id", "episode.number"], name=op.f("fk_version_cell_id_episode")
        ),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_version_run_id_run")),
        sa.PrimaryKeyConstraint("belief_id", "number", name=op.f("pk_version")),
        sa.UniqueConstraint("cell_id", "episode", name=op.f("uq_version_cell_id")),
        sqlite_with_rowid=False,
        if_not_exists=True,
    )


def downgrade() -> None:
    """Take it away."""
    op.drop_table("version")
