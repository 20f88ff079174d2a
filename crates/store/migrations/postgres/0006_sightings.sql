-- Why: indexes learn from the log what is known of sources. A sighting that changes what is known has its place in the log:
-- `known_seq`. `handed_seq` is the place where the row became somebody else's, which says nothing about when the hash was
-- seen; 0 where that never happened.
ALTER TABLE source ADD COLUMN handed_seq BIGINT NOT NULL DEFAULT 0;
CREATE INDEX source_place ON source (project_id, GREATEST(known_seq, handed_seq));

-- A duplicate that brings its record up to date is a change of that record: `update`.
ALTER TABLE change DROP CONSTRAINT change_kind_check;
ALTER TABLE change ADD CONSTRAINT change_kind_check
    CHECK (kind IN ('forget', 'restore', 'update', 'visibility', 'purge', 'workspace.delete'));
