"""The one schema: every table, and the constraints that carry the rules. Statements are in the modules beside it.

Times are whole milliseconds since 1970 UTC. Values are canonical JSON text as read. Ids are explained in core.ids.
"""

from __future__ import annotations

import sqlalchemy as sa

from palimpsest.store.types import Bytes, Id, Milliseconds

metadata = sa.MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def _one_of(column: str, *words: str) -> sa.CheckConstraint:
    listed = ", ".join(f"'{word}'" for word in words)
    return sa.CheckConstraint(f"{column} IN ({listed})", name=f"{column}_known")


# One row: the secret that keys every hash of this store, and when it was made.
store = sa.Table(
    "store",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("secret", Bytes, nullable=False),
    sa.Column("created_at", Milliseconds, nullable=False),
    sa.CheckConstraint("id = 1", name="one_row"),
)

# A source remembers its origin, and refuses another one under its name.
source = sa.Table(
    "source",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("origin", sa.Text, nullable=False),
    sqlite_with_rowid=False,
)

# The lease on a source IS its running row (R1). `written` counts the run's episodes, exact with every commit.
run = sa.Table(
    "run",
    metadata,
    sa.Column("id", Id, primary_key=True),
    sa.Column("job", sa.Text, nullable=False),
    sa.Column("source", sa.Text, nullable=True),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("holder", sa.Text, nullable=False),
    sa.Column("beat_at", Milliseconds, nullable=False),
    sa.Column("started_at", Milliseconds, nullable=False),
    sa.Column("ended_at", Milliseconds, nullable=True),
    sa.Column("read_at", Milliseconds, nullable=True),
    sa.Column("complete", sa.Boolean, nullable=False, default=False),
    sa.Column("rules", sa.Text, nullable=False),
    sa.Column("scope", sa.Text, nullable=True),
    sa.Column("coverage", Bytes, nullable=True),
    sa.Column("written", sa.Integer, nullable=False, default=0),
    sa.Column("founded", sa.Integer, nullable=False, default=0),
    sa.Column("counts", sa.Text, nullable=True),
    _one_of("state", "running", "done", "failed", "stopped"),
    sa.Index(
        "uq_run_lease",
        "source",
        unique=True,
        sqlite_where=sa.text("state = 'running' AND source IS NOT NULL"),
        postgresql_where=sa.text("state = 'running' AND source IS NOT NULL"),
    ),
    sa.Index("ix_run_started_at", "started_at"),
    sqlite_with_rowid=False,
)

entity = sa.Table(
    "entity",
    metadata,
    sa.Column("id", Id, primary_key=True),
    sa.Column("urn", sa.Text, nullable=False, unique=True),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("platform", sa.Text, nullable=False),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("holder", sa.Text, nullable=True),
    sa.Column("held_until", Milliseconds, nullable=True),
    sa.Index("ix_entity_name", "name"),
    sqlite_with_rowid=False,
)

# Level 1 of comparing: one raw DataHub aspect of one entity. `ordinal` is its bit in the coverage of a run,
# `cells` how many cells it feeds that have not ended.
part = sa.Table(
    "part",
    metadata,
    sa.Column("entity_id", Id, sa.ForeignKey("entity.id"), primary_key=True),
    sa.Column("source", sa.Text, primary_key=True),
    sa.Column("part", sa.Text, primary_key=True),
    sa.Column("digest", Bytes, nullable=False),
    sa.Column("ordinal", sa.Integer, nullable=False),
    sa.Column("cells", sa.Integer, nullable=False),
    sa.UniqueConstraint("source", "ordinal"),
    sqlite_with_rowid=False,
)

# Level 2: one cell, and the number of its last episode, which holds the value. An empty digest: nothing is held.
cell = sa.Table(
    "cell",
    metadata,
    sa.Column("id", Id, primary_key=True),
    sa.Column("entity_id", Id, sa.ForeignKey("entity.id"), nullable=False),
    sa.Column("source", sa.Text, nullable=False),
    sa.Column("observer", sa.Text, nullable=False),
    sa.Column("aspect", sa.Text, nullable=False),
    sa.Column("key", sa.Text, nullable=False),
    sa.Column("part", sa.Text, nullable=False),
    sa.Column("belief_id", Id, nullable=False),
    sa.Column("digest", Bytes, nullable=False),
    sa.Column("last", sa.Integer, nullable=False),
    sqlite_with_rowid=False,
)

episode = sa.Table(
    "episode",
    metadata,
    sa.Column("cell_id", Id, sa.ForeignKey("cell.id"), primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("run_id", Id, sa.ForeignKey("run.id"), nullable=False),
    sa.Column("observed_at", Milliseconds, nullable=False),
    sa.Column("after_at", Milliseconds, nullable=True),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("impact", sa.SmallInteger, nullable=False),
    sa.Column("baseline", sa.Boolean, nullable=False),
    sa.Column("value", sa.Text, nullable=True),
    sa.Column("ground", sa.Text, nullable=True),
    sa.Column("stamped_at", Milliseconds, nullable=True),
    sa.Column("actor", sa.Text, nullable=True),
    sa.Column("catalog_run", sa.Text, nullable=True),
    sa.Column("verdict", sa.Text, nullable=True),
    sa.UniqueConstraint("cell_id", "run_id"),  # R9
    _one_of("kind", "first", "changed", "removed", "returned", "said"),
    _one_of("verdict", "open", "reinforce", "supersede", "retract", "contest"),
    sa.CheckConstraint("(kind = 'removed') = (value IS NULL)", name="value_unless_removed"),
    sa.CheckConstraint("number > 0", name="number_positive"),
    sa.Index(
        "ix_episode_pending",
        "cell_id",
        sqlite_where=sa.text("verdict IS NULL"),
        postgresql_where=sa.text("verdict IS NULL"),
    ),  # R4
    sa.Index(
        "ix_episode_change",
        "run_id",
        "cell_id",
        sqlite_where=sa.text("baseline = 0"),
        postgresql_where=sa.text("NOT baseline"),
    ),  # R14
    sqlite_with_rowid=False,
)

version = sa.Table(
    "version",
    metadata,
    sa.Column("belief_id", Id, primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("cell_id", Id, nullable=False),
    sa.Column("episode", sa.Integer, nullable=False),
    sa.Column("valid_from", Milliseconds, nullable=False),
    sa.Column("valid_after", Milliseconds, nullable=True),
    sa.Column("valid_to", Milliseconds, nullable=True),
    sa.Column("recorded_at", Milliseconds, nullable=False),
    sa.Column("closed_at", Milliseconds, nullable=True),
    sa.Column("run_id", Id, sa.ForeignKey("run.id"), nullable=False),
    sa.Column("judge", sa.Text, nullable=False),
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("reverts_to", sa.Integer, nullable=True),
    sa.Column("successor", sa.Integer, nullable=True),
    sa.Column("ended_reason", sa.Text, nullable=True),
    sa.UniqueConstraint("cell_id", "episode"),  # R5
    sa.ForeignKeyConstraint(["cell_id", "episode"], ["episode.cell_id", "episode.number"]),  # R6
    _one_of("state", "current", "superseded", "retracted", "contested", "proposed"),
    sa.CheckConstraint("successor IS NULL OR successor > number", name="no_cycle"),  # R7
    sa.CheckConstraint("state <> 'current' OR (valid_to IS NULL AND closed_at IS NULL)", name="current_open"),
    sa.CheckConstraint(
        "state <> 'superseded' OR (successor IS NOT NULL AND closed_at IS NOT NULL AND ended_reason IS NOT NULL)",
        name="superseded_says_why",
    ),
    sa.Index(
        "uq_version_current",
        "belief_id",
        unique=True,
        sqlite_where=sa.text("state = 'current'"),
        postgresql_where=sa.text("state = 'current'"),
    ),  # R7
    sqlite_with_rowid=False,
)

# Evidence beyond the founding episode: what later bore a version out, and what ended it.
evidence = sa.Table(
    "evidence",
    metadata,
    sa.Column("belief_id", Id, primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("cell_id", Id, primary_key=True),
    sa.Column("episode", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("role", sa.Text, nullable=False),
    sa.ForeignKeyConstraint(["belief_id", "number"], ["version.belief_id", "version.number"]),
    sa.ForeignKeyConstraint(["cell_id", "episode"], ["episode.cell_id", "episode.number"]),
    _one_of("role", "bears_out", "ended"),
    sa.Index("ix_evidence_episode", "cell_id", "episode"),
    sqlite_with_rowid=False,
)

# What current beliefs about lineage say, by upstream: a projection of beliefs, kept in their transactions.
edge = sa.Table(
    "edge",
    metadata,
    sa.Column("upstream_id", Id, primary_key=True),
    sa.Column("column", sa.Text, primary_key=True),
    sa.Column("belief_id", Id, primary_key=True),
    sa.Column("downstream_column", sa.Text, nullable=False),
    sa.Index("ix_edge_belief", "belief_id"),
    sqlite_with_rowid=False,
)

publication = sa.Table(
    "publication",
    metadata,
    sa.Column("target", sa.Text, primary_key=True),
    sa.Column("entity_id", Id, sa.ForeignKey("entity.id"), primary_key=True),
    sa.Column("url", sa.Text, nullable=False),
    sa.Column("label", sa.Text, nullable=False),
    sa.Column("revisions", sa.Integer, nullable=False),
    sa.Column("published_at", Milliseconds, nullable=False),
    sa.Column("reread_at", Milliseconds, nullable=True),
    sqlite_with_rowid=False,
)
