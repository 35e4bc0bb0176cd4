"""Table label."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from palimpsest.store.types import Id, Text

revision = "0056"
down_revision = "0055"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Table label."""
    op.create_table(
        "label",
        sa.Column("aspect", Text, nullable=False),
        sa.Column("member", Text, nullable=False),
        sa.Column("entity_id", Id, nullable=False),
        sa.ForeignKeyConstraint(["entity_id"], ["entity.id"], name=op.f("fk_label_entity_id_entity")),
        sa.PrimaryKeyConstraint("aspect", "member", "entity_id", name=op.f("pk_label")),
        sqlite_with_rowid=False,
        if_not_exists=True,
    )


def downgrade() -> None:
    """Take it away."""
    op.drop_table("label")
