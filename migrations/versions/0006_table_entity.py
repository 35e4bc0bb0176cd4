"""Table entity."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from palimpsest.store.types import Id, Text

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Table entity."""
    op.create_table(
        "entity",
        sa.Column("id", Id(), nullable=False),
        sa.Column("urn", Text, nullable=False),
        sa.Column("kind", Text, nullable=False),
        sa.Column("platform", Text, nullable=False),
        sa.Column("name", Text, nullable=False),
        sa.Column("holder", Text, nullable=True),
        sa.Column("held_until", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_entity")),
        sa.UniqueConstraint("urn", name=op.f("uq_entity_urn")),
        sqlite_with_rowid=False,
        if_not_exists=True,
    )


def downgrade() -> None:
    """Take it away."""
    op.drop_table("entity")
