"""Table episode: several readings of a cell in one run, and numbers below 1, as a backfill writes them.

Only SQLite files of earlier versions have the older form of the table; no server ever had it.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from palimpsest.store.types import Id, Text

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None

_COLUMNS = (
    "cell_id, number, run_id, observed_at, after_at, kind, impact, baseline, value, ground, stamped_at, actor, "
    "catalog_run, verdict"
)


def upgrade() -> None:
    """Make the table anew where it has the older form. The rows that refer to it stay: foreign keys are off."""
    connection = op.get_bind()
    if connection.dialect.name != "sqlite":
        return
    made = connection.scalar(sa.text("SELECT sql FROM sqlite_master WHERE name = 'episode'"))
    if "uq_episode_reading" in str(made):
        return
    op.create_table(
        "episode_new",
        sa.Column("cell_id", Id(), nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("run_id", Id(), nullable=False),
        sa.Column("observed_at", sa.BigInteger(), nullable=False),
        sa.Column("after_at", sa.BigInteger(), nullable=True),
        sa.Column("kind", Text, nullable=False),
        sa.Column("impact", sa.SmallInteger(), nullable=False),
        sa.Column("baseline", sa.Boolean(), nullable=False),
        sa.Column("value", Text, nullable=True),
        sa.Column("ground", Text, nullable=True),
        sa.Column("stamped_at", sa.BigInteger(), nullable=True),
        sa.Column("actor", Text, nullable=True),
        sa.Column("catalog_run", Text, nullable=True),
        sa.Column("verdict", Text, nullable=True),
        sa.CheckConstraint("(kind = 'removed') = (value IS NULL)", name=op.f("ck_episode_value_unless_removed")),
        sa.CheckConstraint(
            "kind IN ('first', 'changed', 'removed', 'returned', 'said')", name=op.f("ck_episode_kind_known")
        ),
        sa.CheckConstraint(
            "verdict IN ('open', 'reinforce', 'supersede', 'retract', 'contest')", name=op.f("ck_episode_verdict_known")
        ),
        sa.ForeignKeyConstraint(["cell_id"], ["cell.id"], name=op.f("fk_episode_cell_id_cell")),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_episode_run_id_run")),
        sa.PrimaryKeyConstraint("cell_id", "number", name=op.f("pk_episode")),
        sa.UniqueConstraint("cell_id", "run_id", "observed_at", name=op.f("uq_episode_reading")),
        sqlite_with_rowid=False,
    )
    op.execute(f"INSERT INTO episode_new ({_COLUMNS}) SELECT {_COLUMNS} FROM episode")
    op.drop_table("episode")
    op.rename_table("episode_new", "episode")
    op.create_index("ix_episode_change", "episode", ["run_id", "cell_id"], sqlite_where=sa.text("baseline = 0"))
    op.create_index("ix_episode_pending", "episode", ["cell_id"], sqlite_where=sa.text("verdict IS NULL"))


def downgrade() -> None:
    """Nothing to take away: the newer form holds what the older one does."""
