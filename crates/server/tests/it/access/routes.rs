//! The table of routes: the status that every caller gets, in the order of `WHO`.

/// A route, and the status for each caller.
pub(crate) struct Row {
    pub(crate) method: &'static str,
    pub(crate) path: &'static str,
    /// What is sent; empty sends nothing.
    pub(crate) body: &'static str,
    pub(crate) expected: [u16; 11],
}

/// nobody, revoked, expired, stranger, member, rival, head, reader, elsewhere, admin, operator
const fn operator(status: u16) -> [u16; 11] {
    [401, 401, 401, 403, 403, 403, 403, 403, 403, 403, status]
}

const ADMIN_READS: [u16; 11] = [401, 401, 401, 404, 403, 403, 403, 200, 200, 200, 200];

const fn admin_writes(status: u16) -> [u16; 11] {
    [401, 401, 401, 404, 403, 403, 403, 403, status, status, status]
}

/// Every accepted caller, about itself.
const EVERYBODY_READS: [u16; 11] = [401, 401, 401, 200, 200, 200, 200, 200, 200, 200, 200];

/// What every member reads of the project of its key, as far as it sees it. Another account's project is absent.
const MEMBERS_READ: [u16; 11] = [401, 401, 401, 404, 200, 200, 200, 200, 200, 200, 200];
/// What a member does with what it sees, unless its key is read-only.
const MEMBERS_WRITE: [u16; 11] = [401, 401, 401, 404, 200, 200, 200, 403, 200, 200, 200];

/// Who may save into the project of its key. The operator has no name to save under.
const IMPORTERS: [u16; 11] = [401, 401, 401, 403, 200, 200, 200, 403, 403, 200, 403];

/// What a member does in the project of its key; the operator has none.
const IN_ITS_PROJECT: [u16; 11] = [401, 401, 401, 404, 200, 200, 200, 403, 409, 200, 403];

/// Every head gets a list of what is within its reach.
const HEADS_LIST: [u16; 11] = [401, 401, 401, 404, 403, 200, 200, 200, 200, 200, 200];
/// One member of the department: absent for the head of another.
const HEAD_READS: [u16; 11] = [401, 401, 401, 404, 403, 404, 200, 200, 200, 200, 200];

const fn head_writes(status: u16) -> [u16; 11] {
    [401, 401, 401, 404, 403, 404, status, 403, status, status, status]
}

/// Who may end a colleague's session of the console: to a plain member it is absent.
const SESSION_ENDERS: [u16; 11] = [401, 401, 401, 404, 404, 404, 200, 403, 200, 200, 200];

pub(crate) fn rows() -> Vec<Row> {
    let row = |method, path, body, expected| Row { method, path, body, expected };
    let named = r#"{"name": "A name"}"#;
    vec![
        row("GET", "/plans", "", operator(200)),
        row("POST", "/accounts", named, operator(201)),
        row("GET", "/accounts", "", operator(200)),
        row("GET", "/accounts/{account}", "", ADMIN_READS),
        row("PUT", "/accounts/{account}/subscription", r#"{"plan": "unlimited"}"#, operator(200)),
        row("PUT", "/accounts/{account}/suspension", r#"{"suspended": false}"#, operator(200)),
        row("GET", "/accounts/{account}/audit", "", ADMIN_READS),
        row("GET", "/accounts/{account}/guard", "", ADMIN_READS),
        row("PUT", "/accounts/{account}/guard", r#"{"mode": "reject"}"#, operator(200)),
        row("GET", "/accounts/{account}/guard/rejections", "", ADMIN_READS),
        row("POST", "/accounts/{account}/departments", named, admin_writes(201)),
        row("GET", "/accounts/{account}/departments", "", ADMIN_READS),
        row("GET", "/accounts/{account}/departments/{department}", "", ADMIN_READS),
        row("PATCH", "/accounts/{account}/departments/{department}", named, admin_writes(200)),
        row("DELETE", "/accounts/{account}/departments/{department}", "", admin_writes(200)),
        row(
            "POST",
            "/accounts/{account}/members",
            r#"{"name": "New", "role": "member", "department_id": "{sales}"}"#,
            head_writes(201),
        ),
        row(
            "POST",
            "/accounts/{account}/invitations",
            r#"{"name": "New", "role": "member", "department_id": "{sales}", "project_id": "{own_project}",
                "access": "read"}"#,
            head_writes(201),
        ),
        row("GET", "/accounts/{account}/members", "", HEADS_LIST),
        row("GET", "/accounts/{account}/members/{member}", "", HEAD_READS),
        row("PATCH", "/accounts/{account}/members/{member}", named, head_writes(200)),
        row("DELETE", "/accounts/{account}/members/{member}", "", head_writes(200)),
        row("GET", "/accounts/{account}/members/{member}/holdings", "", HEAD_READS),
        row("POST", "/accounts/{account}/projects", named, admin_writes(201)),
        row("GET", "/accounts/{account}/projects", "", ADMIN_READS),
        row("GET", "/projects/{project}", "", ADMIN_READS),
        row("PUT", "/projects/{project}/tool-names", r#"{"tool_names": "dots"}"#, admin_writes(200)),
        row("DELETE", "/projects/{project}", "", admin_writes(200)),
        row("GET", "/projects/{project}/usage", "", MEMBERS_READ),
        row("POST", "/projects/{project}/keys", r#"{"member_id": "{colleague}", "access": "read"}"#, head_writes(201)),
        row("GET", "/projects/{project}/keys", "", MEMBERS_READ),
        row("POST", "/projects/{project}/links", r#"{"member_id": "{colleague}", "access": "read"}"#, head_writes(201)),
        row("PATCH", "/keys/{key}", r#"{"label": "A label"}"#, head_writes(200)),
        row("DELETE", "/keys/{key}", "", head_writes(200)),
        row("GET", "/me", "", EVERYBODY_READS),
        row("GET", "/me/keys", "", EVERYBODY_READS),
        row("GET", "/projects/{project}/connections", "", MEMBERS_READ),
        row("DELETE", "/connections/{connection}", "", head_writes(200)),
        row("GET", "/projects/{project}/console-sessions", "", MEMBERS_READ),
        row("DELETE", "/projects/{project}/console-sessions/{console_session}", "", SESSION_ENDERS),
        row("GET", "/nodes", "", operator(200)),
        row("GET", "/projects/{project}/workspaces", "", MEMBERS_READ),
        row("DELETE", "/projects/{project}/workspaces/{workspace}", "", admin_writes(200)),
        row("POST", "/projects/{project}/workspaces/{workspace}/restore", "", admin_writes(200)),
        row("GET", "/projects/{project}/records", "", MEMBERS_READ),
        row("GET", "/projects/{project}/overview", "", MEMBERS_READ),
        row(
            "POST",
            "/projects/{project}/records/several",
            r#"{"memory_ids": ["{record}"], "act": "tag", "add_tags": ["tried"]}"#,
            IN_ITS_PROJECT,
        ),
        row("GET", "/projects/{project}/standing", "", MEMBERS_READ),
        row("GET", "/projects/{project}/export", "", MEMBERS_READ),
        row("POST", "/projects/{project}/import", "", IMPORTERS),
        row("GET", "/projects/{project}/sources", "", MEMBERS_READ),
        row(
            "POST",
            "/projects/{project}/sources/validate",
            r#"{"sources": [{"source_id": "absent", "current_source_hash": "abc"}]}"#,
            MEMBERS_READ,
        ),
        row(
            "POST",
            "/projects/{project}/sources/restore",
            r#"{"source_id": "absent", "workspace": "default"}"#,
            MEMBERS_WRITE,
        ),
        row("POST", "/projects/{project}/context", r#"{"query": "default workspace"}"#, MEMBERS_READ),
        row("POST", "/projects/{project}/explain", r#"{"query": "default workspace"}"#, MEMBERS_READ),
        row(
            "POST",
            "/projects/{project}/guard/releases",
            r#"{"hash": "0000000000000000000000000000000000000000000000000000000000000000"}"#,
            admin_writes(201),
        ),
        row("GET", "/projects/{project}/integrations", "", ADMIN_READS),
        row("GET", "/projects/{project}/integrations/{integration}", "", ADMIN_READS),
        row("PUT", "/projects/{project}/integrations/{integration}", r#"{"command": "none"}"#, admin_writes(200)),
        row("DELETE", "/projects/{project}/integrations/{integration}", "", admin_writes(200)),
        row("POST", "/projects/{project}/integrations/{integration}/accept", "", admin_writes(200)),
        row("POST", "/projects/{project}/integrations/{integration}/test", "", admin_writes(200)),
        row("POST", "/integrations/rotate-key", "", operator(200)),
        row("GET", "/records/{record}", "", MEMBERS_READ),
        row("POST", "/records/{record}/keep", "", MEMBERS_WRITE),
        row("POST", "/records/{record}/restore", "", admin_writes(200)),
        row("DELETE", "/records/{record}", "", admin_writes(200)),
        row("GET", "/projects/{project}/sessions", "", MEMBERS_READ),
        row("DELETE", "/projects/{project}/sessions/{session}", "", admin_writes(200)),
        row("POST", "/compact", "", operator(200)),
    ]
}
