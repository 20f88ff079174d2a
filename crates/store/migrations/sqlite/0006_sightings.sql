-- Why: indexes learn from the log what is known of sources. A sighting that changes what is known has its place in the log:
-- `known_seq`. `handed_seq` is the place where the row became somebody else's, which says nothing about when the hash was
-- seen; 0 where that never happened.
ALTER TABLE source ADD COLUMN handed_seq INTEGER NOT NULL DEFAULT 0;
CREATE INDEX source_place ON source (project_id, MAX(known_seq, handed_seq));

-- A duplicate that brings its record up to date is a change of that record: `update`. The list of kinds is a check of the
-- table, which SQLite can't alter.
CREATE TABLE change_new (
    project_id BLOB NOT NULL,
    seq INTEGER NOT NULL,
    workspace_no INTEGER NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('forget', 'restore', 'update', 'visibility', 'purge', 'workspace.delete')),
    record_seq INTEGER,
    at INTEGER NOT NULL,
    PRIMARY KEY (project_id, workspace_no, seq)
) STRICT, WITHOUT ROWID;
INSERT INTO change_new (project_id, seq, workspace_no, kind, record_seq, at)
SELECT project_id, seq, workspace_no, kind, record_seq, at FROM change;
DROP TABLE change;
ALTER TABLE change_new RENAME TO change;
