"""Table passage."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from palimpsest.store.search_types import Number, Terms
from palimpsest.store.types import Id, Text

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Table passage."""
    op.create_table(
        "passage",
        sa.Column("id", Number, autoincrement=False, nullable=False),
        sa.Column("entity_id", Id(), nullable=False),
        sa.Column("source", Text, nullable=False),
        sa.Column("aspect", Text, nullable=False),
        sa.Column("current", sa.Boolean(), nullable=False),
        sa.Column("text", Text, nullable=False),
        sa.Column("terms", Terms(), nullable=False),
        sa.CheckConstraint("current = (id < 4611686018427387904)", name=op.f("ck_passage_past_apart")),
        sa.ForeignKeyConstraint(["entity_id"], ["entity.id"], name=op.f("fk_passage_entity_id_entity")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_passage")),
        if_not_exists=True,
    )


def downgrade() -> None:
    """Take it away."""
    op.drop_table("passage")
