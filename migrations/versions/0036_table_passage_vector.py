"""Table passage_vector."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import context, op

from palimpsest.store.search_types import Number
from palimpsest.store.vector_types import column_type

revision = "0036"
down_revision = "0035"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Table passage_vector."""
    connection = context.get_context().connection
    checks = []
    if connection.dialect.name == "sqlite":
        checks = [sa.CheckConstraint("length(vec) = 1536", name=op.f("ck_passage_vector_one_dimension"))]
    op.create_table(
        "passage_vector",
        sa.Column("passage_id", Number, autoincrement=False, nullable=False),
        sa.Column("embedder_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("vec", column_type(connection), nullable=False),
        *checks,
        sa.ForeignKeyConstraint(
            ["passage_id"], ["passage.id"], name=op.f("fk_passage_vector_passage_id_passage"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["embedder_id"], ["embedder.id"], name=op.f("fk_passage_vector_embedder_id_embedder")),
        sa.PrimaryKeyConstraint("passage_id", "embedder_id", name=op.f("pk_passage_vector")),
        if_not_exists=True,
    )


def downgrade() -> None:
    """Take it away."""
    op.drop_table("passage_vector")
