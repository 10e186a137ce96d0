-- What an edge for a call says besides its ends: whether the target was found by its name alone, and the line of the
-- first call. Both are 0 for other edges.
ALTER TABLE edge ADD COLUMN by_name INTEGER NOT NULL DEFAULT 0;
ALTER TABLE edge ADD COLUMN line INTEGER NOT NULL DEFAULT 0;
ALTER TABLE loose_edge ADD COLUMN by_name INTEGER NOT NULL DEFAULT 0;
ALTER TABLE loose_edge ADD COLUMN line INTEGER NOT NULL DEFAULT 0;

-- Incoming edges are read from the index alone.
DROP INDEX edge_incoming;
CREATE INDEX edge_incoming ON edge (target, type, source, by_name, line);

-- What a file says about the types of its names. It is read when the calls of other files are resolved.
CREATE TABLE type_hint (
    artifact INTEGER PRIMARY KEY REFERENCES artifact (number) ON DELETE CASCADE,
    body BLOB NOT NULL
);
-- The names that were looked up to resolve the links of a file, besides those in reference_name.
CREATE TABLE link_name (
    name TEXT NOT NULL,
    artifact INTEGER NOT NULL REFERENCES artifact (number) ON DELETE CASCADE,
    PRIMARY KEY (name, artifact)
) WITHOUT ROWID;
CREATE INDEX link_name_artifact ON link_name (artifact);
