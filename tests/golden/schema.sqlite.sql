CREATE TABLE store (
    id INTEGER NOT NULL,
    secret BLOB NOT NULL,
    created_at BIGINT NOT NULL,
    CONSTRAINT pk_store PRIMARY KEY (id),
    CONSTRAINT ck_store_one_row CHECK (id = 1)
);

CREATE TABLE source (
    name TEXT NOT NULL,
    kind TEXT NOT NULL,
    origin TEXT NOT NULL,
    CONSTRAINT pk_source PRIMARY KEY (name)
)
 WITHOUT ROWID;

CREATE TABLE run (
    id BLOB NOT NULL,
    job TEXT NOT NULL,
    source TEXT,
    state TEXT NOT NULL,
    holder TEXT NOT NULL,
    beat_at BIGINT NOT NULL,
    started_at BIGINT NOT NULL,
    ended_at BIGINT,
    read_at BIGINT,
    complete BOOLEAN NOT NULL,
    rules TEXT NOT NULL,
    scope TEXT,
    coverage BLOB,
    written INTEGER NOT NULL,
    founded INTEGER NOT NULL,
    counts TEXT,
    CONSTRAINT pk_run PRIMARY KEY (id),
    CONSTRAINT ck_run_state_known CHECK (state IN ('running', 'done', 'failed', 'stopped'))
)
 WITHOUT ROWID;

CREATE INDEX ix_run_started_at ON run (started_at);

CREATE UNIQUE INDEX uq_run_lease ON run (source) WHERE state = 'running' AND source IS NOT NULL;

CREATE TABLE entity (
    id BLOB NOT NULL,
    urn TEXT NOT NULL,
    kind TEXT NOT NULL,
    platform TEXT NOT NULL,
    name TEXT NOT NULL,
    holder TEXT,
    held_until BIGINT,
    indexed_at BIGINT,
    changed_at BIGINT,
    revisions INTEGER,
    first_at BIGINT,
    beliefs INTEGER,
    gone BOOLEAN,
    CONSTRAINT pk_entity PRIMARY KEY (id),
    CONSTRAINT uq_entity_urn UNIQUE (urn)
)
 WITHOUT ROWID;

CREATE INDEX ix_entity_changed_at ON entity (changed_at, id);

CREATE INDEX ix_entity_name ON entity (name);

CREATE INDEX ix_entity_revisions ON entity (revisions, id);

CREATE INDEX ix_entity_stale ON entity (id) WHERE indexed_at IS NULL;

CREATE TABLE working (
    task TEXT NOT NULL,
    "key" TEXT NOT NULL,
    value TEXT NOT NULL,
    observer TEXT NOT NULL,
    put_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    CONSTRAINT pk_working PRIMARY KEY (task, "key")
)
 WITHOUT ROWID;

CREATE INDEX ix_working_expires_at ON working (expires_at);

CREATE TABLE erased (
    digest BLOB NOT NULL,
    pseudonym TEXT NOT NULL,
    erased_at BIGINT NOT NULL,
    CONSTRAINT pk_erased PRIMARY KEY (digest),
    CONSTRAINT uq_erased_pseudonym UNIQUE (pseudonym)
)
 WITHOUT ROWID;

CREATE TABLE delivery (
    id BLOB NOT NULL,
    at BIGINT NOT NULL,
    agent TEXT NOT NULL,
    session TEXT NOT NULL,
    surface TEXT NOT NULL,
    kind TEXT NOT NULL,
    entities TEXT NOT NULL,
    versions TEXT NOT NULL,
    scores TEXT NOT NULL,
    tokens INTEGER NOT NULL,
    CONSTRAINT pk_delivery PRIMARY KEY (id)
)
 WITHOUT ROWID;

CREATE INDEX ix_delivery_agent ON delivery (agent, at);

CREATE TABLE notice_cursor (
    rule TEXT NOT NULL,
    recipient BLOB NOT NULL,
    since BIGINT NOT NULL,
    position BIGINT NOT NULL,
    CONSTRAINT pk_notice_cursor PRIMARY KEY (rule, recipient)
)
 WITHOUT ROWID;

CREATE TABLE notice_sent (
    rule TEXT NOT NULL,
    recipient BLOB NOT NULL,
    cell_id BLOB NOT NULL,
    number INTEGER NOT NULL,
    at BIGINT NOT NULL,
    CONSTRAINT pk_notice_sent PRIMARY KEY (rule, recipient, cell_id, number)
)
 WITHOUT ROWID;

CREATE TABLE edge (
    upstream_id BLOB NOT NULL,
    "column" TEXT NOT NULL,
    belief_id BLOB NOT NULL,
    downstream_column TEXT NOT NULL,
    CONSTRAINT pk_edge PRIMARY KEY (upstream_id, "column", belief_id)
)
 WITHOUT ROWID;

CREATE INDEX ix_edge_belief ON edge (belief_id);

CREATE TABLE recall_log (
    id BLOB NOT NULL,
    at BIGINT NOT NULL,
    question TEXT NOT NULL,
    surface TEXT NOT NULL,
    answer TEXT NOT NULL,
    versions TEXT NOT NULL,
    scores TEXT NOT NULL,
    CONSTRAINT pk_recall_log PRIMARY KEY (id),
    CONSTRAINT ck_recall_log_answer_known CHECK (answer IN ('confident', 'weak', 'nothing'))
)
 WITHOUT ROWID;

CREATE INDEX ix_recall_log_at ON recall_log (at);

CREATE TABLE strength (
    belief_id BLOB NOT NULL,
    base FLOAT NOT NULL,
    at BIGINT NOT NULL,
    CONSTRAINT pk_strength PRIMARY KEY (belief_id),
    CONSTRAINT ck_strength_base_bounded CHECK (base >= 0 AND base <= 1)
)
 WITHOUT ROWID;

CREATE TABLE embedder (
    id INTEGER NOT NULL,
    name TEXT NOT NULL,
    state TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    batch BIGINT NOT NULL,
    CONSTRAINT pk_embedder PRIMARY KEY (id),
    CONSTRAINT ck_embedder_state_known CHECK (state IN ('current', 'coming', 'going', 'gone')),
    CONSTRAINT uq_embedder_name UNIQUE (name)
);

CREATE UNIQUE INDEX uq_embedder_state ON embedder (state) WHERE state IN ('current', 'coming');

CREATE TABLE part (
    entity_id BLOB NOT NULL,
    source TEXT NOT NULL,
    part TEXT NOT NULL,
    digest BLOB NOT NULL,
    ordinal INTEGER NOT NULL,
    cells INTEGER NOT NULL,
    CONSTRAINT pk_part PRIMARY KEY (entity_id, source, part),
    CONSTRAINT uq_part_source UNIQUE (source, ordinal),
    CONSTRAINT fk_part_entity_id_entity FOREIGN KEY(entity_id) REFERENCES entity (id)
)
 WITHOUT ROWID;

CREATE TABLE cell (
    id BLOB NOT NULL,
    entity_id BLOB NOT NULL,
    source TEXT NOT NULL,
    observer TEXT NOT NULL,
    aspect TEXT NOT NULL,
    "key" TEXT NOT NULL,
    part TEXT NOT NULL,
    belief_id BLOB NOT NULL,
    digest BLOB NOT NULL,
    last INTEGER NOT NULL,
    CONSTRAINT pk_cell PRIMARY KEY (id),
    CONSTRAINT fk_cell_entity_id_entity FOREIGN KEY(entity_id) REFERENCES entity (id)
)
 WITHOUT ROWID;

CREATE INDEX ix_cell_lineage ON cell (aspect) WHERE aspect IN ('column_upstreams', 'upstreams');

CREATE INDEX ix_cell_observer ON cell (observer) WHERE observer <> '';

CREATE TABLE publication (
    target TEXT NOT NULL,
    entity_id BLOB NOT NULL,
    url TEXT NOT NULL,
    label TEXT NOT NULL,
    revisions INTEGER NOT NULL,
    published_at BIGINT NOT NULL,
    reread_at BIGINT,
    CONSTRAINT pk_publication PRIMARY KEY (target, entity_id),
    CONSTRAINT fk_publication_entity_id_entity FOREIGN KEY(entity_id) REFERENCES entity (id)
)
 WITHOUT ROWID;

CREATE TABLE passage (
    id INTEGER NOT NULL,
    entity_id BLOB NOT NULL,
    source TEXT NOT NULL,
    aspect TEXT NOT NULL,
    current BOOLEAN NOT NULL,
    text TEXT NOT NULL,
    terms TEXT NOT NULL,
    CONSTRAINT pk_passage PRIMARY KEY (id),
    CONSTRAINT ck_passage_past_apart CHECK (current = (id < 4611686018427387904)),
    CONSTRAINT fk_passage_entity_id_entity FOREIGN KEY(entity_id) REFERENCES entity (id)
);

CREATE INDEX ix_passage_entity_id ON passage (entity_id);

CREATE VIRTUAL TABLE IF NOT EXISTS passage_text USING fts5(terms, content='passage', content_rowid='id', detail=none, columnsize=0, tokenize="ascii tokenchars '_='");

CREATE TRIGGER IF NOT EXISTS passage_text_adds AFTER INSERT ON passage BEGIN INSERT INTO passage_text (rowid, terms) VALUES (new.id, new.terms); END;

CREATE TRIGGER IF NOT EXISTS passage_text_drops AFTER DELETE ON passage BEGIN INSERT INTO passage_text (passage_text, rowid, terms) VALUES ('delete', old.id, old.terms); END;

CREATE TABLE label (
    aspect TEXT NOT NULL,
    member TEXT NOT NULL,
    entity_id BLOB NOT NULL,
    CONSTRAINT pk_label PRIMARY KEY (aspect, member, entity_id),
    CONSTRAINT fk_label_entity_id_entity FOREIGN KEY(entity_id) REFERENCES entity (id)
)
 WITHOUT ROWID;

CREATE INDEX ix_label_entity_id ON label (entity_id);

CREATE TABLE vector_sign (
    embedder_id INTEGER NOT NULL,
    batch BIGINT NOT NULL,
    passages BLOB NOT NULL,
    bits BLOB NOT NULL,
    CONSTRAINT pk_vector_sign PRIMARY KEY (embedder_id, batch),
    CONSTRAINT ck_vector_sign_bits_for_each CHECK (length(bits) = 6 * length(passages)),
    CONSTRAINT fk_vector_sign_embedder_id_embedder FOREIGN KEY(embedder_id) REFERENCES embedder (id)
);

CREATE TABLE episode (
    cell_id BLOB NOT NULL,
    number INTEGER NOT NULL,
    run_id BLOB NOT NULL,
    observed_at BIGINT NOT NULL,
    after_at BIGINT,
    kind TEXT NOT NULL,
    impact SMALLINT NOT NULL,
    baseline BOOLEAN NOT NULL,
    value TEXT,
    ground TEXT,
    stamped_at BIGINT,
    actor TEXT,
    catalog_run TEXT,
    verdict TEXT,
    forgotten_at BIGINT,
    CONSTRAINT pk_episode PRIMARY KEY (cell_id, number),
    CONSTRAINT uq_episode_reading UNIQUE (cell_id, run_id, observed_at),
    CONSTRAINT ck_episode_kind_known CHECK (kind IN ('first', 'changed', 'removed', 'returned', 'said')),
    CONSTRAINT ck_episode_verdict_known CHECK (verdict IN ('open', 'reinforce', 'supersede', 'retract', 'contest')),
    CONSTRAINT ck_episode_value_unless_removed CHECK ((kind = 'removed') = (value IS NULL)),
    CONSTRAINT fk_episode_cell_id_cell FOREIGN KEY(cell_id) REFERENCES cell (id),
    CONSTRAINT fk_episode_run_id_run FOREIGN KEY(run_id) REFERENCES run (id)
)
 WITHOUT ROWID;

CREATE INDEX ix_episode_change ON episode (run_id, cell_id) WHERE baseline = 0;

CREATE INDEX ix_episode_pending ON episode (cell_id) WHERE verdict IS NULL;

CREATE TABLE passage_of (
    passage_id INTEGER NOT NULL,
    belief_id BLOB NOT NULL,
    number INTEGER NOT NULL,
    CONSTRAINT pk_passage_of PRIMARY KEY (passage_id, belief_id, number),
    CONSTRAINT fk_passage_of_passage_id_passage FOREIGN KEY(passage_id) REFERENCES passage (id) ON DELETE CASCADE
)
 WITHOUT ROWID;

CREATE TABLE passage_vector (
    passage_id INTEGER NOT NULL,
    embedder_id INTEGER NOT NULL,
    vec BLOB NOT NULL,
    CONSTRAINT pk_passage_vector PRIMARY KEY (passage_id, embedder_id),
    CONSTRAINT ck_passage_vector_one_dimension CHECK (length(vec) = 1536),
    CONSTRAINT fk_passage_vector_passage_id_passage FOREIGN KEY(passage_id) REFERENCES passage (id) ON DELETE CASCADE,
    CONSTRAINT fk_passage_vector_embedder_id_embedder FOREIGN KEY(embedder_id) REFERENCES embedder (id)
);

CREATE TABLE version (
    belief_id BLOB NOT NULL,
    number INTEGER NOT NULL,
    state TEXT NOT NULL,
    cell_id BLOB NOT NULL,
    episode INTEGER NOT NULL,
    valid_from BIGINT NOT NULL,
    valid_after BIGINT,
    valid_to BIGINT,
    recorded_at BIGINT NOT NULL,
    closed_at BIGINT,
    run_id BLOB NOT NULL,
    judge TEXT NOT NULL,
    reason TEXT NOT NULL,
    reverts_to INTEGER,
    successor INTEGER,
    ended_reason TEXT,
    CONSTRAINT pk_version PRIMARY KEY (belief_id, number),
    CONSTRAINT uq_version_cell_id UNIQUE (cell_id, episode),
    CONSTRAINT fk_version_cell_id_episode FOREIGN KEY(cell_id, episode) REFERENCES episode (cell_id, number),
    CONSTRAINT ck_version_state_known CHECK (state IN ('current', 'superseded', 'retracted', 'contested', 'proposed')),
    CONSTRAINT ck_version_no_cycle CHECK (successor IS NULL OR successor > number),
    CONSTRAINT ck_version_current_open CHECK (state <> 'current' OR (valid_to IS NULL AND closed_at IS NULL)),
    CONSTRAINT ck_version_superseded_says_why CHECK (state <> 'superseded' OR (successor IS NOT NULL AND closed_at IS NOT NULL AND ended_reason IS NOT NULL)),
    CONSTRAINT fk_version_run_id_run FOREIGN KEY(run_id) REFERENCES run (id)
)
 WITHOUT ROWID;

CREATE UNIQUE INDEX uq_version_current ON version (belief_id) WHERE state = 'current';

CREATE TABLE choice (
    cell_id BLOB NOT NULL,
    episode INTEGER NOT NULL,
    run_id BLOB NOT NULL,
    judge TEXT NOT NULL,
    sure BOOLEAN NOT NULL,
    chosen_at BIGINT NOT NULL,
    CONSTRAINT pk_choice PRIMARY KEY (cell_id, episode),
    CONSTRAINT fk_choice_cell_id_episode FOREIGN KEY(cell_id, episode) REFERENCES episode (cell_id, number),
    CONSTRAINT fk_choice_run_id_run FOREIGN KEY(run_id) REFERENCES run (id)
)
 WITHOUT ROWID;

CREATE TABLE evidence (
    belief_id BLOB NOT NULL,
    number INTEGER NOT NULL,
    cell_id BLOB NOT NULL,
    episode INTEGER NOT NULL,
    role TEXT NOT NULL,
    judge TEXT,
    recorded_at BIGINT,
    CONSTRAINT pk_evidence PRIMARY KEY (belief_id, number, cell_id, episode),
    CONSTRAINT fk_evidence_belief_id_version FOREIGN KEY(belief_id, number) REFERENCES version (belief_id, number),
    CONSTRAINT fk_evidence_cell_id_episode FOREIGN KEY(cell_id, episode) REFERENCES episode (cell_id, number),
    CONSTRAINT ck_evidence_role_known CHECK (role IN ('bears_out', 'ended'))
)
 WITHOUT ROWID;

CREATE INDEX ix_evidence_episode ON evidence (cell_id, episode);
