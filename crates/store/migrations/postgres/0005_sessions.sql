-- Why: the local agent uploads session histories, which only ever grow at their end. A session counts what it was given
-- (`bytes`) apart from what is still kept of it (`kept_bytes`): when the plan's volume is full the oldest parts go, and the
-- agent must not send them again. `chain` is a hash over all lines received, `last_start` and `last_chain` say where the
-- last append began, so that a repeated one is known. `body` is compressed text.

CREATE TABLE session (
    project_id UUID NOT NULL,
    id UUID NOT NULL,
    member_id UUID NOT NULL,
    bytes BIGINT NOT NULL,
    kept_bytes BIGINT NOT NULL,
    redacted BIGINT NOT NULL,
    chain BYTEA NOT NULL,
    last_start BIGINT NOT NULL,
    last_chain BYTEA NOT NULL,
    modified_at BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    client TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (project_id, id)
);

CREATE UNIQUE INDEX session_name ON session (project_id, member_id, client, name);

ALTER TABLE session ENABLE ROW LEVEL SECURITY;
ALTER TABLE session FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON session USING (project_id = NULLIF(current_setting('mnemon.project', true), '')::uuid);
GRANT SELECT, INSERT, UPDATE, DELETE ON session TO mnemon_app;

CREATE TABLE session_part (
    project_id UUID NOT NULL,
    session_id UUID NOT NULL,
    start BIGINT NOT NULL,
    size BIGINT NOT NULL,
    kept_bytes BIGINT NOT NULL,
    body BYTEA NOT NULL,
    PRIMARY KEY (project_id, session_id, start)
);

ALTER TABLE session_part ENABLE ROW LEVEL SECURITY;
ALTER TABLE session_part FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON session_part USING (project_id = NULLIF(current_setting('mnemon.project', true), '')::uuid);
GRANT SELECT, INSERT, UPDATE, DELETE ON session_part TO mnemon_app;
