-- Why: the schema of the first release. Whatever a tenant owns is keyed by that tenant
-- first, so its rows lie together and no statement can wander into another's.
--
-- The tables and columns are SQLite's. Times are microseconds since 1970. An audience is one byte and, where it names
-- somebody, 16 more: 0 everybody of the project, 1 a department, 2 an author. Texts sort by their bytes (COLLATE "C"), so
-- that both engines list alike whatever the database's language is.
--
-- Row-level security is the second wall, behind the `WHERE project_id = ...` of every statement. A transaction says whose
-- rows it is about (`mnemon.project`, `mnemon.account`, and the two that are looked up before the tenant is known,
-- `mnemon.credential` and `mnemon.key`); what says nothing sees nothing. FORCE holds the owner of the tables to it too.
-- `mnemon.pass` opens the lists of accounts and projects for upkeep, and no memory; `copy` opens nothing. Statements that
-- serve several projects list them in `mnemon.batch`, in hexadecimal. A setting in a `SELECT` is read once for a statement, and
-- not again for each row. The server tries policies from the last name to the first: where `tenant` holds, which costs the
-- least, it does not ask `among_others`.
--
-- `mnemon_app` is the role that the service works as. It owns nothing. Another name can be configured and is put in here.

-- Whether an id is in a list of ids, 16 bytes each: its bytes are there, and begin where an id begins. The server reads such a
-- list at once, and one of texts id by id, again for each use of it in a statement: with 64 projects that took a sixth of a
-- batch's instructions. Less than one, not equal to zero: of that the planner would think that it holds for hardly any row.
CREATE FUNCTION is_among(id UUID, ids BYTEA) RETURNS BOOLEAN
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (position(uuid_send(id) IN ids) + 15) % 16 < 1;

CREATE TABLE account (
    id UUID NOT NULL PRIMARY KEY,
    plan TEXT COLLATE "C",
    paid_until BIGINT,
    is_suspended BOOLEAN NOT NULL,
    created_at BIGINT NOT NULL,
    guard_mode TEXT COLLATE "C",
    name TEXT COLLATE "C" NOT NULL,
    -- Changes, and only grows, with what records show besides themselves and with what a key stands for.
    account_version BIGINT NOT NULL DEFAULT 0
);

ALTER TABLE account ENABLE ROW LEVEL SECURITY;
ALTER TABLE account FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON account USING (id = (SELECT NULLIF(current_setting('mnemon.account', true), '')::uuid));
CREATE POLICY upkeep ON account FOR SELECT USING (current_setting('mnemon.pass', true) = 'upkeep');
CREATE POLICY looked_up ON account FOR SELECT USING (
    id = ANY ((SELECT NULLIF(current_setting('mnemon.accounts', true), '')::uuid[])::uuid[]));
CREATE POLICY among_others ON account FOR SELECT USING (
    is_among(id, (SELECT decode(current_setting('mnemon.batch_accounts', true), 'hex'))));
GRANT SELECT, INSERT, UPDATE, DELETE ON account TO mnemon_app;

-- One row: the token of the operator.
CREATE TABLE operator_token (
    id BIGINT NOT NULL PRIMARY KEY CHECK (id = 1),
    hash BYTEA NOT NULL,
    created_at BIGINT NOT NULL
);

GRANT SELECT, INSERT, UPDATE, DELETE ON operator_token TO mnemon_app;

CREATE TABLE department (
    account_id UUID NOT NULL REFERENCES account (id),
    id UUID NOT NULL,
    parent_id UUID,
    name TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (account_id, id),
    FOREIGN KEY (account_id, parent_id) REFERENCES department (account_id, id)
);

ALTER TABLE department ENABLE ROW LEVEL SECURITY;
ALTER TABLE department FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON department USING (account_id = (SELECT NULLIF(current_setting('mnemon.account', true), '')::uuid));
CREATE POLICY looked_up ON department FOR SELECT USING (
    account_id = ANY ((SELECT NULLIF(current_setting('mnemon.accounts', true), '')::uuid[])::uuid[]));
GRANT SELECT, INSERT, UPDATE, DELETE ON department TO mnemon_app;

CREATE TABLE member (
    account_id UUID NOT NULL REFERENCES account (id),
    id UUID NOT NULL,
    department_id UUID,
    role TEXT COLLATE "C" NOT NULL,
    access_until BIGINT,
    created_at BIGINT NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (account_id, id),
    FOREIGN KEY (account_id, department_id) REFERENCES department (account_id, id)
);

ALTER TABLE member ENABLE ROW LEVEL SECURITY;
ALTER TABLE member FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON member USING (account_id = (SELECT NULLIF(current_setting('mnemon.account', true), '')::uuid));
CREATE POLICY looked_up ON member FOR SELECT USING (
    account_id = ANY ((SELECT NULLIF(current_setting('mnemon.accounts', true), '')::uuid[])::uuid[]));
CREATE POLICY among_others ON member FOR SELECT USING (
    is_among(account_id, (SELECT decode(current_setting('mnemon.batch_accounts', true), 'hex'))));
GRANT SELECT, INSERT, UPDATE, DELETE ON member TO mnemon_app;

-- `seq` is how far the project's log has come: each writer locks this row, so commit order equals seq order.
-- `live_records` counts the records that are alive in living workspaces.
CREATE TABLE project (
    id UUID NOT NULL PRIMARY KEY,
    account_id UUID NOT NULL REFERENCES account (id),
    seq BIGINT NOT NULL,
    live_records BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    deleted_at BIGINT,
    name TEXT COLLATE "C" NOT NULL
);

-- Every save changes a project's row: room on its page keeps that from touching the indexes.
ALTER TABLE project SET (fillfactor = 50);

CREATE INDEX project_account ON project (account_id, created_at);

ALTER TABLE project ENABLE ROW LEVEL SECURITY;
ALTER TABLE project FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON project USING (
    id = (SELECT NULLIF(current_setting('mnemon.project', true), '')::uuid)
    OR account_id = (SELECT NULLIF(current_setting('mnemon.account', true), '')::uuid));
CREATE POLICY upkeep ON project FOR SELECT USING (current_setting('mnemon.pass', true) = 'upkeep');
CREATE POLICY looked_up ON project FOR SELECT USING (
    id = ANY ((SELECT NULLIF(current_setting('mnemon.projects', true), '')::uuid[])::uuid[]));
CREATE POLICY among_others ON project USING (is_among(id, (SELECT decode(current_setting('mnemon.batch', true), 'hex'))));
GRANT SELECT, INSERT, UPDATE, DELETE ON project TO mnemon_app;

-- The one table that is looked up before the tenant is known. A key is made for a member of its project's account, and
-- outlives that member, revoked: so no foreign key leads to the member.
CREATE TABLE api_key (
    id UUID NOT NULL PRIMARY KEY,
    hash BYTEA NOT NULL UNIQUE,
    project_id UUID NOT NULL,
    account_id UUID NOT NULL,
    member_id UUID NOT NULL,
    access TEXT COLLATE "C" NOT NULL,
    expires_at BIGINT,
    created_at BIGINT NOT NULL,
    revoked_at BIGINT,
    last_used_at BIGINT,
    label TEXT COLLATE "C",
    created_by UUID,
    workspace TEXT COLLATE "C",
    hint TEXT COLLATE "C",
    seen_at BIGINT,
    seen_client TEXT COLLATE "C",
    -- A link that shows the key once. Until it is opened, no secret leads to the key: its hash is of random bits.
    link_hash BYTEA UNIQUE,
    link_ends_at BIGINT,
    link_opened_at BIGINT
);

CREATE INDEX api_key_project ON api_key (project_id, created_at);

CREATE INDEX api_key_member ON api_key (account_id, member_id, created_at);

ALTER TABLE api_key ENABLE ROW LEVEL SECURITY;
ALTER TABLE api_key FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON api_key USING (
    project_id = (SELECT NULLIF(current_setting('mnemon.project', true), '')::uuid)
    OR account_id = (SELECT NULLIF(current_setting('mnemon.account', true), '')::uuid));
-- The uses of many projects' keys are noted together.
CREATE POLICY among_others ON api_key FOR SELECT USING (
    is_among(project_id, (SELECT decode(current_setting('mnemon.batch', true), 'hex'))));
CREATE POLICY among_others_used ON api_key FOR UPDATE USING (
    is_among(project_id, (SELECT decode(current_setting('mnemon.batch', true), 'hex'))));
CREATE POLICY presented ON api_key FOR SELECT USING (
    hash = decode(NULLIF(current_setting('mnemon.credential', true), ''), 'hex')
    OR link_hash = decode(NULLIF(current_setting('mnemon.credential', true), ''), 'hex')
    OR id = NULLIF(current_setting('mnemon.key', true), '')::uuid);
CREATE POLICY looked_up ON api_key FOR SELECT USING (
    hash = ANY ((SELECT NULLIF(current_setting('mnemon.hashes', true), '')::bytea[])::bytea[])
    OR id = ANY ((SELECT NULLIF(current_setting('mnemon.keys', true), '')::uuid[])::uuid[]));
GRANT SELECT, INSERT, UPDATE, DELETE ON api_key TO mnemon_app;

-- `no` names one life of a workspace: the seq of the save that brought it into being. Deleting one ends that life by this
-- row alone, however many records it has: they are dead because their workspace is, and each keeps what it was.
CREATE TABLE workspace (
    project_id UUID NOT NULL,
    no BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    deleted_at BIGINT,
    name TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (project_id, no)
);

CREATE UNIQUE INDEX workspace_living ON workspace (project_id, name) WHERE deleted_at IS NULL;
ALTER TABLE workspace ALTER project_id SET (n_distinct = 10);

ALTER TABLE workspace ENABLE ROW LEVEL SECURITY;
ALTER TABLE workspace FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON workspace USING (project_id = (SELECT NULLIF(current_setting('mnemon.project', true), '')::uuid));
CREATE POLICY among_others ON workspace USING (is_among(project_id, (SELECT decode(current_setting('mnemon.batch', true), 'hex'))));
GRANT SELECT, INSERT, UPDATE, DELETE ON workspace TO mnemon_app;

CREATE TABLE workspace_audience (
    project_id UUID NOT NULL,
    workspace_no BIGINT NOT NULL,
    audience BYTEA NOT NULL,
    PRIMARY KEY (project_id, workspace_no, audience)
);

ALTER TABLE workspace_audience ENABLE ROW LEVEL SECURITY;
ALTER TABLE workspace_audience FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON workspace_audience USING (project_id = (SELECT NULLIF(current_setting('mnemon.project', true), '')::uuid));
CREATE POLICY among_others ON workspace_audience USING (is_among(project_id, (SELECT decode(current_setting('mnemon.batch', true), 'hex'))));
GRANT SELECT, INSERT, UPDATE, DELETE ON workspace_audience TO mnemon_app;

-- `checksum` is two CRC-32: over what answers show, and over what indexes are built of.
CREATE TABLE record (
    project_id UUID NOT NULL,
    seq BIGINT NOT NULL,
    id UUID NOT NULL,
    workspace_no BIGINT NOT NULL,
    audience BYTEA NOT NULL,
    author_id UUID NOT NULL,
    department_id UUID,
    content_hash BYTEA NOT NULL,
    checksum BIGINT NOT NULL,
    is_key_given BOOLEAN NOT NULL,
    confidence DOUBLE PRECISION,
    valid_until BIGINT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    forgotten_at BIGINT,
    fact_key TEXT COLLATE "C" NOT NULL,
    source TEXT COLLATE "C",
    source_id TEXT COLLATE "C",
    source_hash TEXT COLLATE "C",
    source_revision TEXT COLLATE "C",
    content TEXT COLLATE "C" NOT NULL,
    embedding BYTEA NOT NULL,
    superseded_by UUID,
    is_cautioned BOOLEAN NOT NULL DEFAULT FALSE,
    -- One a line.
    tags TEXT COLLATE "C",
    -- As it was given.
    occurred_at TEXT COLLATE "C",
    -- With which key it was saved.
    key_id UUID,
    PRIMARY KEY (project_id, seq)
);

CREATE UNIQUE INDEX record_id ON record (project_id, id);
CREATE INDEX record_workspace ON record (project_id, workspace_no, seq) WHERE forgotten_at IS NULL;
CREATE INDEX record_source ON record (project_id, source_id, seq) WHERE source_id IS NOT NULL AND forgotten_at IS NULL;
-- Few records have an end.
CREATE INDEX record_ending ON record (project_id, seq) WHERE valid_until IS NOT NULL AND forgotten_at IS NULL;
-- Saves never touch it. It holds what the purge asks of every forgotten record, so that none is read for being young.
CREATE INDEX record_forgotten ON record (project_id, seq, workspace_no, forgotten_at) WHERE forgotten_at IS NOT NULL;
-- What a record has taken the place of.
CREATE INDEX record_superseded ON record (project_id, superseded_by) WHERE superseded_by IS NOT NULL;
-- The last ones, in this order: where indexes look equally good, as they do while the table is young, the server takes the
-- newest that it may, and keeps the plan. A look-up by content may not take the one of keys.
CREATE INDEX record_duplicate ON record (project_id, workspace_no, content_hash) WHERE forgotten_at IS NULL;
CREATE INDEX record_fact_key ON record (project_id, workspace_no, fact_key) WHERE is_key_given AND forgotten_at IS NULL;

-- The planner keeps samples of what it counts, and nothing may keep a text longer than its record.
ALTER TABLE record ALTER content SET STATISTICS 0, ALTER embedding SET STATISTICS 0;
-- Among many small projects the server would take any project, and any workspace of it, for a handful of rows, and read a
-- large one from end to end where another index leads to the row. Of these columns it is told that they say little.
ALTER TABLE record ALTER project_id SET (n_distinct = 2), ALTER workspace_no SET (n_distinct = 2);

ALTER TABLE record ENABLE ROW LEVEL SECURITY;
ALTER TABLE record FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON record USING (project_id = (SELECT NULLIF(current_setting('mnemon.project', true), '')::uuid));
CREATE POLICY among_others ON record USING (is_among(project_id, (SELECT decode(current_setting('mnemon.batch', true), 'hex'))));
GRANT SELECT, INSERT, UPDATE, DELETE ON record TO mnemon_app;

-- What happened to records after they were saved, in the same numbers as the saves: `update` when a duplicate brought one
-- up to date, `visibility` when others than before may see one, `purge` when one is gone for good. `record_seq` is empty where the workspace as a whole is meant.
CREATE TABLE change (
    project_id UUID NOT NULL,
    seq BIGINT NOT NULL,
    workspace_no BIGINT NOT NULL,
    kind TEXT COLLATE "C" NOT NULL CHECK (kind IN ('forget', 'restore', 'update', 'visibility', 'purge', 'workspace.delete')),
    record_seq BIGINT,
    at BIGINT NOT NULL,
    -- With which key a record was saved again, and the hash that it had before if that changed.
    key_id UUID,
    hash_before TEXT COLLATE "C",
    PRIMARY KEY (project_id, workspace_no, seq)
);

ALTER TABLE change ENABLE ROW LEVEL SECURITY;
ALTER TABLE change FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON change USING (project_id = (SELECT NULLIF(current_setting('mnemon.project', true), '')::uuid));
GRANT SELECT, INSERT, UPDATE, DELETE ON change TO mnemon_app;

-- What each audience knows of a source of a workspace. The row has its place in the log: a sighting that changes what is known
-- takes a seq. Without a `known_hash` the source is gone, to `moved_to` if that was told. `handed_seq` is the place where the
-- row became somebody else's, came along into another life of its workspace, or was confirmed as it was; 0 where none of it
-- happened.
CREATE TABLE source (
    project_id UUID NOT NULL,
    source_id TEXT COLLATE "C" NOT NULL,
    workspace_no BIGINT NOT NULL,
    audience BYTEA NOT NULL,
    known_seq BIGINT NOT NULL,
    confirmed_seq BIGINT NOT NULL,
    handed_seq BIGINT NOT NULL DEFAULT 0,
    known_at BIGINT NOT NULL,
    confirmed_at BIGINT,
    confirmed_by UUID,
    known_hash TEXT COLLATE "C",
    confirmed_hash TEXT COLLATE "C",
    moved_to TEXT COLLATE "C"
);

CREATE INDEX source_place ON source (project_id, workspace_no, GREATEST(known_seq, handed_seq));
-- What is confirmed is read as a whole, for counts by status.
CREATE INDEX source_confirmed ON source (project_id) WHERE confirmed_hash IS NOT NULL;
-- After the other indexes: where both look equally good, as they do while the table is young, the server takes the newest.
ALTER TABLE source ADD PRIMARY KEY (project_id, source_id, workspace_no, audience);

ALTER TABLE source ENABLE ROW LEVEL SECURITY;
ALTER TABLE source FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON source USING (project_id = (SELECT NULLIF(current_setting('mnemon.project', true), '')::uuid));
CREATE POLICY among_others ON source USING (is_among(project_id, (SELECT decode(current_setting('mnemon.batch', true), 'hex'))));
GRANT SELECT, INSERT, UPDATE, DELETE ON source TO mnemon_app;

-- Who looked at a source and saw something else than the look before: what histories tell. A few for each source of a
-- workspace. Without a hash the source was gone.
CREATE TABLE source_look (
    project_id UUID NOT NULL,
    source_id TEXT COLLATE "C" NOT NULL,
    workspace_no BIGINT NOT NULL,
    at BIGINT NOT NULL,
    key_id UUID,
    hash TEXT COLLATE "C",
    PRIMARY KEY (project_id, source_id, workspace_no, at)
);

ALTER TABLE source_look ENABLE ROW LEVEL SECURITY;
ALTER TABLE source_look FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON source_look USING (project_id = (SELECT NULLIF(current_setting('mnemon.project', true), '')::uuid));
GRANT SELECT, INSERT, UPDATE, DELETE ON source_look TO mnemon_app;

-- Keys are apart per member. `answer` is what the first call was answered, without any record text.
CREATE TABLE idempotency (
    project_id UUID NOT NULL,
    member_id UUID NOT NULL,
    key TEXT COLLATE "C" NOT NULL,
    arguments_hash BYTEA NOT NULL,
    record_seq BIGINT NOT NULL,
    was_duplicate BOOLEAN NOT NULL,
    created_at BIGINT NOT NULL,
    answer TEXT COLLATE "C",
    PRIMARY KEY (project_id, member_id, key)
);

CREATE INDEX idempotency_age ON idempotency (project_id, created_at);
ALTER TABLE idempotency ALTER project_id SET (n_distinct = 10);

ALTER TABLE idempotency ENABLE ROW LEVEL SECURITY;
ALTER TABLE idempotency FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON idempotency USING (project_id = (SELECT NULLIF(current_setting('mnemon.project', true), '')::uuid));
CREATE POLICY among_others ON idempotency USING (is_among(project_id, (SELECT decode(current_setting('mnemon.batch', true), 'hex'))));
GRANT SELECT, INSERT, UPDATE, DELETE ON idempotency TO mnemon_app;

CREATE TABLE audit (
    account_id UUID NOT NULL,
    at BIGINT NOT NULL,
    id UUID NOT NULL,
    project_id UUID,
    actor TEXT COLLATE "C" NOT NULL CHECK (actor IN ('member', 'operator', 'service')),
    member_id UUID,
    affected BIGINT NOT NULL,
    action TEXT COLLATE "C" NOT NULL,
    subject TEXT COLLATE "C" NOT NULL,
    actor_name TEXT COLLATE "C",
    subject_name TEXT COLLATE "C",
    key_id UUID,
    PRIMARY KEY (account_id, at, id)
);

-- What was done to one thing, for its history.
CREATE INDEX audit_subject ON audit (account_id, subject, at);

ALTER TABLE audit ENABLE ROW LEVEL SECURITY;
ALTER TABLE audit FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON audit USING (account_id = (SELECT NULLIF(current_setting('mnemon.account', true), '')::uuid));
GRANT SELECT, INSERT, UPDATE, DELETE ON audit TO mnemon_app;

-- A workspace's index as bytes, with the place of the log it stands for. The farthest counts; older ones are about to be
-- removed. Derived: any row may be dropped at any time.
CREATE TABLE snapshot (
    project_id UUID NOT NULL,
    workspace_no BIGINT NOT NULL,
    seq BIGINT NOT NULL,
    bytes BYTEA NOT NULL,
    id UUID NOT NULL DEFAULT gen_random_uuid(),
    PRIMARY KEY (project_id, workspace_no, id)
);

-- Megabytes that hardly shrink: trying to would cost the server more than storing them.
ALTER TABLE snapshot ALTER bytes SET STORAGE EXTERNAL;

ALTER TABLE snapshot ENABLE ROW LEVEL SECURITY;
ALTER TABLE snapshot FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON snapshot USING (project_id = (SELECT NULLIF(current_setting('mnemon.project', true), '')::uuid));
GRANT SELECT, INSERT, UPDATE, DELETE ON snapshot TO mnemon_app;

-- What each key did on each day, counted from 1970-01-01.
CREATE TABLE usage (
    project_id UUID NOT NULL,
    day INTEGER NOT NULL,
    key_id UUID NOT NULL,
    calls BIGINT NOT NULL,
    saves BIGINT NOT NULL,
    searches BIGINT NOT NULL,
    rejections BIGINT NOT NULL,
    bytes BIGINT NOT NULL,
    last_used_at BIGINT NOT NULL,
    refused_by_connection BIGINT NOT NULL DEFAULT 0,
    refused_by_project BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (project_id, day, key_id)
);

ALTER TABLE usage ENABLE ROW LEVEL SECURITY;
ALTER TABLE usage FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON usage USING (project_id = (SELECT NULLIF(current_setting('mnemon.project', true), '')::uuid));
CREATE POLICY among_others ON usage USING (is_among(project_id, (SELECT decode(current_setting('mnemon.batch', true), 'hex'))));
GRANT SELECT, INSERT, UPDATE, DELETE ON usage TO mnemon_app;

-- How many records a project had at the last figures of a day, as its plan counts them.
CREATE TABLE record_day (
    project_id UUID NOT NULL,
    day INTEGER NOT NULL,
    records BIGINT NOT NULL,
    PRIMARY KEY (project_id, day)
);

ALTER TABLE record_day ENABLE ROW LEVEL SECURITY;
ALTER TABLE record_day FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON record_day USING (project_id = (SELECT NULLIF(current_setting('mnemon.project', true), '')::uuid));
CREATE POLICY among_others ON record_day USING (is_among(project_id, (SELECT decode(current_setting('mnemon.batch', true), 'hex'))));
GRANT SELECT, INSERT, UPDATE, DELETE ON record_day TO mnemon_app;

-- The hashes of texts that may pass the guard because somebody has looked at them.
CREATE TABLE guard_release (
    project_id UUID NOT NULL,
    hash BYTEA NOT NULL,
    released_at BIGINT NOT NULL,
    PRIMARY KEY (project_id, hash)
);

ALTER TABLE guard_release ENABLE ROW LEVEL SECURITY;
ALTER TABLE guard_release FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON guard_release USING (project_id = (SELECT NULLIF(current_setting('mnemon.project', true), '')::uuid));
GRANT SELECT, INSERT, UPDATE, DELETE ON guard_release TO mnemon_app;

-- One row that is written to find out whether writing works.
CREATE TABLE heartbeat (
    id BIGINT NOT NULL PRIMARY KEY CHECK (id = 1),
    beats BIGINT NOT NULL
);

GRANT SELECT, INSERT, UPDATE, DELETE ON heartbeat TO mnemon_app;

-- The nodes that share this database, as each last told of itself. The operator sees which are up.
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

-- A person in the console. The row leads to the key that the session was made from, and every request checks that key.
CREATE TABLE console_session (
    hash BYTEA NOT NULL PRIMARY KEY,
    key_hash BYTEA NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    -- The key that it acts with since the person changed the project; the session ends with either key.
    acting_hash BYTEA,
    -- Whose it is. The operator's sessions have none of these.
    id UUID,
    project_id UUID,
    member_id UUID,
    key_id UUID,
    browser TEXT COLLATE "C"
);

CREATE INDEX console_session_project ON console_session (project_id, created_at) WHERE project_id IS NOT NULL;

ALTER TABLE console_session ENABLE ROW LEVEL SECURITY;
ALTER TABLE console_session FORCE ROW LEVEL SECURITY;
CREATE POLICY presented ON console_session USING (
    hash = decode(NULLIF(current_setting('mnemon.credential', true), ''), 'hex'));
CREATE POLICY upkeep ON console_session USING (current_setting('mnemon.pass', true) = 'upkeep');
CREATE POLICY tenant ON console_session USING (project_id = (SELECT NULLIF(current_setting('mnemon.project', true), '')::uuid));
GRANT SELECT, INSERT, UPDATE, DELETE ON console_session TO mnemon_app;

-- Looked up by hash before the tenant is known. A connection stands for a key and dies with it, without a write.
CREATE TABLE connection (
    id UUID NOT NULL PRIMARY KEY,
    hash BYTEA NOT NULL UNIQUE,
    project_id UUID NOT NULL,
    account_id UUID NOT NULL,
    member_id UUID NOT NULL,
    key_id UUID NOT NULL REFERENCES api_key (id),
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    revoked_at BIGINT,
    last_used_at BIGINT,
    client_id TEXT COLLATE "C" NOT NULL,
    client_name TEXT COLLATE "C",
    resource TEXT COLLATE "C" NOT NULL,
    redirect_uri TEXT COLLATE "C"
);

CREATE INDEX connection_project ON connection (project_id, created_at);
CREATE INDEX connection_client ON connection (client_id, expires_at);

ALTER TABLE connection ENABLE ROW LEVEL SECURITY;
ALTER TABLE connection FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON connection USING (
    project_id = (SELECT NULLIF(current_setting('mnemon.project', true), '')::uuid)
    OR account_id = (SELECT NULLIF(current_setting('mnemon.account', true), '')::uuid));
CREATE POLICY presented ON connection FOR SELECT USING (
    hash = decode(NULLIF(current_setting('mnemon.credential', true), ''), 'hex')
    OR id = NULLIF(current_setting('mnemon.key', true), '')::uuid);
CREATE POLICY upkeep ON connection USING (current_setting('mnemon.pass', true) = 'upkeep');
CREATE POLICY looked_up ON connection FOR SELECT USING (
    hash = ANY ((SELECT NULLIF(current_setting('mnemon.hashes', true), '')::bytea[])::bytea[]));
GRANT SELECT, INSERT, UPDATE, DELETE ON connection TO mnemon_app;

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
CREATE POLICY tenant ON integration USING (project_id = (SELECT NULLIF(current_setting('mnemon.project', true), '')::uuid));
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
    accepted_at BIGINT,
    accepted_definition TEXT COLLATE "C",
    PRIMARY KEY (project_id, integration, name)
);

ALTER TABLE integration_tool ENABLE ROW LEVEL SECURITY;
ALTER TABLE integration_tool FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON integration_tool USING (project_id = (SELECT NULLIF(current_setting('mnemon.project', true), '')::uuid));
GRANT SELECT, INSERT, UPDATE, DELETE ON integration_tool TO mnemon_app;

-- How a project's tools are named; without a row, with a dot.
CREATE TABLE tool_naming (
    project_id UUID NOT NULL PRIMARY KEY,
    style TEXT COLLATE "C" NOT NULL
);

ALTER TABLE tool_naming ENABLE ROW LEVEL SECURITY;
ALTER TABLE tool_naming FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON tool_naming USING (project_id = (SELECT NULLIF(current_setting('mnemon.project', true), '')::uuid));
GRANT SELECT, INSERT, UPDATE, DELETE ON tool_naming TO mnemon_app;

-- What one node let through lately: of a key or connection, or, where `counter_id` is the project's own id, of the whole
-- project. `calls` is a second and a count, over and over. It is worth nothing after a minute, so it is not logged.
CREATE UNLOGGED TABLE call_window (
    project_id UUID NOT NULL,
    counter_id UUID NOT NULL,
    node_id UUID NOT NULL,
    updated_at BIGINT NOT NULL,
    calls BYTEA NOT NULL,
    PRIMARY KEY (project_id, counter_id, node_id)
);

CREATE INDEX call_window_node ON call_window (node_id, updated_at);

ALTER TABLE call_window ENABLE ROW LEVEL SECURITY;
ALTER TABLE call_window FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON call_window FOR SELECT USING (
    project_id = (SELECT NULLIF(current_setting('mnemon.project', true), '')::uuid));
CREATE POLICY upkeep ON call_window USING (current_setting('mnemon.pass', true) = 'upkeep');
CREATE POLICY looked_up ON call_window FOR SELECT USING (
    project_id = ANY ((SELECT NULLIF(current_setting('mnemon.projects', true), '')::uuid[])::uuid[]));
GRANT SELECT, INSERT, UPDATE, DELETE ON call_window TO mnemon_app;

-- A session history, uploaded by its member's agent. `bytes` counts what was received, `kept_bytes` what is still kept of
-- it; `chain` is a hash over all lines received, and `last_start` with `last_chain` say where the last append began.
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
CREATE POLICY tenant ON session USING (project_id = (SELECT NULLIF(current_setting('mnemon.project', true), '')::uuid));
GRANT SELECT, INSERT, UPDATE, DELETE ON session TO mnemon_app;

-- A piece of a history: `start` and `size` in bytes as received, `body` compressed text.
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
CREATE POLICY tenant ON session_part USING (project_id = (SELECT NULLIF(current_setting('mnemon.project', true), '')::uuid));
GRANT SELECT, INSERT, UPDATE, DELETE ON session_part TO mnemon_app;

-- The database notes each change to what a key stands for, so that nodes can keep what they know of keys.
CREATE FUNCTION note_change_of_account() RETURNS TRIGGER
LANGUAGE plpgsql AS $$
BEGIN
    -- A time, not a count: after a failover that lost changes, a count would reach the same number again, for others.
    NEW.account_version := GREATEST(OLD.account_version + 1, (EXTRACT(EPOCH FROM clock_timestamp()) * 1000000)::bigint);
    RETURN NEW;
END
$$;

CREATE TRIGGER account_version BEFORE UPDATE ON account FOR EACH ROW EXECUTE FUNCTION note_change_of_account();

-- The writer of these rows may have opened a project or a single key, so the account is opened here, for this one change.
CREATE FUNCTION note_change_in_account() RETURNS TRIGGER
LANGUAGE plpgsql AS $$
DECLARE
    opened TEXT := COALESCE(current_setting('mnemon.account', true), '');
    changed UUID;
BEGIN
    -- A transfer copies what is, with no node running.
    IF current_setting('mnemon.pass', true) = 'copy' THEN
        RETURN NULL;
    END IF;
    IF TG_OP = 'INSERT' THEN
        changed := NEW.account_id;
    ELSE
        changed := OLD.account_id;
    END IF;
    PERFORM set_config('mnemon.account', changed::text, true);
    UPDATE account SET account_version = account_version + 1 WHERE id = changed;
    PERFORM set_config('mnemon.account', opened, true);
    RETURN NULL;
END
$$;

CREATE TRIGGER account_version AFTER INSERT OR UPDATE OR DELETE ON department
    FOR EACH ROW EXECUTE FUNCTION note_change_in_account();
CREATE TRIGGER account_version AFTER UPDATE OR DELETE ON member
    FOR EACH ROW EXECUTE FUNCTION note_change_in_account();
-- Not when a key was used: that changes nothing about it, and happens all the time.
CREATE TRIGGER account_version
    AFTER UPDATE OF id, hash, project_id, account_id, member_id, access, expires_at, revoked_at, workspace OR DELETE ON api_key
    FOR EACH ROW EXECUTE FUNCTION note_change_in_account();

-- Looks credentials up, many at once: takes on the service's role and opens what the presented hashes lead to.
CREATE FUNCTION look_up(app_role TEXT, lock_timeout_ms TEXT, keys BYTEA[], tokens BYTEA[], node UUID)
RETURNS TABLE (
    key_id UUID, access TEXT, expires_at BIGINT, is_revoked BOOLEAN, project_id UUID, account_id UUID, member_id UUID,
    seq BIGINT, is_deleted BOOLEAN, plan TEXT, paid_until BIGINT, is_suspended BOOLEAN,
    member_name TEXT, role TEXT, access_until BIGINT, department_id UUID, department_name TEXT, account_version BIGINT,
    workspace TEXT,
    departments UUID[], parents UUID[],
    connection_id UUID, key_hash BYTEA, client_id TEXT, resource TEXT, token_expires_at BIGINT, is_token_revoked BOOLEAN,
    asked BYTEA, counters UUID[], calls BYTEA[])
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    PERFORM set_config('role', app_role, true), set_config('lock_timeout', lock_timeout_ms, true),
        set_config('mnemon.hashes', (keys || tokens)::text, true),
        set_config('plan_cache_mode', 'force_generic_plan', true), set_config('jit', 'off', true),
        set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true),
        set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true);
    IF cardinality(tokens) = 0 THEN
        PERFORM set_config('mnemon.projects', COALESCE(array_agg(k.project_id), '{}')::text, true),
            set_config('mnemon.accounts', COALESCE(array_agg(DISTINCT k.account_id), '{}')::text, true)
        FROM api_key k
        WHERE k.hash = ANY (keys);
    ELSE
        PERFORM set_config('mnemon.keys', COALESCE(array_agg(c.key_id), '{}')::text, true)
        FROM connection c
        WHERE c.hash = ANY (tokens);
        PERFORM set_config('mnemon.projects', COALESCE(array_agg(q.project_id), '{}')::text, true),
            set_config('mnemon.accounts', COALESCE(array_agg(DISTINCT q.account_id), '{}')::text, true)
        FROM (
            SELECT k.project_id, k.account_id
            FROM api_key k
            WHERE k.hash = ANY (keys)
            UNION ALL
            SELECT k.project_id, k.account_id
            FROM api_key k
            WHERE k.id = ANY (NULLIF(current_setting('mnemon.keys', true), '')::uuid[])) AS q;
    END IF;
    RETURN QUERY
    SELECT k.id, k.access, k.expires_at, k.revoked_at IS NOT NULL, k.project_id, k.account_id, k.member_id,
        p.seq, p.deleted_at IS NOT NULL, a.plan, a.paid_until, a.is_suspended,
        m.name, m.role, m.access_until, m.department_id, t.name, a.account_version, k.workspace,
        COALESCE(t.ids, '{}'), COALESCE(t.parents, '{}'),
        NULL::uuid, k.hash, NULL::text, NULL::text, NULL::bigint, NULL::boolean,
        k.hash, COALESCE(w.counters, '{}'), COALESCE(w.calls, '{}')
    FROM api_key k
    JOIN project p ON p.id = k.project_id
    JOIN account a ON a.id = k.account_id
    JOIN member m ON m.account_id = k.account_id AND m.id = k.member_id
    CROSS JOIN LATERAL (
        SELECT array_agg(t.id) AS ids, array_agg(t.parent_id) AS parents,
            MAX(t.name) FILTER (WHERE t.id = m.department_id) AS name
        FROM department t
        WHERE m.department_id IS NOT NULL AND t.account_id = k.account_id) AS t
    CROSS JOIN LATERAL (
        SELECT array_agg(w.counter_id) AS counters, array_agg(w.calls) AS calls
        FROM call_window w
        WHERE w.project_id = k.project_id AND w.counter_id IN (k.id, k.project_id) AND w.node_id <> node) AS w
    WHERE k.hash = ANY (keys);
    IF cardinality(tokens) = 0 THEN
        RETURN;
    END IF;
    RETURN QUERY
    SELECT k.id, k.access, k.expires_at, k.revoked_at IS NOT NULL, k.project_id, k.account_id, k.member_id,
        p.seq, p.deleted_at IS NOT NULL, a.plan, a.paid_until, a.is_suspended,
        m.name, m.role, m.access_until, m.department_id, t.name, a.account_version, k.workspace,
        COALESCE(t.ids, '{}'), COALESCE(t.parents, '{}'),
        c.id, k.hash, c.client_id, c.resource, c.expires_at, c.revoked_at IS NOT NULL,
        c.hash, COALESCE(w.counters, '{}'), COALESCE(w.calls, '{}')
    FROM connection c
    JOIN api_key k ON k.id = c.key_id
    JOIN project p ON p.id = k.project_id
    JOIN account a ON a.id = k.account_id
    JOIN member m ON m.account_id = k.account_id AND m.id = k.member_id
    CROSS JOIN LATERAL (
        SELECT array_agg(t.id) AS ids, array_agg(t.parent_id) AS parents,
            MAX(t.name) FILTER (WHERE t.id = m.department_id) AS name
        FROM department t
        WHERE m.department_id IS NOT NULL AND t.account_id = k.account_id) AS t
    CROSS JOIN LATERAL (
        SELECT array_agg(w.counter_id) AS counters, array_agg(w.calls) AS calls
        FROM call_window w
        WHERE w.project_id = k.project_id AND w.counter_id IN (c.id, k.project_id) AND w.node_id <> node) AS w
    WHERE c.hash = ANY (tokens);
END
$$;

-- Returns which of the keys that a node knows have not changed, and where the logs end. A deleted project has no row.
CREATE FUNCTION look_again(
    app_role TEXT, lock_timeout_ms TEXT, keys UUID[], projects UUID[], accounts UUID[], node UUID)
RETURNS TABLE (nth BIGINT, seq BIGINT, account_version BIGINT, counters UUID[], calls BYTEA[])
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    PERFORM set_config('role', app_role, true), set_config('lock_timeout', lock_timeout_ms, true),
        set_config('mnemon.projects', projects::text, true), set_config('mnemon.accounts', accounts::text, true),
        set_config('plan_cache_mode', 'force_generic_plan', true), set_config('jit', 'off', true),
        set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true),
        set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true);
    RETURN QUERY
    SELECT g.nth, p.seq, a.account_version, COALESCE(w.counters, '{}'), COALESCE(w.calls, '{}')
    FROM unnest(keys, projects) WITH ORDINALITY AS g (key_id, project_id, nth)
    JOIN project p ON p.id = g.project_id
    JOIN account a ON a.id = p.account_id
    CROSS JOIN LATERAL (
        SELECT array_agg(w.counter_id) AS counters, array_agg(w.calls) AS calls
        FROM call_window w
        WHERE w.project_id = g.project_id AND w.counter_id IN (g.key_id, g.project_id) AND w.node_id <> node) AS w
    WHERE p.deleted_at IS NULL;
END
$$;

-- Locks the projects of saves that are stored together, and finds what decides about each of them. A project whose
-- lock somebody else holds is left out, unless the caller waits for it. First come the projects that are locked now,
-- then the saves of those projects, by their places, which count from one. `ids` is empty unless a save may be stored
-- already.
CREATE FUNCTION look_over_saves(
    projects UUID[], waits BOOLEAN, of_projects UUID[], ids UUID[], authors UUID[], names TEXT[], hashes BYTEA[],
    audiences BYTEA[], sources TEXT[], source_ids TEXT[], key_members UUID[], keys TEXT[], keys_since BIGINT[])
RETURNS TABLE (
    nth BIGINT, project_id UUID, seq BIGINT, live_records BIGINT, has_author BOOLEAN, workspace_no BIGINT,
    workspaces BIGINT, duplicate BIGINT, own_seq BIGINT, own_workspace_no BIGINT, arguments_hash BYTEA,
    record_seq BIGINT, was_duplicate BOOLEAN, answer TEXT)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    locked UUID[];
    ends BIGINT[];
    counts BIGINT[];
    accounts UUID[];
    opened BYTEA;
    was_set TEXT;
BEGIN
    -- Also for the statements that come after this one. An assignment costs a fraction of a query.
    was_set := set_config('plan_cache_mode', 'force_generic_plan', true);
    -- The lock comes first: what is read after it sees everything that was written under it.
    IF waits THEN
        SELECT array_agg(p.id), array_agg(p.seq), array_agg(p.live_records), array_agg(p.account_id),
            string_agg(uuid_send(p.account_id), '')
        INTO locked, ends, counts, accounts, opened
        FROM (
            SELECT p.id, p.seq, p.live_records, p.account_id
            FROM project p
            WHERE p.id = ANY (projects) AND p.deleted_at IS NULL
            ORDER BY p.id
            FOR NO KEY UPDATE) AS p;
    ELSE
        SELECT array_agg(p.id), array_agg(p.seq), array_agg(p.live_records), array_agg(p.account_id),
            string_agg(uuid_send(p.account_id), '')
        INTO locked, ends, counts, accounts, opened
        FROM (
            SELECT p.id, p.seq, p.live_records, p.account_id
            FROM project p
            WHERE p.id = ANY (projects) AND p.deleted_at IS NULL
            ORDER BY p.id
            FOR NO KEY UPDATE SKIP LOCKED) AS p;
    END IF;
    IF locked IS NULL THEN
        RETURN;
    END IF;
    was_set := set_config('mnemon.batch_accounts', encode(opened, 'hex'), true);
    RETURN QUERY
    SELECT NULL::bigint, g.id, g.seq, g.live_records, NULL::boolean, NULL::bigint, NULL::bigint, NULL::bigint,
        NULL::bigint, NULL::bigint, NULL::bytea, NULL::bigint, NULL::boolean, NULL::text
    FROM (SELECT unnest(locked) AS id, unnest(ends) AS seq, unnest(counts) AS live_records) AS g;
    -- LATERAL with a limit looks up each value on its own; with any other join, the server may read all records per
    -- value. Columns are unnested side by side: as a source of rows, each would be stored first. A sum as the order of
    -- duplicates keeps the server from reading a whole log in its order until it finds one.
    RETURN QUERY
    SELECT g.nth, g.project_id, NULL::bigint, NULL::bigint, m.one IS NOT NULL, w.no, c.count, d.seq, r.seq,
        r.workspace_no, i.arguments_hash, i.record_seq, i.was_duplicate, i.answer
    FROM (
        SELECT unnest(of_projects) AS project_id, unnest(ids) AS id, unnest(authors) AS author_id,
            unnest(names) AS name, unnest(hashes) AS hash, unnest(audiences) AS audience, unnest(sources) AS source,
            unnest(source_ids) AS source_id, unnest(key_members) AS key_member_id, unnest(keys) AS key,
            unnest(keys_since) AS key_since, generate_series(1::bigint, cardinality(of_projects)) AS nth) AS g
    LEFT JOIN LATERAL (
        SELECT w.no
        FROM workspace w
        WHERE w.project_id = g.project_id AND w.name = g.name AND w.deleted_at IS NULL
        LIMIT 1) AS w ON TRUE
    LEFT JOIN LATERAL (
        SELECT COUNT(*) AS count
        FROM workspace c
        WHERE w.no IS NULL AND c.project_id = g.project_id AND c.deleted_at IS NULL) AS c ON TRUE
    LEFT JOIN LATERAL (
        SELECT d.seq
        FROM record d
        WHERE d.project_id = g.project_id AND d.workspace_no = w.no AND d.content_hash = g.hash
            AND d.forgotten_at IS NULL AND d.audience = g.audience AND d.source IS NOT DISTINCT FROM g.source
            AND d.source_id IS NOT DISTINCT FROM g.source_id
        ORDER BY d.seq + 0
        LIMIT 1) AS d ON TRUE
    LEFT JOIN LATERAL (
        SELECT r.seq, r.workspace_no
        FROM record r
        WHERE r.project_id = g.project_id AND r.id = g.id
        LIMIT 1) AS r ON TRUE
    LEFT JOIN LATERAL (
        SELECT i.arguments_hash, i.record_seq, i.was_duplicate, i.answer
        FROM idempotency i
        WHERE i.project_id = g.project_id AND i.member_id = g.key_member_id AND i.key = g.key
            AND i.created_at >= g.key_since
        LIMIT 1) AS i ON TRUE
    LEFT JOIN LATERAL (
        SELECT 1 AS one
        FROM member m
        WHERE m.account_id = accounts[array_position(locked, g.project_id)] AND m.id = g.author_id
        LIMIT 1) AS m ON TRUE
    WHERE g.project_id = ANY (locked);
END
$$;
