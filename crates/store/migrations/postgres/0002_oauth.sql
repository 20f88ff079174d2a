-- Why: web clients can't hold a key; a person grants them access by OAuth. Secrets are kept as hashes.
--
-- Codes and connections are looked up by their hash before the tenant is known (`mnemon.credential`); what is found opens
-- the key that it stands for (`mnemon.key`). Upkeep removes what ended, and notes when connections were used.

-- Programs that asked to be connected, before anybody's account is known. `redirect_uris` has one on each line.
CREATE TABLE oauth_client (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    kind TEXT COLLATE "C" NOT NULL CHECK (kind IN ('registered', 'document')),
    known_at BIGINT NOT NULL,
    name TEXT COLLATE "C",
    redirect_uris TEXT COLLATE "C" NOT NULL
);

GRANT SELECT, INSERT, UPDATE, DELETE ON oauth_client TO mnemon_app;

-- Looked up before the tenant is known, as keys are. `connection_id` is what the first use made.
CREATE TABLE oauth_code (
    hash BYTEA NOT NULL PRIMARY KEY,
    key_id UUID NOT NULL REFERENCES api_key (id),
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    used_at BIGINT,
    connection_id UUID,
    challenge TEXT COLLATE "C" NOT NULL,
    client_id TEXT COLLATE "C" NOT NULL,
    client_name TEXT COLLATE "C",
    redirect_uri TEXT COLLATE "C" NOT NULL,
    resource TEXT COLLATE "C" NOT NULL
);

ALTER TABLE oauth_code ENABLE ROW LEVEL SECURITY;
ALTER TABLE oauth_code FORCE ROW LEVEL SECURITY;
CREATE POLICY presented ON oauth_code USING (
    hash = decode(NULLIF(current_setting('mnemon.credential', true), ''), 'hex'));
CREATE POLICY upkeep ON oauth_code USING (current_setting('mnemon.pass', true) = 'upkeep');
GRANT SELECT, INSERT, UPDATE, DELETE ON oauth_code TO mnemon_app;

-- Looked up by hash before the tenant is known. A connection stands for a key and dies with it, without a write.
CREATE TABLE connection (
    id UUID NOT NULL PRIMARY KEY,
    hash BYTEA NOT NULL UNIQUE,
    project_id UUID NOT NULL REFERENCES project (id),
    account_id UUID NOT NULL,
    member_id UUID NOT NULL,
    key_id UUID NOT NULL REFERENCES api_key (id),
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    revoked_at BIGINT,
    last_used_at BIGINT,
    client_id TEXT COLLATE "C" NOT NULL,
    client_name TEXT COLLATE "C",
    resource TEXT COLLATE "C" NOT NULL
);

CREATE INDEX connection_project ON connection (project_id, created_at);
CREATE INDEX connection_client ON connection (client_id, expires_at);

ALTER TABLE connection ENABLE ROW LEVEL SECURITY;
ALTER TABLE connection FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON connection USING (
    project_id = NULLIF(current_setting('mnemon.project', true), '')::uuid
    OR account_id = NULLIF(current_setting('mnemon.account', true), '')::uuid);
CREATE POLICY presented ON connection FOR SELECT USING (
    hash = decode(NULLIF(current_setting('mnemon.credential', true), ''), 'hex')
    OR id = NULLIF(current_setting('mnemon.key', true), '')::uuid);
CREATE POLICY upkeep ON connection USING (current_setting('mnemon.pass', true) = 'upkeep');
GRANT SELECT, INSERT, UPDATE, DELETE ON connection TO mnemon_app;
