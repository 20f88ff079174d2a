-- Why: integrations. A project has other systems' tools beside its memory; what each is, its sealed credential, and its tools
-- as they were last seen and as an admin accepted them.

-- `sealed` is the credential, encrypted with a key that storage never sees. `allow` has one name per line.
CREATE TABLE integration (
    project_id BLOB NOT NULL,
    name TEXT NOT NULL,
    revision INTEGER NOT NULL,
    is_enabled INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    seen_at INTEGER,
    title TEXT NOT NULL,
    preset TEXT,
    transport TEXT NOT NULL CHECK (transport IN ('http', 'command')),
    address TEXT NOT NULL,
    allow TEXT NOT NULL,
    sealed BLOB,
    PRIMARY KEY (project_id, name)
) STRICT, WITHOUT ROWID;

-- A tool that is gone keeps its row, so that it can't come back changed and unseen.
CREATE TABLE integration_tool (
    project_id BLOB NOT NULL,
    integration TEXT NOT NULL,
    name TEXT NOT NULL,
    is_present INTEGER NOT NULL,
    hash BLOB NOT NULL,
    accepted_hash BLOB,
    refused_text BLOB,
    definition TEXT NOT NULL,
    PRIMARY KEY (project_id, integration, name)
) STRICT, WITHOUT ROWID;

-- How a project's tools are named; without a row, with a dot.
CREATE TABLE tool_naming (
    project_id BLOB NOT NULL PRIMARY KEY,
    style TEXT NOT NULL
) STRICT, WITHOUT ROWID;
