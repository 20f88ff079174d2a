-- Why: the local agent uploads session histories, which only ever grow at their end. A session counts what it was given
-- (`bytes`) apart from what is still kept of it (`kept_bytes`): when the plan's volume is full the oldest parts go, and the
-- agent must not send them again. `chain` is a hash over all lines received, `last_start` and `last_chain` say where the
-- last append began, so that a repeated one is known. `body` is compressed text.

CREATE TABLE session (
    project_id BLOB NOT NULL,
    id BLOB NOT NULL,
    member_id BLOB NOT NULL,
    bytes INTEGER NOT NULL,
    kept_bytes INTEGER NOT NULL,
    redacted INTEGER NOT NULL,
    chain BLOB NOT NULL,
    last_start INTEGER NOT NULL,
    last_chain BLOB NOT NULL,
    modified_at INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    client TEXT NOT NULL,
    name TEXT NOT NULL,
    PRIMARY KEY (project_id, id)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX session_name ON session (project_id, member_id, client, name);

CREATE TABLE session_part (
    project_id BLOB NOT NULL,
    session_id BLOB NOT NULL,
    start INTEGER NOT NULL,
    size INTEGER NOT NULL,
    kept_bytes INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (project_id, session_id, start)
) STRICT, WITHOUT ROWID;
