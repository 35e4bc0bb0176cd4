"""Table choice."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from palimpsest.store.types import Id, Text

revision = "0039"
down_revision = "0038"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Table choice."""
    op.create_table(
        "choice",
        sa.Column("cell_id", Id(), nullable=False),
        sa.Column("episode", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("run_id", Id(), nullable=False),
        sa.Column("judge", Text, nullable=False),
        sa.Column("sure", sa.Boolean(), nullable=False),
        sa.Column("chosen_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_choice_run_id_run")),
        sa.ForeignKeyConstraint(
            ["cell_id", "episode"], ["episode.cell_id", "episode.number"], name=op.f("fk_choice_cell_id_episode")
        ),
        sa.PrimaryKeyConstraint("cell_id", "episode", name=op.f("pk_choice")),
        sqlite_with_rowid=False,
        if_not_exists=True,
    )


def downgrade() -> None:
    """Take it away."""
    op.drop_table("choice")
