-- Derived rows: everything here can be made again from the files.

-- One row: how far the index has come. The three seq columns say in which generation rows of their kind changed last.
CREATE TABLE progress (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    generation INTEGER NOT NULL,
    committed_at REAL NOT NULL,
    artifact_seq INTEGER NOT NULL,
    chunk_seq INTEGER NOT NULL,
    vector_seq INTEGER NOT NULL,
    change_floor INTEGER NOT NULL,
    next_chunk INTEGER NOT NULL,
    artifact_stamp INTEGER NOT NULL,
    chunk_stamp INTEGER NOT NULL
);
INSERT INTO progress VALUES (1, 0, 0, 0, 0, 0, 0, 1, random(), random());

-- A stamp for each generation, so that a sidecar of another history (a restored or lost database) is recognised.
CREATE TABLE generation (seq INTEGER PRIMARY KEY, stamp INTEGER NOT NULL);
INSERT INTO generation VALUES (0, random());

-- Which chunks changed when. kind 0: the chunk itself came, changed or went; kind 1: its vector came.
CREATE TABLE change (
    seq INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    chunk INTEGER NOT NULL,
    PRIMARY KEY (seq, kind, chunk)
) WITHOUT ROWID;

CREATE TABLE state (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE artifact (
    number INTEGER PRIMARY KEY,
    path TEXT NOT NULL UNIQUE,
    type TEXT NOT NULL,
    digest BLOB NOT NULL,
    size INTEGER NOT NULL,
    title TEXT NOT NULL,
    namespace TEXT NOT NULL,
    subsystem TEXT,
    language TEXT,
    tags TEXT NOT NULL,
    messages TEXT NOT NULL,
    telemetry TEXT NOT NULL,
    git_commit TEXT,
    git_timestamp REAL
);

CREATE TABLE ledger (
    artifact INTEGER PRIMARY KEY REFERENCES artifact (number) ON DELETE CASCADE,
    digest BLOB NOT NULL,
    size INTEGER NOT NULL,
    modified_ns INTEGER NOT NULL,
    changed_ns INTEGER NOT NULL,
    inode INTEGER NOT NULL,
    parser TEXT NOT NULL,
    seen_at REAL NOT NULL
);

CREATE TABLE chunk (
    number INTEGER PRIMARY KEY,
    artifact INTEGER NOT NULL REFERENCES artifact (number) ON DELETE CASCADE,
    size INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    line_start INTEGER NOT NULL,
    line_end INTEGER NOT NULL,
    kind TEXT NOT NULL,
    id TEXT NOT NULL UNIQUE,
    digest BLOB NOT NULL,
    tags TEXT NOT NULL,
    title TEXT NOT NULL,
    text TEXT NOT NULL
);
CREATE INDEX chunk_artifact ON chunk (artifact, sequence);

-- Tags in folded form, those of the artifact included: what a filter looks at.
CREATE TABLE chunk_tag (
    tag TEXT NOT NULL,
    chunk INTEGER NOT NULL REFERENCES chunk (number) ON DELETE CASCADE,
    PRIMARY KEY (tag, chunk)
) WITHOUT ROWID;
CREATE INDEX chunk_tag_chunk ON chunk_tag (chunk);

-- The hashes are those of the folded names: small keys for look-ups without regard to case.
CREATE TABLE symbol (
    number INTEGER PRIMARY KEY,
    artifact INTEGER NOT NULL REFERENCES artifact (number) ON DELETE CASCADE,
    line_start INTEGER NOT NULL,
    line_end INTEGER NOT NULL,
    name_hash INTEGER NOT NULL,
    qualified_hash INTEGER NOT NULL,
    kind TEXT NOT NULL,
    language TEXT NOT NULL,
    name TEXT NOT NULL,
    qualified_name TEXT NOT NULL,
    id TEXT NOT NULL UNIQUE
);
CREATE INDEX symbol_artifact ON symbol (artifact, line_start);
CREATE INDEX symbol_name ON symbol (name_hash);
CREATE INDEX symbol_qualified ON symbol (qualified_hash);

CREATE TABLE chunk_symbol (
    chunk INTEGER NOT NULL REFERENCES chunk (number) ON DELETE CASCADE,
    ordinal INTEGER NOT NULL,
    symbol INTEGER NOT NULL REFERENCES symbol (number) ON DELETE CASCADE,
    PRIMARY KEY (chunk, ordinal)
) WITHOUT ROWID;
CREATE INDEX chunk_symbol_symbol ON chunk_symbol (symbol);

-- The references of a file are only ever read together, so they are one value; their last parts are looked up by name.
CREATE TABLE reference (
    artifact INTEGER PRIMARY KEY REFERENCES artifact (number) ON DELETE CASCADE,
    body BLOB NOT NULL
);
CREATE TABLE reference_name (
    name TEXT NOT NULL,
    artifact INTEGER NOT NULL REFERENCES artifact (number) ON DELETE CASCADE,
    PRIMARY KEY (name, artifact)
) WITHOUT ROWID;
CREATE INDEX reference_name_artifact ON reference_name (artifact);

CREATE TABLE vector_model (
    number INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    dimensions INTEGER NOT NULL,
    UNIQUE (name, dimensions)
);
-- A chunk has one vector; that of another model takes its place.
CREATE TABLE vector (
    chunk INTEGER PRIMARY KEY REFERENCES chunk (number) ON DELETE CASCADE,
    model INTEGER NOT NULL REFERENCES vector_model (number),
    data BLOB NOT NULL
);
CREATE INDEX vector_of_model ON vector (model);

-- Labels of nodes and types of edges.
CREATE TABLE word (number INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);

-- Who states nodes and edges. kind 0: a file, by its path; kind 1: a layer, by its name.
CREATE TABLE owner (
    number INTEGER PRIMARY KEY,
    kind INTEGER NOT NULL,
    name TEXT NOT NULL,
    UNIQUE (kind, name)
);
-- A node is here as long as somebody states it, with what all its owners state together. `disputed` says that two of them
-- contradict each other. `search` holds folded key and name where the key alone does not do.
CREATE TABLE node (
    number INTEGER PRIMARY KEY,
    label INTEGER NOT NULL,
    hash INTEGER NOT NULL,
    disputed INTEGER NOT NULL,
    key TEXT NOT NULL,
    properties TEXT NOT NULL,
    search TEXT,
    UNIQUE (label, key)
);
CREATE INDEX node_hash ON node (hash);
-- Without properties of its own, a statement says exactly what stands with the node.
CREATE TABLE statement (
    node INTEGER NOT NULL,
    owner INTEGER NOT NULL,
    properties TEXT,
    PRIMARY KEY (node, owner)
) WITHOUT ROWID;
CREATE INDEX statement_owner ON statement (owner);
-- Edges between nodes that are there, once for each owner.
CREATE TABLE edge (
    source INTEGER NOT NULL,
    type INTEGER NOT NULL,
    target INTEGER NOT NULL,
    owner INTEGER NOT NULL,
    PRIMARY KEY (source, type, target, owner)
) WITHOUT ROWID;
CREATE INDEX edge_incoming ON edge (target, type, source);
CREATE INDEX edge_owner ON edge (owner);
-- Edges with an end that nobody states now. They wait here, unseen, until somebody does.
CREATE TABLE loose_edge (
    owner INTEGER NOT NULL,
    source TEXT NOT NULL,
    type INTEGER NOT NULL,
    target TEXT NOT NULL,
    PRIMARY KEY (owner, source, type, target)
) WITHOUT ROWID;
CREATE INDEX loose_edge_source ON loose_edge (source);
CREATE INDEX loose_edge_target ON loose_edge (target);

-- Kept rows: what only the store holds.

CREATE TABLE run (
    number INTEGER PRIMARY KEY,
    run_id TEXT NOT NULL UNIQUE,
    profile TEXT NOT NULL,
    created_at REAL NOT NULL,
    body TEXT NOT NULL
);
CREATE TABLE report (
    number INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    generated_at REAL NOT NULL,
    run_id TEXT NOT NULL,
    body TEXT NOT NULL
);
CREATE INDEX report_kind ON report (kind, number);
CREATE TABLE event (
    number INTEGER PRIMARY KEY,
    request_id TEXT NOT NULL,
    timestamp REAL NOT NULL,
    rank INTEGER NOT NULL,
    query TEXT NOT NULL,
    chunk_id TEXT NOT NULL,
    body TEXT NOT NULL
);
CREATE INDEX event_request ON event (request_id);
CREATE TABLE vote (
    number INTEGER PRIMARY KEY,
    request_id TEXT NOT NULL,
    chunk_id TEXT NOT NULL,
    caller TEXT NOT NULL,
    vote REAL,
    note TEXT,
    context TEXT NOT NULL,
    timestamp REAL NOT NULL,
    UNIQUE (request_id, chunk_id, caller)
);
CREATE TABLE audit (
    number INTEGER PRIMARY KEY,
    timestamp REAL NOT NULL,
    caller TEXT NOT NULL,
    tool TEXT NOT NULL,
    body TEXT NOT NULL
);
