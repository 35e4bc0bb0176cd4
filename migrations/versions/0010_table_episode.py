"""Table episode."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from palimpsest.store.types import Id, Text

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Table episode."""
    op.create_table(
        "episode",
        sa.Column("cell_id", Id(), nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("run_id", Id(), nullable=False),
        sa.Column("observed_at", sa.BigInteger(), nullable=False),
        sa.Column("after_at", sa.BigInteger(), nullable=True),
        sa.Column("kind", Text, nullable=False),
        sa.Column("impact", sa.SmallInteger(), nullable=False),
        sa.Column("baseline", sa.Boolean(), nullable=False),
        sa.Column("value", Text, nullable=True),
        sa.Column("ground", Text, nullable=True),
        sa.Column("stamped_at", sa.BigInteger(), nullable=True),
        sa.Column("actor", Text, nullable=True),
        sa.Column("catalog_run", Text, nullable=True),
        sa.Column("verdict", Text, nullable=True),
        sa.CheckConstraint("(kind = 'removed') = (value IS NULL)", name=op.f("ck_episode_value_unless_removed")),
        sa.CheckConstraint(
            "kind IN ('first', 'changed', 'removed', 'returned', 'said')", name=op.f("ck_episode_kind_known")
        ),
        sa.CheckConstraint(
            "verdict IN ('open', 'reinforce', 'supersede', 'retract', 'contest')", name=op.f("ck_episode_verdict_known")
        ),
        sa.ForeignKeyConstraint(["cell_id"], ["cell.id"], name=op.f("fk_episode_cell_id_cell")),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_episode_run_id_run")),
        sa.PrimaryKeyConstraint("cell_id", "number", name=op.f("pk_episode")),
        sa.UniqueConstraint("cell_id", "run_id", "observed_at", name=op.f("uq_episode_reading")),
        sqlite_with_rowid=False,
        if_not_exists=True,
    )


def downgrade() -> None:
    """Take it away."""
    op.drop_table("episode")
