-- Why: people end a session of the console that they left open somewhere, and admins those of others: a session has an id that may
-- be shown, and says whose it is. The operator's sessions belong to no project. The operator sees which nodes are up: each
-- tells it of itself.
ALTER TABLE console_session ADD COLUMN id UUID;
ALTER TABLE console_session ADD COLUMN project_id UUID;
ALTER TABLE console_session ADD COLUMN member_id UUID;
ALTER TABLE console_session ADD COLUMN key_id UUID;
ALTER TABLE console_session ADD COLUMN browser TEXT COLLATE "C";
CREATE INDEX console_session_project ON console_session (project_id, created_at) WHERE project_id IS NOT NULL;
CREATE POLICY tenant ON console_session USING (project_id = NULLIF(current_setting('mnemon.project', true), '')::uuid);

CREATE TABLE node (
    id UUID NOT NULL PRIMARY KEY,
    started_at BIGINT NOT NULL,
    seen_at BIGINT NOT NULL,
    index_bytes BIGINT NOT NULL,
    index_bytes_max BIGINT NOT NULL,
    calls_per_minute BIGINT NOT NULL,
    storage_micros BIGINT,
    name TEXT COLLATE "C" NOT NULL,
    version TEXT COLLATE "C" NOT NULL
);

GRANT SELECT, INSERT, UPDATE, DELETE ON node TO mnemon_app;
