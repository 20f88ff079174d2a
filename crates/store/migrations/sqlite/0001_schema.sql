-- Why: the schema of the first release. Whatever a tenant owns is keyed by that tenant
-- first, so its rows lie together and no statement can wander into another's.
--
-- Times are microseconds since 1970. Ids are the 16 bytes of a UUID. An audience is one byte and, where it names somebody,
-- 16 more: 0 everybody of the project, 1 a department, 2 an author.
--
-- The tables that hold memory have no foreign keys: the one writer has the project and the workspace in its hands when it
-- writes a row, and a lookup per row would only repeat that.

CREATE TABLE account (
    id BLOB NOT NULL PRIMARY KEY,
    plan TEXT,
    paid_until INTEGER,
    is_suspended INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    guard_mode TEXT,
    name TEXT NOT NULL,
    -- Counts the changes of what records show besides themselves.
    account_version INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

-- One row: the token of the operator.
CREATE TABLE operator_token (
    id INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    hash BLOB NOT NULL,
    created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE department (
    account_id BLOB NOT NULL REFERENCES account (id),
    id BLOB NOT NULL,
    parent_id BLOB,
    name TEXT NOT NULL,
    PRIMARY KEY (account_id, id),
    FOREIGN KEY (account_id, parent_id) REFERENCES department (account_id, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE member (
    account_id BLOB NOT NULL REFERENCES account (id),
    id BLOB NOT NULL,
    department_id BLOB,
    role TEXT NOT NULL,
    access_until INTEGER,
    created_at INTEGER NOT NULL,
    name TEXT NOT NULL,
    PRIMARY KEY (account_id, id),
    FOREIGN KEY (account_id, department_id) REFERENCES department (account_id, id)
) STRICT, WITHOUT ROWID;

-- `seq` is how far the project's log has come. `live_records` counts the records that are alive in living workspaces.
CREATE TABLE project (
    id BLOB NOT NULL PRIMARY KEY,
    account_id BLOB NOT NULL REFERENCES account (id),
    seq INTEGER NOT NULL,
    live_records INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    deleted_at INTEGER,
    name TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX project_account ON project (account_id, created_at);

-- The one table that is looked up before the tenant is known. A key is made for a member of its project's account, and
-- outlives that member, revoked: so no foreign key leads to the member.
CREATE TABLE api_key (
    id BLOB NOT NULL PRIMARY KEY,
    hash BLOB NOT NULL UNIQUE,
    project_id BLOB NOT NULL REFERENCES project (id),
    account_id BLOB NOT NULL,
    member_id BLOB NOT NULL,
    access TEXT NOT NULL,
    expires_at INTEGER,
    created_at INTEGER NOT NULL,
    revoked_at INTEGER,
    last_used_at INTEGER,
    label TEXT,
    created_by BLOB,
    workspace TEXT,
    hint TEXT,
    seen_at INTEGER,
    seen_client TEXT,
    -- A link that shows the key once. Until it is opened, no secret leads to the key: its hash is of random bits.
    link_hash BLOB UNIQUE,
    link_ends_at INTEGER,
    link_opened_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX api_key_project ON api_key (project_id, created_at);

CREATE INDEX api_key_member ON api_key (account_id, member_id, created_at);

-- `no` names one life of a workspace: the seq of the save that brought it into being. Deleting one ends that life by this
-- row alone, however many records it has: they are dead because their workspace is, and each keeps what it was.
CREATE TABLE workspace (
    project_id BLOB NOT NULL,
    no INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    deleted_at INTEGER,
    name TEXT NOT NULL,
    PRIMARY KEY (project_id, no)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX workspace_living ON workspace (project_id, name) WHERE deleted_at IS NULL;

CREATE TABLE workspace_audience (
    project_id BLOB NOT NULL,
    workspace_no INTEGER NOT NULL,
    audience BLOB NOT NULL,
    PRIMARY KEY (project_id, workspace_no, audience)
) STRICT, WITHOUT ROWID;

-- The small columns come first: a row is cut into overflow pages from its end, so judging many records reads none of
-- their texts. `checksum` is two CRC-32: over what answers show, and over what indexes are built of.
CREATE TABLE record (
    project_id BLOB NOT NULL,
    seq INTEGER NOT NULL,
    id BLOB NOT NULL,
    workspace_no INTEGER NOT NULL,
    audience BLOB NOT NULL,
    author_id BLOB NOT NULL,
    department_id BLOB,
    content_hash BLOB NOT NULL,
    checksum INTEGER NOT NULL,
    is_key_given INTEGER NOT NULL,
    confidence REAL,
    valid_until INTEGER,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    forgotten_at INTEGER,
    fact_key TEXT NOT NULL,
    source TEXT,
    source_id TEXT,
    source_hash TEXT,
    source_revision TEXT,
    content TEXT NOT NULL,
    embedding BLOB NOT NULL,
    superseded_by BLOB,
    is_cautioned INTEGER NOT NULL DEFAULT 0,
    -- One a line.
    tags TEXT,
    -- As it was given.
    occurred_at TEXT,
    -- With which key it was saved.
    key_id BLOB,
    PRIMARY KEY (project_id, seq)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX record_id ON record (project_id, id);
CREATE INDEX record_duplicate ON record (project_id, workspace_no, content_hash) WHERE forgotten_at IS NULL;
CREATE INDEX record_workspace ON record (project_id, workspace_no, seq) WHERE forgotten_at IS NULL;
CREATE INDEX record_source ON record (project_id, source_id, seq) WHERE source_id IS NOT NULL AND forgotten_at IS NULL;
-- Few records have an end.
CREATE INDEX record_ending ON record (project_id, seq) WHERE valid_until IS NOT NULL AND forgotten_at IS NULL;
CREATE INDEX record_fact_key ON record (project_id, workspace_no, fact_key)
    WHERE is_key_given = 1 AND forgotten_at IS NULL;
-- Saves never touch it. It holds what the purge asks of every forgotten record, so that none is read for being young.
CREATE INDEX record_forgotten ON record (project_id, seq, workspace_no, forgotten_at) WHERE forgotten_at IS NOT NULL;
-- What a record has taken the place of.
CREATE INDEX record_superseded ON record (project_id, superseded_by) WHERE superseded_by IS NOT NULL;

-- What happened to records after they were saved, in the same numbers as the saves: `update` when a duplicate brought one
-- up to date, `visibility` when others than before may see one, `purge` when one is gone for good. `record_seq` is empty where the workspace as a whole is meant.
CREATE TABLE "change" (
    project_id BLOB NOT NULL,
    seq INTEGER NOT NULL,
    workspace_no INTEGER NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('forget', 'restore', 'update', 'visibility', 'purge', 'workspace.delete')),
    record_seq INTEGER,
    at INTEGER NOT NULL,
    -- With which key a record was saved again, and the hash that it had before if that changed.
    key_id BLOB,
    hash_before TEXT,
    PRIMARY KEY (project_id, workspace_no, seq)
) STRICT, WITHOUT ROWID;

-- What each audience knows of a source of a workspace. The row has its place in the log: a sighting that changes what is known
-- takes a seq. Without a `known_hash` the source is gone, to `moved_to` if that was told. `handed_seq` is the place where the
-- row became somebody else's, came along into another life of its workspace, or was confirmed as it was; 0 where none of it
-- happened.
CREATE TABLE source (
    project_id BLOB NOT NULL,
    source_id TEXT NOT NULL,
    workspace_no INTEGER NOT NULL,
    audience BLOB NOT NULL,
    known_seq INTEGER NOT NULL,
    confirmed_seq INTEGER NOT NULL,
    handed_seq INTEGER NOT NULL DEFAULT 0,
    known_at INTEGER NOT NULL,
    confirmed_at INTEGER,
    confirmed_by BLOB,
    known_hash TEXT,
    confirmed_hash TEXT,
    moved_to TEXT,
    PRIMARY KEY (project_id, source_id, workspace_no, audience)
) STRICT, WITHOUT ROWID;

CREATE INDEX source_place ON source (project_id, workspace_no, MAX(known_seq, handed_seq));

-- Who looked at a source and saw something else than the look before: what histories tell. A few for each source of a
-- workspace. Without a hash the source was gone.
CREATE TABLE source_look (
    project_id BLOB NOT NULL,
    source_id TEXT NOT NULL,
    workspace_no INTEGER NOT NULL,
    at INTEGER NOT NULL,
    key_id BLOB,
    hash TEXT,
    PRIMARY KEY (project_id, source_id, workspace_no, at)
) STRICT, WITHOUT ROWID;

-- Keys are apart per member. `answer` is what the first call was answered, without any record text.
CREATE TABLE idempotency (
    project_id BLOB NOT NULL,
    member_id BLOB NOT NULL,
    key TEXT NOT NULL,
    arguments_hash BLOB NOT NULL,
    record_seq INTEGER NOT NULL,
    was_duplicate INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    answer TEXT,
    PRIMARY KEY (project_id, member_id, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX idempotency_age ON idempotency (project_id, created_at);

CREATE TABLE audit (
    account_id BLOB NOT NULL,
    at INTEGER NOT NULL,
    id BLOB NOT NULL,
    project_id BLOB,
    actor TEXT NOT NULL CHECK (actor IN ('member', 'operator', 'service')),
    member_id BLOB,
    affected INTEGER NOT NULL,
    action TEXT NOT NULL,
    subject TEXT NOT NULL,
    actor_name TEXT,
    subject_name TEXT,
    key_id BLOB,
    PRIMARY KEY (account_id, at, id)
) STRICT, WITHOUT ROWID;

-- What was done to one thing, for its history.
CREATE INDEX audit_subject ON audit (account_id, subject, at);

-- A workspace's index as a file, with the place of the log it stands for. Derived: any row may be dropped at any time.
CREATE TABLE snapshot (
    project_id BLOB NOT NULL,
    workspace_no INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    -- Its name in the directory of snapshots. A restored backup names files that are not there.
    file TEXT NOT NULL,
    PRIMARY KEY (project_id, workspace_no)
) STRICT, WITHOUT ROWID;

-- What each key did on each day, counted from 1970-01-01.
CREATE TABLE usage (
    project_id BLOB NOT NULL,
    day INTEGER NOT NULL,
    key_id BLOB NOT NULL,
    calls INTEGER NOT NULL,
    saves INTEGER NOT NULL,
    searches INTEGER NOT NULL,
    rejections INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    last_used_at INTEGER NOT NULL,
    refused_by_connection INTEGER NOT NULL DEFAULT 0,
    refused_by_project INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (project_id, day, key_id)
) STRICT, WITHOUT ROWID;

-- How many records a project had at the last figures of a day, as its plan counts them.
CREATE TABLE record_day (
    project_id BLOB NOT NULL,
    day INTEGER NOT NULL,
    records INTEGER NOT NULL,
    PRIMARY KEY (project_id, day)
) STRICT, WITHOUT ROWID;

-- The hashes of texts that may pass the guard because somebody has looked at them.
CREATE TABLE guard_release (
    project_id BLOB NOT NULL,
    hash BLOB NOT NULL,
    released_at INTEGER NOT NULL,
    PRIMARY KEY (project_id, hash)
) STRICT, WITHOUT ROWID;

-- A session history, uploaded by its member's agent. `bytes` counts what was received, `kept_bytes` what is still kept of
-- it; `chain` is a hash over all lines received, and `last_start` with `last_chain` say where the last append began.
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

-- A piece of a history: `start` and `size` in bytes as received, `body` compressed text.
CREATE TABLE session_part (
    project_id BLOB NOT NULL,
    session_id BLOB NOT NULL,
    start INTEGER NOT NULL,
    size INTEGER NOT NULL,
    kept_bytes INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (project_id, session_id, start)
) STRICT, WITHOUT ROWID;

-- One row that is written to find out whether writing works.
CREATE TABLE heartbeat (
    id INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    beats INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

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

-- A person in the console. The row leads to the key that the session was made from, and every request checks that key.
CREATE TABLE console_session (
    hash BLOB NOT NULL PRIMARY KEY,
    key_hash BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    -- The key that it acts with since the person changed the project; the session ends with either key.
    acting_hash BLOB,
    -- Whose it is. The operator's sessions have none of these.
    id BLOB,
    project_id BLOB,
    member_id BLOB,
    key_id BLOB,
    browser TEXT
) STRICT, WITHOUT ROWID;

CREATE INDEX console_session_project ON console_session (project_id, created_at) WHERE project_id IS NOT NULL;

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
    resource TEXT NOT NULL,
    redirect_uri TEXT
) STRICT, WITHOUT ROWID;

CREATE INDEX connection_project ON connection (project_id, created_at);
CREATE INDEX connection_client ON connection (client_id, expires_at);

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
    accepted_at INTEGER,
    accepted_definition TEXT,
    PRIMARY KEY (project_id, integration, name)
) STRICT, WITHOUT ROWID;

-- How a project's tools are named; without a row, with a dot.
CREATE TABLE tool_naming (
    project_id BLOB NOT NULL PRIMARY KEY,
    style TEXT NOT NULL
) STRICT, WITHOUT ROWID;

