-- Why: people look at what the service knows. A key is told apart by its last characters, and shows which program last spoke
-- with it; a connection shows where it returns to; an audit row keeps the names of its day; usage counts the calls that a
-- limit refused, and how many records lived on each day.
ALTER TABLE api_key ADD COLUMN hint TEXT;
ALTER TABLE api_key ADD COLUMN seen_at INTEGER;
ALTER TABLE api_key ADD COLUMN seen_client TEXT;
ALTER TABLE connection ADD COLUMN redirect_uri TEXT;
ALTER TABLE audit ADD COLUMN actor_name TEXT;
ALTER TABLE audit ADD COLUMN subject_name TEXT;
ALTER TABLE usage ADD COLUMN refused_by_connection INTEGER NOT NULL DEFAULT 0;
ALTER TABLE usage ADD COLUMN refused_by_project INTEGER NOT NULL DEFAULT 0;

-- How many records a project had at the last figures of a day, as its plan counts them.
CREATE TABLE record_day (
    project_id BLOB NOT NULL,
    day INTEGER NOT NULL,
    records INTEGER NOT NULL,
    PRIMARY KEY (project_id, day)
) STRICT, WITHOUT ROWID;
