"""The one schema: every table, and the constraints that carry the rules. Statements are in the modules beside it.

Times are whole milliseconds since 1970 UTC. Values are canonical JSON text as read. Ids are explained in core.ids.
"""

from __future__ import annotations

import sqlalchemy as sa

from palimpsest.core.lineage import LINEAGE_ASPECTS
from palimpsest.store.search_types import Number, Terms
from palimpsest.store.types import Bytes, Id, Milliseconds, Text
from palimpsest.store.vector_types import Vec

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
    sa.Column("name", Text, primary_key=True),
    sa.Column("kind", Text, nullable=False),
    sa.Column("origin", Text, nullable=False),
    sqlite_with_rowid=False,
)

# The lease on a source IS its running row (R1). `written` counts the run's episodes, exact with every commit.
run = sa.Table(
    "run",
    metadata,
    sa.Column("id", Id, primary_key=True),
    sa.Column("job", Text, nullable=False),
    sa.Column("source", Text, nullable=True),
    sa.Column("state", Text, nullable=False),
    sa.Column("holder", Text, nullable=False),
    sa.Column("beat_at", Milliseconds, nullable=False),
    sa.Column("started_at", Milliseconds, nullable=False),
    sa.Column("ended_at", Milliseconds, nullable=True),
    sa.Column("read_at", Milliseconds, nullable=True),
    sa.Column("complete", sa.Boolean, nullable=False, default=False),
    sa.Column("rules", Text, nullable=False),
    sa.Column("scope", Text, nullable=True),
    sa.Column("coverage", Bytes, nullable=True),
    sa.Column("written", sa.Integer, nullable=False, default=0),
    sa.Column("founded", sa.Integer, nullable=False, default=0),
    sa.Column("counts", Text, nullable=True),
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
    sa.Column("urn", Text, nullable=False, unique=True),
    sa.Column("kind", Text, nullable=False),
    sa.Column("platform", Text, nullable=False),
    sa.Column("name", Text, nullable=False),
    sa.Column("holder", Text, nullable=True),
    sa.Column("held_until", Milliseconds, nullable=True),
    sa.Column("indexed_at", Milliseconds, nullable=True),  # NULL: its passages are not what its beliefs give
    # What a listing sorts and counts by, as the index pass last counted it: when it was last revised and how often,
    # since when something is held of it, how many beliefs are current, whether no source holds that it exists.
    sa.Column("changed_at", Milliseconds, nullable=True),
    sa.Column("revisions", sa.Integer, nullable=True),
    sa.Column("first_at", Milliseconds, nullable=True),
    sa.Column("beliefs", sa.Integer, nullable=True),
    sa.Column("gone", sa.Boolean, nullable=True),
    sa.Index("ix_entity_name", "name"),
    sa.Index("ix_entity_changed_at", "changed_at", "id"),
    sa.Index("ix_entity_revisions", "revisions", "id"),
    sa.Index(
        "ix_entity_stale",
        "id",
        sqlite_where=sa.text("indexed_at IS NULL"),
        postgresql_where=sa.text("indexed_at IS NULL"),
    ),
    sqlite_with_rowid=False,
)

# Level 1 of comparing: one raw DataHub aspect of one entity. `ordinal` is its bit in the coverage of a run,
# `cells` how many cells it feeds that have not ended.
part = sa.Table(
    "part",
    metadata,
    sa.Column("entity_id", Id, sa.ForeignKey("entity.id"), primary_key=True),
    sa.Column("source", Text, primary_key=True),
    sa.Column("part", Text, primary_key=True),
    sa.Column("digest", Bytes, nullable=False),
    sa.Column("ordinal", sa.Integer, nullable=False),
    sa.Column("cells", sa.Integer, nullable=False),
    sa.UniqueConstraint("source", "ordinal"),
    sqlite_with_rowid=False,
)

# Which cells are about lineage, spelt as the index of these cells has it.
OF_LINEAGE = "aspect IN ('" + "', '".join(sorted(LINEAGE_ASPECTS)) + "')"

# Level 2: one cell, and the number of its last episode, which holds the value. An empty digest: nothing is held.
cell = sa.Table(
    "cell",
    metadata,
    sa.Column("id", Id, primary_key=True),
    sa.Column("entity_id", Id, sa.ForeignKey("entity.id"), nullable=False),
    sa.Column("source", Text, nullable=False),
    sa.Column("observer", Text, nullable=False),
    sa.Column("aspect", Text, nullable=False),
    sa.Column("key", Text, nullable=False),
    sa.Column("part", Text, nullable=False),
    sa.Column("belief_id", Id, nullable=False),
    sa.Column("digest", Bytes, nullable=False),
    sa.Column("last", sa.Integer, nullable=False),
    sa.Index(
        "ix_cell_observer",
        "observer",
        sqlite_where=sa.text("observer <> ''"),
        postgresql_where=sa.text("observer <> ''"),
    ),
    sa.Index("ix_cell_lineage", "aspect", sqlite_where=sa.text(OF_LINEAGE), postgresql_where=sa.text(OF_LINEAGE)),
    sqlite_with_rowid=False,
)

# The first thing held of a cell is number 1; what a backfill adds before it counts down from 0, without gaps.
episode = sa.Table(
    "episode",
    metadata,
    sa.Column("cell_id", Id, sa.ForeignKey("cell.id"), primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("run_id", Id, sa.ForeignKey("run.id"), nullable=False),
    sa.Column("observed_at", Milliseconds, nullable=False),
    sa.Column("after_at", Milliseconds, nullable=True),
    sa.Column("kind", Text, nullable=False),
    sa.Column("impact", sa.SmallInteger, nullable=False),
    sa.Column("baseline", sa.Boolean, nullable=False),
    sa.Column("value", Text, nullable=True),
    sa.Column("ground", Text, nullable=True),
    sa.Column("stamped_at", Milliseconds, nullable=True),
    sa.Column("actor", Text, nullable=True),
    sa.Column("catalog_run", Text, nullable=True),
    sa.Column("verdict", Text, nullable=True),
    sa.Column("forgotten_at", Milliseconds, nullable=True),  # its value was forgotten then, and is JSON null
    sa.UniqueConstraint("cell_id", "run_id", "observed_at", name="uq_episode_reading"),  # R9
    _one_of("kind", "first", "changed", "removed", "returned", "said"),
    _one_of("verdict", "open", "reinforce", "supersede", "retract", "contest"),
    sa.CheckConstraint("(kind = 'removed') = (value IS NULL)", name="value_unless_removed"),
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
    sa.Column("state", Text, nullable=False),
    sa.Column("cell_id", Id, nullable=False),
    sa.Column("episode", sa.Integer, nullable=False),
    sa.Column("valid_from", Milliseconds, nullable=False),
    sa.Column("valid_after", Milliseconds, nullable=True),
    sa.Column("valid_to", Milliseconds, nullable=True),
    sa.Column("recorded_at", Milliseconds, nullable=False),
    sa.Column("closed_at", Milliseconds, nullable=True),
    sa.Column("run_id", Id, sa.ForeignKey("run.id"), nullable=False),
    sa.Column("judge", Text, nullable=False),
    sa.Column("reason", Text, nullable=False),
    sa.Column("reverts_to", sa.Integer, nullable=True),
    sa.Column("successor", sa.Integer, nullable=True),
    sa.Column("ended_reason", Text, nullable=True),
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
    sa.Column("role", Text, nullable=False),
    sa.Column("judge", Text, nullable=True),
    sa.Column("recorded_at", Milliseconds, nullable=True),
    sa.ForeignKeyConstraint(["belief_id", "number"], ["version.belief_id", "version.number"]),
    sa.ForeignKeyConstraint(["cell_id", "episode"], ["episode.cell_id", "episode.number"]),
    _one_of("role", "bears_out", "ended"),
    sa.Index("ix_evidence_episode", "cell_id", "episode"),
    sqlite_with_rowid=False,
)

# Free text is said of an entity before anybody knows what it bears on. The choice of entity, aspect and key is made
# once: the episode moves to the cell that was chosen, and here stands who chose. Never changed (R3).
choice = sa.Table(
    "choice",
    metadata,
    sa.Column("cell_id", Id, primary_key=True),
    sa.Column("episode", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("run_id", Id, sa.ForeignKey("run.id"), nullable=False),
    sa.Column("judge", Text, nullable=False),
    sa.Column("sure", sa.Boolean, nullable=False),
    sa.Column("chosen_at", Milliseconds, nullable=False),
    sa.ForeignKeyConstraint(["cell_id", "episode"], ["episode.cell_id", "episode.number"]),
    sqlite_with_rowid=False,
)

# An agent's scratchpad for one task; the row with an empty key is the task itself. Gone after `expires_at`.
working = sa.Table(
    "working",
    metadata,
    sa.Column("task", Text, primary_key=True),
    sa.Column("key", Text, primary_key=True),
    sa.Column("value", Text, nullable=False),
    sa.Column("observer", Text, nullable=False),
    sa.Column("put_at", Milliseconds, nullable=False),
    sa.Column("expires_at", Milliseconds, nullable=False),
    sa.Index("ix_working_expires_at", "expires_at"),
    sqlite_with_rowid=False,
)

# Persons whose name is not to be held: the keyed hash of each name, and the pseudonym that stands for it.
erased = sa.Table(
    "erased",
    metadata,
    sa.Column("digest", Bytes, primary_key=True),
    sa.Column("pseudonym", Text, nullable=False, unique=True),
    sa.Column("erased_at", Milliseconds, nullable=False),
    sqlite_with_rowid=False,
)

# What agents were handed: the entities that it was about, and the versions in it with their scores, as JSON lists.
delivery = sa.Table(
    "delivery",
    metadata,
    sa.Column("id", Id, primary_key=True),
    sa.Column("at", Milliseconds, nullable=False),
    sa.Column("agent", Text, nullable=False),
    sa.Column("session", Text, nullable=False),
    sa.Column("surface", Text, nullable=False),
    sa.Column("kind", Text, nullable=False),
    sa.Column("entities", Text, nullable=False),
    sa.Column("versions", Text, nullable=False),
    sa.Column("scores", Text, nullable=False),
    sa.Column("tokens", sa.Integer, nullable=False),
    sa.Index("ix_delivery_agent", "agent", "at"),
    sqlite_with_rowid=False,
)

# How far a rule of notices is; with a recipient, the keyed digest of one who is behind it (store/notices.py).
notice_cursor = sa.Table(
    "notice_cursor",
    metadata,
    sa.Column("rule", Text, primary_key=True),
    sa.Column("recipient", Id, primary_key=True),
    sa.Column("since", Milliseconds, nullable=False),
    sa.Column("position", Milliseconds, nullable=False),
    sqlite_with_rowid=False,
)

# Which episodes a rule told to a recipient, as long as they may be looked over again; `at`: when their run began.
notice_sent = sa.Table(
    "notice_sent",
    metadata,
    sa.Column("rule", Text, primary_key=True),
    sa.Column("recipient", Id, primary_key=True),
    sa.Column("cell_id", Id, primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("at", Milliseconds, nullable=False),
    sqlite_with_rowid=False,
)

# What current beliefs about lineage say, by upstream: a projection of beliefs, kept in their transactions.
edge = sa.Table(
    "edge",
    metadata,
    sa.Column("upstream_id", Id, primary_key=True),
    sa.Column("column", Text, primary_key=True),
    sa.Column("belief_id", Id, primary_key=True),
    sa.Column("downstream_column", Text, nullable=False),
    sa.Index("ix_edge_belief", "belief_id"),
    sqlite_with_rowid=False,
)

publication = sa.Table(
    "publication",
    metadata,
    sa.Column("target", Text, primary_key=True),
    sa.Column("entity_id", Id, sa.ForeignKey("entity.id"), primary_key=True),
    sa.Column("url", Text, nullable=False),
    sa.Column("label", Text, nullable=False),
    sa.Column("revisions", sa.Integer, nullable=False),
    sa.Column("published_at", Milliseconds, nullable=False),
    sa.Column("reread_at", Milliseconds, nullable=True),
    sqlite_with_rowid=False,
)

# --- search: projections of beliefs, made by a pass of their own ------------------------------------------------

# What is searched: a text that states versions. Written once, never changed: another text is another passage. The id's
# upper half is its entity's, so that they lie together; from FIRST_PAST on are those that state what is not current.
FIRST_PAST = 1 << 62
passage = sa.Table(
    "passage",
    metadata,
    sa.Column("id", Number, primary_key=True, autoincrement=False),
    sa.Column("entity_id", Id, sa.ForeignKey("entity.id"), nullable=False),
    sa.Column("source", Text, nullable=False),
    sa.Column("aspect", Text, nullable=False),
    sa.Column("current", sa.Boolean, nullable=False),
    sa.Column("text", Text, nullable=False),
    sa.Column("terms", Terms, nullable=False),
    sa.CheckConstraint(f"current = (id < {FIRST_PAST})", name="past_apart"),
    sa.Index("ix_passage_entity_id", "entity_id"),
)

# What makes the terms searchable: on SQLite a full-text table beside it, which triggers keep, so that whatever writes
# passages, they agree; elsewhere an index.
PASSAGE_TEXT = (
    "CREATE VIRTUAL TABLE IF NOT EXISTS passage_text USING fts5(terms, content='passage', content_rowid='id', "
    "detail=none, columnsize=0, tokenize=\"ascii tokenchars '_='\")"
)
PASSAGE_TEXT_ADDS = (
    "CREATE TRIGGER IF NOT EXISTS passage_text_adds AFTER INSERT ON passage BEGIN "
    "INSERT INTO passage_text (rowid, terms) VALUES (new.id, new.terms); END"
)
PASSAGE_TEXT_DROPS = (
    "CREATE TRIGGER IF NOT EXISTS passage_text_drops AFTER DELETE ON passage BEGIN "
    "INSERT INTO passage_text (passage_text, rowid, terms) VALUES ('delete', old.id, old.terms); END"
)
PASSAGE_TERMS = "CREATE INDEX IF NOT EXISTS ix_passage_terms ON passage USING gin (terms)"


@sa.event.listens_for(passage, "after_create")
def _make_searchable(target: object, connection: sa.Connection, **options: object) -> None:
    is_sqlite = connection.dialect.name == "sqlite"
    for statement in (PASSAGE_TEXT, PASSAGE_TEXT_ADDS, PASSAGE_TEXT_DROPS) if is_sqlite else (PASSAGE_TERMS,):
        connection.execute(sa.text(statement))


def is_ours(name: str | None) -> bool:
    """Whether Alembic is to compare a table or index of the database: not those that make search quick."""
    return name is None or not name.startswith(("passage_text", "ix_passage_terms", "ix_passage_vector_vec"))


# Which versions a passage states.
passage_of = sa.Table(
    "passage_of",
    metadata,
    sa.Column(
        "passage_id", Number, sa.ForeignKey("passage.id", ondelete="CASCADE"), primary_key=True, autoincrement=False
    ),
    sa.Column("belief_id", Id, primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sqlite_with_rowid=False,
)

# The owners, tags, terms and domains that entities have by current beliefs, for narrowing a listing.
label = sa.Table(
    "label",
    metadata,
    sa.Column("aspect", Text, primary_key=True),
    sa.Column("member", Text, primary_key=True),
    sa.Column("entity_id", Id, sa.ForeignKey("entity.id"), primary_key=True),
    sa.Index("ix_label_entity_id", "entity_id"),
    sqlite_with_rowid=False,
)

# What was asked, and what was answered: versions and scores as JSON lists, the best first.
recall_log = sa.Table(
    "recall_log",
    metadata,
    sa.Column("id", Id, primary_key=True),
    sa.Column("at", Milliseconds, nullable=False),
    sa.Column("question", Text, nullable=False),
    sa.Column("surface", Text, nullable=False),
    sa.Column("answer", Text, nullable=False),
    sa.Column("versions", Text, nullable=False),
    sa.Column("scores", Text, nullable=False),
    _one_of("answer", "confident", "weak", "nothing"),
    sa.Index("ix_recall_log_at", "at"),
    sqlite_with_rowid=False,
)

# How strongly a belief was recalled lately: what it came to at a time, from which it fades (core.strength).
strength = sa.Table(
    "strength",
    metadata,
    sa.Column("belief_id", Id, primary_key=True),
    sa.Column("base", sa.Float, nullable=False),
    sa.Column("at", Milliseconds, nullable=False),
    sa.CheckConstraint("base >= 0 AND base <= 1", name="base_bounded"),
    sqlite_with_rowid=False,
)

# Who made vectors. `current` ones are searched; `coming` ones are being made, and then take over; `going` ones are
# being deleted. `batch` counts what was written, where vectors are bytes.
embedder = sa.Table(
    "embedder",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("name", Text, nullable=False, unique=True),
    sa.Column("state", Text, nullable=False),
    sa.Column("created_at", Milliseconds, nullable=False),
    sa.Column("batch", sa.BigInteger, nullable=False),
    _one_of("state", "current", "coming", "going", "gone"),
    sa.Index(
        "uq_embedder_state",
        "state",
        unique=True,
        sqlite_where=sa.text("state IN ('current', 'coming')"),
        postgresql_where=sa.text("state IN ('current', 'coming')"),
    ),
)

# The vector of a passage, by one embedder. Its index, where there is one, is not in the model: databases differ in it.
# `vector` is no name for a table: PostgreSQL would make a type of that name.
passage_vector = sa.Table(
    "passage_vector",
    metadata,
    sa.Column(
        "passage_id", Number, sa.ForeignKey("passage.id", ondelete="CASCADE"), primary_key=True, autoincrement=False
    ),
    sa.Column("embedder_id", sa.Integer, sa.ForeignKey("embedder.id"), primary_key=True, autoincrement=False),
    sa.Column("vec", Vec, nullable=False),
    sa.CheckConstraint("length(vec) = 1536", name="one_dimension").ddl_if(dialect="sqlite"),
)

# Where vectors are bytes: the signs of their numbers, many passages a row, for a first look that fits into memory.
# Passages that are gone may be in it still; the vector decides.
vector_sign = sa.Table(
    "vector_sign",
    metadata,
    sa.Column("embedder_id", sa.Integer, sa.ForeignKey("embedder.id"), primary_key=True, autoincrement=False),
    sa.Column("batch", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("passages", Bytes, nullable=False),
    sa.Column("bits", Bytes, nullable=False),
    sa.CheckConstraint("length(bits) = 6 * length(passages)", name="bits_for_each"),
)
