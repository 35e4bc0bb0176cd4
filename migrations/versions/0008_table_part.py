"""Table part."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from palimpsest.store.types import Bytes, Id, Text

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Table part."""
    op.create_table(
        "part",
        sa.Column("entity_id", Id(), nullable=False),
        sa.Column("source", Text, nullable=False),
        sa.Column("part", Text, nullable=False),
        sa.Column("digest", Bytes(), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("cells", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["entity_id"], ["entity.id"], name=op.f("fk_part_entity_id_entity")),
        sa.PrimaryKeyConstraint("entity_id", "source", "part", name=op.f("pk_part")),
        sa.UniqueConstraint("source", "ordinal", name=op.f("uq_part_source")),
        sqlite_with_rowid=False,
        if_not_exists=True,
    )


def downgrade() -> None:
    """Take it away."""
    op.drop_table("part")
