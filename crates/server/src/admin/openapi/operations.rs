//! Every operation: what it does, what it takes and what it answers.

use mnemon_protocol::admin::{
    AcceptTools, AcceptedJson, AccountJson, AskContext, AuditJson, ChangeDepartment, ChangeKey, ChangeMember,
    ChangeSeveral, CheckedSourcesJson, ConnectionJson, ConsoleSessionJson, ContextJson, CreateAccount,
    CreateDepartment, CreateKey, CreateLink, CreateMember, CreateProject, DeleteMember, DepartmentJson, ExplainSearch,
    ExplainedJson, HoldingsJson, IntegrationJson, IntegrationsJson, InviteMember, InvitedJson, KeptJson, KeyJson,
    ListedRecordJson, MadeKeyJson, MadeLinkJson, MeJson, MemberJson, NameTools, NodeJson, OverviewJson, PlanJson,
    ProjectJson, PutIntegration, RecordDetailJson, RejectionJson, ReleaseText, RestoreSource, SessionJson, SetGuard,
    SetSubscription, SetSuspension, SeveralJson, SourcesJson, StandingJson, TestedJson, UsageJson, ValidateSources,
    WorkspaceJson,
};
use mnemon_protocol::export_lines::{ExportLine, ImportReport};
use serde_json::{Value, json};

use super::super::{accounts, audit, exporting, guarding, importing, projects, records, sessions, sources, workspaces};
use super::{Operation, Schemas, done, members, next};

/// All of them.
pub(super) fn all(s: &mut Schemas) -> Vec<Operation> {
    let mut all = of_accounts(s);
    all.extend(of_people(s));
    all.extend(of_projects(s));
    all.extend(of_keys(s));
    all.extend(of_memory(s));
    all.extend(of_guard(s));
    all.extend(of_integrations(s));
    all
}

fn count(description: &str) -> Value {
    json!({"type": "integer", "minimum": 0, "description": description})
}

fn of_accounts(s: &mut Schemas) -> Vec<Operation> {
    let op = Operation::new;
    vec![
        op("GET", "/plans", "List the plans and their limits (operator).", s.list::<PlanJson>("plans")),
        op("POST", "/accounts", "Create an account (operator).", s.one::<AccountJson>())
            .sent(s.sent::<CreateAccount>())
            .created(),
        op("GET", "/accounts", "List accounts and their size (operator).", s.page::<AccountJson>("accounts"))
            .query::<accounts::Page>(),
        op("GET", "/accounts/{account}", "Show an account.", s.one::<AccountJson>()),
        op(
            "PUT",
            "/accounts/{account}/subscription",
            "Set the plan and the end of the paid period (operator).",
            s.one::<AccountJson>(),
        )
        .sent(s.sent::<SetSubscription>()),
        op("PUT", "/accounts/{account}/suspension", "Suspend or resume an account (operator).", s.one::<AccountJson>())
            .sent(s.sent::<SetSuspension>()),
        op("GET", "/accounts/{account}/audit", "List who did what, newest first.", s.page::<AuditJson>("audit"))
            .query::<audit::Filter>(),
        op("GET", "/me", "Show whose key this is, and what it may do.", s.one::<MeJson>()),
        op("GET", "/nodes", "List the nodes of the service (operator).", s.list::<NodeJson>("nodes")),
        op("POST", "/compact", "Rewrite storage and reclaim free space (operator).", done("compacted")),
    ]
}

fn of_people(s: &mut Schemas) -> Vec<Operation> {
    let op = Operation::new;
    let department = "/accounts/{account}/departments/{department}";
    let member = "/accounts/{account}/members/{member}";
    let removed = members(&[
        ("deleted", json!({"const": true})),
        ("keys_revoked", count("Keys that were revoked with it.")),
        ("records_handed_over", count("Records that somebody else took over.")),
    ]);
    vec![
        op("POST", "/accounts/{account}/departments", "Create a department.", s.one::<DepartmentJson>())
            .sent(s.sent::<CreateDepartment>())
            .created(),
        op("GET", "/accounts/{account}/departments", "List departments.", s.list::<DepartmentJson>("departments")),
        op("GET", department, "Show a department.", s.one::<DepartmentJson>()),
        op("PATCH", department, "Rename or move a department.", s.one::<DepartmentJson>())
            .sent(s.sent::<ChangeDepartment>()),
        op("DELETE", department, "Delete an empty department.", done("deleted")),
        op("POST", "/accounts/{account}/members", "Create a member.", s.one::<MemberJson>())
            .sent(s.sent::<CreateMember>())
            .created(),
        op(
            "POST",
            "/accounts/{account}/invitations",
            "Create a member, and a link that shows its key once.",
            s.one::<InvitedJson>(),
        )
        .sent(s.sent::<InviteMember>())
        .created(),
        op("GET", "/accounts/{account}/members", "List members.", s.list::<MemberJson>("members")),
        op("GET", member, "Show a member.", s.one::<MemberJson>()),
        op("PATCH", member, "Change a member's name, role, department or end of access.", s.one::<MemberJson>())
            .sent(s.sent::<ChangeMember>()),
        op("DELETE", member, "Remove a member and revoke its keys.", removed).sent(s.sent::<DeleteMember>()),
        op(
            "GET",
            "/accounts/{account}/members/{member}/holdings",
            "Count what a member leaves behind.",
            s.one::<HoldingsJson>(),
        ),
    ]
}

fn of_projects(s: &mut Schemas) -> Vec<Operation> {
    let op = Operation::new;
    let session = json!({"type": "array", "items": s.one::<SessionJson>()});
    let bytes_max = json!({"type": ["integer", "null"], "description": "The plan's limit; null without one."});
    let sessions_page = members(&[
        ("sessions", session),
        ("next", next()),
        ("count", count("All histories that the caller sees.")),
        ("kept_bytes", count("Bytes that are kept of them.")),
        ("history_bytes_max", bytes_max),
    ]);
    vec![
        op("POST", "/accounts/{account}/projects", "Create a project.", s.one::<ProjectJson>())
            .sent(s.sent::<CreateProject>())
            .created(),
        op("GET", "/accounts/{account}/projects", "List projects.", s.list::<ProjectJson>("projects")),
        op("GET", "/projects/{project}", "Show a project.", s.one::<ProjectJson>()),
        op("DELETE", "/projects/{project}", "Delete a project with everything in it.", done("deleted")),
        op("GET", "/projects/{project}/usage", "Show what a project used, by day and by key.", s.one::<UsageJson>())
            .query::<projects::Period>(),
        op("GET", "/projects/{project}/sessions", "List uploaded session histories.", sessions_page)
            .query::<sessions::Page>(),
        op("DELETE", "/projects/{project}/sessions/{session}", "Delete a session history.", done("deleted")),
    ]
}

fn of_keys(s: &mut Schemas) -> Vec<Operation> {
    let op = Operation::new;
    vec![
        op("POST", "/projects/{project}/keys", "Create a key. Its secret is shown once.", s.one::<MadeKeyJson>())
            .sent(s.sent::<CreateKey>())
            .created(),
        op("GET", "/projects/{project}/keys", "List the keys of a project.", s.list::<KeyJson>("keys")),
        op(
            "POST",
            "/projects/{project}/links",
            "Create a key that a link shows once. Nobody knows its secret before.",
            s.one::<MadeLinkJson>(),
        )
        .sent(s.sent::<CreateLink>())
        .created(),
        op("PATCH", "/keys/{key}", "Change a key's label, access, end or workspace.", s.one::<KeyJson>())
            .sent(s.sent::<ChangeKey>()),
        op("DELETE", "/keys/{key}", "Revoke a key, and every connection that stands for it.", done("revoked")),
        op("GET", "/me/keys", "List every key in the caller's own name.", s.list::<KeyJson>("keys")),
        op(
            "GET",
            "/projects/{project}/connections",
            "List OAuth connections of web clients.",
            s.list::<ConnectionJson>("connections"),
        ),
        op("DELETE", "/connections/{connection}", "Revoke an OAuth connection.", done("revoked")),
        op(
            "GET",
            "/projects/{project}/console-sessions",
            "List who is signed in to the console.",
            s.list::<ConsoleSessionJson>("console_sessions"),
        ),
        op(
            "DELETE",
            "/projects/{project}/console-sessions/{console_session}",
            "End a session of the console.",
            done("ended"),
        ),
    ]
}

const OLDER_PURGED: &str = "Records forgotten earlier that were purged, because the project keeps no more.";

fn with_older_purged(mut answer: Value) -> Value {
    answer["properties"]["older_purged"] = count(OLDER_PURGED);
    answer
}

fn of_memory(s: &mut Schemas) -> Vec<Operation> {
    let op = Operation::new;
    let workspace = "/projects/{project}/workspaces/{workspace}";
    let forgotten = members(&[
        ("deleted", json!({"const": true})),
        ("records_forgotten", count("Records that were forgotten with it.")),
    ]);
    let forgotten = with_older_purged(forgotten);
    let restored = members(&[
        ("restored", json!({"const": true})),
        ("records_restored", count("Records that came back with it.")),
    ]);
    let forgotten_one = with_older_purged(done("forgotten"));
    let gone = json!({"oneOf": [forgotten_one, done("purged")]});
    vec![
        op("GET", "/projects/{project}/workspaces", "List workspaces.", s.list::<WorkspaceJson>("workspaces"))
            .query::<workspaces::Filter>(),
        op("DELETE", workspace, "Delete a workspace. It can be restored for 30 days.", forgotten),
        op("POST", "/projects/{project}/workspaces/{workspace}/restore", "Restore a deleted workspace.", restored),
        op(
            "GET",
            "/projects/{project}/records",
            "List the records that the caller sees, newest first.",
            s.page::<ListedRecordJson<'_>>("records"),
        )
        .query::<records::Filter>(),
        op(
            "GET",
            "/projects/{project}/overview",
            "Show a project at a glance: what holds, what changed, what waits, who uses it.",
            s.one::<OverviewJson>(),
        ),
        op(
            "POST",
            "/projects/{project}/records/several",
            "Forget, restore, tag or move several records at once, in the project of the caller's key.",
            s.one::<SeveralJson>(),
        )
        .sent(s.sent::<ChangeSeveral>()),
        op("GET", "/projects/{project}/standing", "Count records by status.", s.one::<StandingJson>()),
        op(
            "GET",
            "/projects/{project}/export",
            "Stream everything that the caller sees of a project, one JSON object a line. A key runs two at a time.",
            s.one::<ExportLine>(),
        )
        .query::<exporting::Narrowing>()
        .answers_lines(),
        op(
            "POST",
            "/projects/{project}/import",
            "Save the lines of an export, of any length, into the project of the caller's key.",
            s.one::<ImportReport>(),
        )
        .query::<importing::Way>()
        .sent(s.sent::<ExportLine>())
        .takes_lines(),
        op("GET", "/projects/{project}/sources", "List the sources of records.", s.one::<SourcesJson>())
            .query::<sources::Filter>(),
        op(
            "POST",
            "/projects/{project}/sources/validate",
            "Tell the current hashes of many sources.",
            s.one::<CheckedSourcesJson>(),
        )
        .sent(s.sent::<ValidateSources>()),
        op(
            "POST",
            "/projects/{project}/sources/restore",
            "Restore what was last forgotten of a source, all of it together.",
            members(&[("restored", count("Records that came back."))]),
        )
        .sent(s.sent::<RestoreSource>()),
        op("POST", "/projects/{project}/context", "Make a digest for an assistant.", s.one::<ContextJson>())
            .sent(s.sent::<AskContext>()),
        op("POST", "/projects/{project}/explain", "Explain the scores of a search.", s.one::<ExplainedJson<'_>>())
            .sent(s.sent::<ExplainSearch>()),
        op("GET", "/records/{record}", "Show a record, its status and its history.", s.one::<RecordDetailJson<'_>>()),
        op(
            "POST",
            "/records/{record}/keep",
            "Settle a conflict: keep this record and forget those that dispute its key.",
            s.one::<KeptJson>(),
        ),
        op("POST", "/records/{record}/restore", "Restore a forgotten record.", s.one::<ListedRecordJson<'_>>()),
        op("DELETE", "/records/{record}", "Forget a record, or purge it for good.", gone).query::<records::Removal>(),
    ]
}

fn of_guard(s: &mut Schemas) -> Vec<Operation> {
    let op = Operation::new;
    let mode = || members(&[("mode", json!({"enum": ["reject", "report", "off"]}))]);
    let released = members(&[("released", json!({"type": "string", "description": "The hash of the text."}))]);
    vec![
        op("GET", "/accounts/{account}/guard", "Show the guard's mode.", mode()),
        op("PUT", "/accounts/{account}/guard", "Set the guard's mode (operator).", mode()).sent(s.sent::<SetGuard>()),
        op(
            "GET",
            "/accounts/{account}/guard/rejections",
            "List what the guard found, newest first.",
            s.list::<RejectionJson>("rejections"),
        )
        .query::<guarding::Page>(),
        op("POST", "/projects/{project}/guard/releases", "Release a text that the guard refused.", released)
            .sent(s.sent::<ReleaseText>())
            .created(),
    ]
}

fn of_integrations(s: &mut Schemas) -> Vec<Operation> {
    let op = Operation::new;
    let one = "/projects/{project}/integrations/{integration}";
    let named = members(&[("tool_names", json!({"enum": ["dots", "underscores"]}))]);
    vec![
        op("PUT", "/projects/{project}/tool-names", "Choose how tools of integrations are named.", named)
            .sent(s.sent::<NameTools>()),
        op("GET", "/projects/{project}/integrations", "List integrations.", s.one::<IntegrationsJson>()),
        op("GET", one, "Show an integration and its tools.", s.one::<IntegrationJson>()),
        op("PUT", one, "Create or change an integration, and test it.", s.one::<TestedJson>())
            .sent(s.sent::<PutIntegration>()),
        op("DELETE", one, "Delete an integration with its credential.", done("deleted")),
        op(
            "POST",
            "/projects/{project}/integrations/{integration}/accept",
            "Accept tools that are new or have changed.",
            s.one::<AcceptedJson>(),
        )
        .sent(s.sent::<AcceptTools>()),
        op(
            "POST",
            "/projects/{project}/integrations/{integration}/test",
            "Ask the other system for its tools.",
            s.one::<TestedJson>(),
        ),
        op(
            "POST",
            "/integrations/rotate-key",
            "Encrypt all credentials with the new key (operator).",
            members(&[("rotated", count("Credentials that were encrypted again."))]),
        ),
    ]
}

/// What a parameter means. The same name means the same everywhere.
pub(super) fn meaning(name: &str, place: &str) -> &'static str {
    match (name, place) {
        ("workspace", "path") => "Its name.",
        ("integration", _) => "Its name in the project.",
        (_, "path") => "Its id.",
        ("after" | "before", _) => "The `next` value of the previous page.",
        ("limit", _) => "Maximum number of items. A page of large ones may end earlier; `next` goes on from there.",
        ("workspace", _) => "Only this workspace.",
        ("source_id", _) => "Only records from this source.",
        ("sort", _) => {
            "`newest` (the default), `oldest`, `changed` (latest first), `fact_key` or `source`; forgotten records come \
             latest forgotten first."
        }
        ("state", _) => "`live` (the default), or what was removed: `forgotten` records, `deleted` workspaces.",
        ("status", _) => "Only records with this status: `stale`, `conflict`, `verified` or `unverified`.",
        ("scope", _) => "Only records with this scope: `draft`, `department` or `shared`.",
        ("author", _) => "Only records by this member: its name or its id.",
        ("fact_key", _) => "Only records under this key.",
        ("has_source", _) => "`true` for records with a source, `false` for those without.",
        ("purge", _) => "`true` removes the record for good.",
        ("reference", _) => "Only the finding with this reference.",
        ("actor", _) => "Only what `member`, `operator` or `service` did.",
        ("member_id", _) => "Only what this member did.",
        ("action", _) => "Only these actions, separated by commas.",
        ("except", _) => "Leaves these actions out, separated by commas.",
        ("project_id", _) => "Only what concerns this project.",
        ("subject", _) => "Only what concerns this thing, by its id.",
        ("from", _) => "Not before this moment (RFC 3339).",
        ("to", _) => "Before this moment (RFC 3339).",
        ("format", _) => {
            "`json` (the default) or `csv`; an export is `jsonl` (the default) or `markdown`, a text to read."
        }
        ("dry_run", _) => "`true` checks everything and saves nothing.",
        ("days", _) => "Number of days, today included.",
        _ => "",
    }
}
