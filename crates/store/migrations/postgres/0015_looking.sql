-- Why: people look at what the service knows. A key is told apart by its last characters, and shows which program last spoke
-- with it; a connection shows where it returns to; an audit row keeps the names of its day; usage counts the calls that a
-- limit refused, and how many records lived on each day.
ALTER TABLE api_key ADD COLUMN hint TEXT COLLATE "C";
ALTER TABLE api_key ADD COLUMN seen_at BIGINT;
ALTER TABLE api_key ADD COLUMN seen_client TEXT COLLATE "C";
ALTER TABLE connection ADD COLUMN redirect_uri TEXT COLLATE "C";
ALTER TABLE audit ADD COLUMN actor_name TEXT COLLATE "C";
ALTER TABLE audit ADD COLUMN subject_name TEXT COLLATE "C";
ALTER TABLE usage ADD COLUMN refused_by_connection BIGINT NOT NULL DEFAULT 0;
ALTER TABLE usage ADD COLUMN refused_by_project BIGINT NOT NULL DEFAULT 0;

-- How many records a project had at the last figures of a day, as its plan counts them.
CREATE TABLE record_day (
    project_id UUID NOT NULL,
    day INTEGER NOT NULL,
    records BIGINT NOT NULL,
    PRIMARY KEY (project_id, day)
);

ALTER TABLE record_day ENABLE ROW LEVEL SECURITY;
ALTER TABLE record_day FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON record_day USING (project_id = NULLIF(current_setting('mnemon.project', true), '')::uuid);
GRANT SELECT, INSERT, UPDATE, DELETE ON record_day TO mnemon_app;
