-- Why: a record may take the place of others by one act. What was replaced is forgotten, knows by what, and is restored as
-- any forgotten record. The index answers what a record has replaced, when its save is repeated.
ALTER TABLE record ADD COLUMN superseded_by BLOB;
CREATE INDEX record_superseded ON record (project_id, superseded_by) WHERE superseded_by IS NOT NULL;
