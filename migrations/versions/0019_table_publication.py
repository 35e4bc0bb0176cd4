"""Table publication."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from palimpsest.store.types import Id, Text

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Table publication."""
    op.create_table(
        "publication",
        sa.Column("target", Text, nullable=False),
        sa.Column("entity_id", Id(), nullable=False),
        sa.Column("url", Text, nullable=False),
        sa.Column("label", Text, nullable=False),
        sa.Column("revisions", sa.Integer(), nullable=False),
        sa.Column("published_at", sa.BigInteger(), nullable=False),
        sa.Column("reread_at", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["entity_id"], ["entity.id"], name=op.f("fk_publication_entity_id_entity")),
        sa.PrimaryKeyConstraint("target", "entity_id", name=op.f("pk_publication")),
        sqlite_with_rowid=False,
        if_not_exists=True,
    )


def downgrade() -> None:
    """Take it away."""
    op.drop_table("publication")
