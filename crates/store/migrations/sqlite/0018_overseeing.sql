-- Why: people end a session of the console that they left open somewhere, and admins those of others: a session has an id that may
-- be shown, and says whose it is. The operator's sessions belong to no project. Of nodes nothing is stored here: there is one.
ALTER TABLE console_session ADD COLUMN id BLOB;
ALTER TABLE console_session ADD COLUMN project_id BLOB;
ALTER TABLE console_session ADD COLUMN member_id BLOB;
ALTER TABLE console_session ADD COLUMN key_id BLOB;
ALTER TABLE console_session ADD COLUMN browser TEXT;
CREATE INDEX console_session_project ON console_session (project_id, created_at) WHERE project_id IS NOT NULL;
