-- Why: integrations. A project has other systems' tools beside its memory; what each is, its sealed credential, and its tools
-- as they were last seen and as an admin accepted them.

-- `sealed` is the credential, encrypted with a key that storage never sees. `allow` has one name per line. Upkeep reads the
-- sealed ones of everybody, to see at the start that the keys fit, and when keys change.
CREATE TABLE integration (
    project_id UUID NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    revision BIGINT NOT NULL,
    is_enabled BOOLEAN NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    seen_at BIGINT,
    title TEXT COLLATE "C" NOT NULL,
    preset TEXT COLLATE "C",
    transport TEXT COLLATE "C" NOT NULL CHECK (transport IN ('http', 'command')),
    address TEXT COLLATE "C" NOT NULL,
    allow TEXT COLLATE "C" NOT NULL,
    sealed BYTEA,
    PRIMARY KEY (project_id, name)
);

ALTER TABLE integration ENABLE ROW LEVEL SECURITY;
ALTER TABLE integration FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON integration USING (project_id = NULLIF(current_setting('mnemon.project', true), '')::uuid);
CREATE POLICY upkeep ON integration FOR SELECT USING (current_setting('mnemon.pass', true) = 'upkeep');
GRANT SELECT, INSERT, UPDATE, DELETE ON integration TO mnemon_app;

-- A tool that is gone keeps its row, so that it can't come back changed and unseen.
CREATE TABLE integration_tool (
    project_id UUID NOT NULL,
    integration TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    is_present BOOLEAN NOT NULL,
    hash BYTEA NOT NULL,
    accepted_hash BYTEA,
    refused_text BYTEA,
    definition TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (project_id, integration, name)
);

ALTER TABLE integration_tool ENABLE ROW LEVEL SECURITY;
ALTER TABLE integration_tool FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON integration_tool USING (project_id = NULLIF(current_setting('mnemon.project', true), '')::uuid);
GRANT SELECT, INSERT, UPDATE, DELETE ON integration_tool TO mnemon_app;

-- How a project's tools are named; without a row, with a dot.
CREATE TABLE tool_naming (
    project_id UUID NOT NULL PRIMARY KEY,
    style TEXT COLLATE "C" NOT NULL
);

ALTER TABLE tool_naming ENABLE ROW LEVEL SECURITY;
ALTER TABLE tool_naming FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON tool_naming USING (project_id = NULLIF(current_setting('mnemon.project', true), '')::uuid);
GRANT SELECT, INSERT, UPDATE, DELETE ON tool_naming TO mnemon_app;
