"""Table evidence."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from palimpsest.store.types import Id, Text

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Table evidence."""
    op.create_table(
        "evidence",
        sa.Column("belief_id", Id(), nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("cell_id", Id(), nullable=False),
        sa.Column("episode", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("role", Text, nullable=False),
        sa.CheckConstraint("role IN ('bears_out', 'ended')", name=op.f("ck_evidence_role_known")),
        sa.ForeignKeyConstraint(
            ["belief_id", "number"], ["version.belief_id", "version.number"], name=op.f("fk_evidence_belief_id_version")
        ),
        sa.ForeignKeyConstraint(
            ["cell_id", "episode"], ["episode.cell_id", "episode.number"], name=op.f("fk_evidence_cell_id_episode")
        ),
        sa.PrimaryKeyConstraint("belief_id", "number", "cell_id", "episode", name=op.f("pk_evidence")),
        sqlite_with_rowid=False,
        if_not_exists=True,
    )


def downgrade() -> None:
    """Take it away."""
    op.drop_table("evidence")
