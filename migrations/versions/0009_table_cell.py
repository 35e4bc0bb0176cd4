"""Table cell."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from palimpsest.store.types import Bytes, Id, Text

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Table cell."""
    op.create_table(
        "cell",
        sa.Column("id", Id(), nullable=False),
        sa.Column("entity_id", Id(), nullable=False),
        sa.Column("source", Text, nullable=False),
        sa.Column("observer", Text, nullable=False),
        sa.Column("aspect", Text, nullable=False),
        sa.Column("key", Text, nullable=False),
        sa.Column("part", Text, nullable=False),
        sa.Column("belief_id", Id(), nullable=False),
        sa.Column("digest", Bytes(), nullable=False),
        sa.Column("last", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["entity_id"], ["entity.id"], name=op.f("fk_cell_entity_id_entity")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_cell")),
        sqlite_with_rowid=False,
        if_not_exists=True,
    )


def downgrade() -> None:
    """Take it away."""
    op.drop_table("cell")
