-- Why: web clients can't hold a key; a person grants them access by OAuth. Secrets are kept as hashes.

-- Programs that asked to be connected, before anybody's account is known. `redirect_uris` has one on each line.
CREATE TABLE oauth_client (
    id TEXT NOT NULL PRIMARY KEY,
    kind TEXT NOT NULL CHECK (kind IN ('registered', 'document')),
    known_at INTEGER NOT NULL,
    name TEXT,
    redirect_uris TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Looked up before the tenant is known, as keys are. `connection_id` is what the first use made.
CREATE TABLE oauth_code (
    hash BLOB NOT NULL PRIMARY KEY,
    key_id BLOB NOT NULL REFERENCES api_key (id),
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    used_at INTEGER,
    connection_id BLOB,
    challenge TEXT NOT NULL,
    client_id TEXT NOT NULL,
    client_name TEXT,
    redirect_uri TEXT NOT NULL,
    resource TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Looked up by hash before the tenant is known. A connection stands for a key and dies with it, without a write.
CREATE TABLE connection (
    id BLOB NOT NULL PRIMARY KEY,
    hash BLOB NOT NULL UNIQUE,
    project_id BLOB NOT NULL REFERENCES project (id),
    account_id BLOB NOT NULL,
    member_id BLOB NOT NULL,
    key_id BLOB NOT NULL REFERENCES api_key (id),
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    revoked_at INTEGER,
    last_used_at INTEGER,
    client_id TEXT NOT NULL,
    client_name TEXT,
    resource TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX connection_project ON connection (project_id, created_at);
CREATE INDEX connection_client ON connection (client_id, expires_at);
