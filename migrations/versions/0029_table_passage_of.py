"""Table passage_of."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from palimpsest.store.search_types import Number
from palimpsest.store.types import Id

revision = "0029"
down_revision = "0028"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Table passage_of."""
    op.create_table(
        "passage_of",
        sa.Column("passage_id", Number, autoincrement=False, nullable=False),
        sa.Column("belief_id", Id(), nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.ForeignKeyConstraint(
            ["passage_id"], ["passage.id"], name=op.f("fk_passage_of_passage_id_passage"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("passage_id", "belief_id", "number", name=op.f("pk_passage_of")),
        sqlite_with_rowid=False,
        if_not_exists=True,
    )


def downgrade() -> None:
    """Take it away."""
    op.drop_table("passage_of")
