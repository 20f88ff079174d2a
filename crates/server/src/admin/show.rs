//! Converts engine values to the JSON of the admin API.

pub(crate) mod context;
pub(crate) mod explained;
pub(crate) mod me;
pub(crate) mod overview;
pub(crate) mod record;
pub(crate) mod standing;

use http::StatusCode;
use mnemon_core::{Account, Department, KeyId, Member, Project, Timestamp};
use mnemon_engine::admin::{
    AuditLine, CheckedSource, DayUsage, KeyUsage, MadeLink, RecordPage, ShownIntegration, ShownKey, ShownNode,
    ShownRecord, ShownRejection, ShownSource, ShownTool, ShownWorkspace, SourcePage, StatusCounts, Tested, UsageReport,
};
use mnemon_engine::integrations::ToolState;
use mnemon_engine::oauth::return_host;
use mnemon_engine::stored::{Actor, ConnectionRow, Day, OpenSession, Session, UpstreamAddress};
use mnemon_protocol::admin::{
    AccountJson, AuditJson, CheckedSourceJson, CheckedSourcesJson, ConnectionJson, ConsoleSessionJson, DepartmentJson,
    FiguresJson, HealthJson, IntegrationJson, IntegrationToolJson, KeyJson, ListedRecordJson, MadeLinkJson, MemberJson,
    NodeJson, ProjectJson, RejectionJson, SessionJson, SourceJson, SourcesJson, TestedJson, UsageJson, WorkspaceJson,
};
use serde::Serialize;

use crate::http::{Reply, Shared};
use crate::record_json::record_json;

/// Adds how many records that were forgotten earlier had to be purged to make room, if any.
pub(crate) fn with_older_purged(mut done: serde_json::Value, older: u64) -> serde_json::Value {
    if older > 0 {
        done["older_purged"] = older.into();
    }
    done
}

pub(crate) fn ok(body: &impl Serialize) -> Reply {
    reply(StatusCode::OK, body)
}

pub(crate) fn created(body: &impl Serialize) -> Reply {
    reply(StatusCode::CREATED, body)
}

fn reply(status: StatusCode, body: &impl Serialize) -> Reply {
    Reply::new(status, serde_json::to_vec(body).expect("wire shapes have string keys and no failing serializers"))
}

/// A page of records. JSON may have six times the bytes of its text, so it has a limit of its own, and so does the
/// page: the next one goes on from there.
pub(crate) fn records(page: RecordPage) -> Reply {
    const BYTES: usize = 1 << 20;
    let (mut body, mut next) = (br#"{"records":["#.to_vec(), page.next);
    let mut waiting = page.records.into_iter().peekable();
    while let Some(shown) = waiting.next() {
        serde_json::to_writer(&mut body, &record(&shown)).expect("wire shapes have no failing serializers");
        match waiting.peek() {
            Some(_) if body.len() < BYTES => body.push(b','),
            Some(_) => {
                next = Some(shown.listed.record.seq);
                break;
            }
            None => {}
        }
    }
    let next = serde_json::Value::from(next.map(|seq| seq.to_string()));
    body.extend_from_slice(format!(r#"],"next":{next}}}"#).as_bytes());
    Reply::ok(body)
}

fn time(at: Option<Timestamp>) -> Option<String> {
    at.map(|at| at.to_string())
}

pub(crate) fn account(account: &Account, now: Timestamp) -> AccountJson {
    AccountJson {
        id: account.id.to_string(),
        name: account.name.clone(),
        plan: account.plan().map(|plan| plan.as_str().to_owned()),
        paid_until: time(account.subscription.paid_until),
        suspended: account.subscription.is_suspended,
        state: account.subscription.state(now).as_str().to_owned(),
        created_at: account.created_at.to_string(),
        projects: None,
        records: None,
        first: None,
    }
}

pub(crate) fn department(department: &Department) -> DepartmentJson {
    DepartmentJson {
        id: department.id.to_string(),
        name: department.name.clone(),
        parent_id: department.parent.map(|id| id.to_string()),
    }
}

pub(crate) fn member(member: &Member) -> MemberJson {
    MemberJson {
        id: member.id.to_string(),
        name: member.name.clone(),
        role: member.role.as_str().to_owned(),
        department_id: member.department.map(|id| id.to_string()),
        access_until: time(member.access_until),
        created_at: member.created_at.to_string(),
    }
}

pub(crate) fn project(project: &Project) -> ProjectJson {
    ProjectJson {
        id: project.id.to_string(),
        account_id: project.account.to_string(),
        name: project.name.clone(),
        created_at: project.created_at.to_string(),
    }
}

pub(crate) fn session(session: &Session) -> SessionJson {
    SessionJson {
        id: session.id.to_string(),
        member_id: session.member.to_string(),
        client: session.client.clone(),
        name: session.name.clone(),
        bytes: session.bytes,
        kept_bytes: session.kept_bytes,
        redacted: session.redacted,
        modified_at: session.modified_at.to_string(),
        created_at: session.created_at.to_string(),
        updated_at: session.updated_at.to_string(),
    }
}

pub(crate) fn connection(row: &ConnectionRow) -> ConnectionJson {
    let returns = row.redirect_uri.as_deref().and_then(return_host);
    ConnectionJson {
        connection_id: row.id.to_string(),
        project_id: row.project.to_string(),
        member_id: row.member.to_string(),
        key_id: row.key.to_string(),
        client_id: row.client.clone(),
        client_name: row.client_name.clone(),
        returns_home: returns.as_ref().map(|(_, is_home)| *is_home),
        return_host: returns.map(|(host, _)| host),
        created_at: row.created_at.to_string(),
        expires_at: row.expires_at.to_string(),
        revoked_at: time(row.revoked_at),
        last_used_at: time(row.last_used_at),
    }
}

pub(crate) fn console_session(open: &OpenSession) -> ConsoleSessionJson {
    let holder = &open.holder;
    ConsoleSessionJson {
        console_session_id: holder.id.to_string(),
        project_id: holder.project.to_string(),
        member_id: holder.member.to_string(),
        key_id: holder.key.to_string(),
        browser: holder.browser.clone(),
        created_at: open.created_at.to_string(),
        expires_at: open.expires_at.to_string(),
    }
}

pub(crate) fn node(shown: &ShownNode) -> NodeJson {
    let node = &shown.node;
    NodeJson {
        id: node.id.to_string(),
        name: node.name.clone(),
        version: node.version.clone(),
        ready: shown.is_ready,
        started_at: node.started_at.to_string(),
        seen_at: node.seen_at.to_string(),
        index_bytes: node.index_bytes,
        index_bytes_max: node.index_bytes_max,
        calls_per_minute: node.calls_per_minute,
        storage_ms: node.storage_micros.map(|micros| micros as f64 / 1e3),
    }
}

pub(crate) fn key(shown: &ShownKey) -> KeyJson {
    let key = &shown.key;
    KeyJson {
        key_id: key.id.to_string(),
        project_id: key.project.to_string(),
        member_id: key.member.to_string(),
        access: key.access.as_str().to_owned(),
        label: key.label.clone(),
        workspace: key.workspace.as_ref().map(ToString::to_string),
        expires_at: time(key.expires_at),
        revoked_at: time(key.revoked_at),
        last_used_at: time(key.last_used_at),
        created_at: key.created_at.to_string(),
        created_by: key.created_by.map(|member| member.to_string()),
        created_by_name: shown.made_by.clone(),
        hint: key.hint.clone(),
        seen_at: time(key.seen_at),
        seen_client: key.seen_client.clone(),
        connections: shown.connections,
        link_ends_at: key.link.filter(|link| link.opened_at.is_none()).map(|link| link.ends_at.to_string()),
    }
}

/// A link, as the address that is handed over.
pub(crate) fn link(app: &Shared, made: &MadeLink) -> MadeLinkJson {
    MadeLinkJson {
        key_id: made.key.to_string(),
        link: format!("{}/console/link/{}", app.issuer.base_url(), made.code.expose()),
        link_ends_at: made.ends_at.to_string(),
    }
}

pub(crate) fn workspace(workspace: &ShownWorkspace) -> WorkspaceJson {
    WorkspaceJson {
        name: workspace.name.to_string(),
        records: workspace.records,
        by_status: workspace.deleted_at.is_none().then(|| standing::counts(&workspace.standing.counts)),
        last_saved_at: time(workspace.standing.last_saved_at),
        created_at: workspace.created_at.to_string(),
        deleted_at: time(workspace.deleted_at),
    }
}

pub(crate) fn record(shown: &ShownRecord) -> ListedRecordJson<'_> {
    ListedRecordJson {
        record: record_json(&shown.listed.record, shown.status, None),
        forgotten_at: time(shown.listed.forgotten_at),
        superseded_by: shown.listed.superseded_by.map(|id| id.to_string()),
    }
}

pub(crate) fn audit(line: &AuditLine) -> AuditJson {
    let (actor, member) = match line.entry.actor {
        Actor::Member(member) => ("member", Some(member)),
        Actor::Operator => ("operator", None),
        Actor::Service => ("service", None),
    };
    AuditJson {
        id: line.entry.id.to_string(),
        at: line.entry.at.to_string(),
        actor: actor.to_owned(),
        member_id: member.map(|id| id.to_string()),
        actor_name: line.entry.actor_name.clone(),
        action: line.entry.action.to_string(),
        subject: line.entry.subject.clone(),
        subject_name: line.entry.subject_name.clone().filter(|name| !name.is_empty()),
        project_id: line.entry.project.map(|id| id.to_string()),
        affected: line.affected,
    }
}

pub(crate) fn rejection(shown: &ShownRejection) -> RejectionJson {
    let rejection = &shown.rejection;
    RejectionJson {
        at: rejection.at.to_string(),
        project_id: rejection.project.map(|id| id.to_string()),
        member_id: rejection.member.map(|id| id.to_string()),
        member_name: rejection.member_name.clone(),
        key_id: rejection.key.map(|id| id.to_string()),
        key_label: shown.key_label.clone(),
        text: rejection.what.clone(),
        why: rejection.does.clone(),
        source: rejection.source.clone(),
        hash: rejection.hash.clone(),
        reference: rejection.reference.clone(),
        verdict: if rejection.is_caution { "caution" } else { "refuse" }.to_owned(),
        stored: rejection.was_stored,
        released: shown.is_released,
        memory_id: shown.record.map(|id| id.to_string()),
    }
}

pub(crate) fn usage(report: &UsageReport, bytes: u64) -> UsageJson {
    let day = |day: &DayUsage| FiguresJson { day: Some(date(day.day)), records: day.records, ..figures(&day.figures) };
    let key = |(key, of): &(KeyId, KeyUsage)| FiguresJson { key_id: Some(key.to_string()), ..figures(of) };
    UsageJson {
        records: report.records,
        bytes,
        plan: report.plan.as_ref().map(|(name, limits)| me::plan(*name, limits)),
        days: report.days.iter().map(day).collect(),
        keys: report.keys.iter().map(key).collect(),
        total: figures(&report.total),
        before: figures(&report.before),
    }
}

fn figures(figures: &KeyUsage) -> FiguresJson {
    FiguresJson {
        day: None,
        key_id: None,
        calls: figures.calls,
        saves: figures.saves,
        searches: figures.searches,
        rejections: figures.rejections,
        bytes: figures.bytes,
        refused_by_connection: figures.refused_by_connection,
        refused_by_project: figures.refused_by_project,
        records: None,
    }
}

/// A day as people write it.
fn date(day: Day) -> String {
    let midnight = Timestamp::from_second(i64::from(day.0) * 86_400).unwrap_or(Timestamp::MIN);
    midnight.to_string().chars().take_while(|c| *c != 'T').collect()
}

pub(crate) fn integration(integration: &ShownIntegration, has_tools: bool) -> IntegrationJson {
    let (url, command) = match &integration.address {
        UpstreamAddress::Url(url) => (Some(url.clone()), None),
        UpstreamAddress::Command(command) => (None, Some(command.clone())),
    };
    let count = |is_meant: fn(ToolState) -> bool| integration.tools.iter().filter(|tool| is_meant(tool.state)).count();
    IntegrationJson {
        name: integration.name.clone(),
        title: integration.title.clone(),
        preset: integration.preset.clone(),
        url,
        command,
        has_credential: integration.has_credential,
        allow: integration.allow.clone(),
        enabled: integration.is_enabled,
        offered: count(|state| state == ToolState::Offered),
        waiting: count(ToolState::waits_for_admin),
        created_at: integration.created_at.to_string(),
        updated_at: integration.updated_at.to_string(),
        seen_at: time(integration.seen_at),
        health: health(integration),
        tools: has_tools.then(|| integration.tools.iter().map(integration_tool).collect()),
    }
}

fn health(integration: &ShownIntegration) -> HealthJson {
    let health = &integration.health;
    HealthJson {
        state: if health.paused_until.is_some() { "paused" } else { "working" }.to_owned(),
        failures: health.failures,
        paused_until: time(health.paused_until),
        answered_at: time(health.answered_at),
        trouble: integration.silence.as_ref().map(|silence| silence.why.clone()),
    }
}

fn integration_tool(tool: &ShownTool) -> IntegrationToolJson {
    let json = |definition: &String| serde_json::from_str(definition).ok();
    let is_changed = tool.accepted_definition.as_ref().is_some_and(|accepted| *accepted != tool.definition);
    IntegrationToolJson {
        name: tool.name.clone(),
        state: tool.state.as_str().to_owned(),
        title: tool.title.clone(),
        description: tool.description.clone(),
        hash: tool.hash.clone(),
        refused_text: tool.refused_text.clone(),
        definition: is_changed.then(|| json(&tool.definition)).flatten(),
        accepted_definition: tool.accepted_definition.as_ref().filter(|_| is_changed).and_then(json),
        accepted_at: time(tool.accepted_at),
    }
}

pub(crate) fn tested(tested: &Tested) -> TestedJson {
    let met = tested.outcome.as_ref().ok();
    TestedJson {
        works: met.is_some(),
        protocol_version: met.map(|looked| looked.hello.version.to_owned()),
        server: met.map(|looked| looked.hello.server.clone()),
        milliseconds: met.map(|looked| u64::try_from(looked.took.as_millis()).unwrap_or(u64::MAX)),
        problem: tested.outcome.as_ref().err().cloned(),
        integration: integration(&tested.integration, true),
    }
}

pub(crate) fn sources(page: SourcePage) -> SourcesJson {
    SourcesJson { sources: page.sources.into_iter().map(source).collect(), next: page.next }
}

fn source(shown: ShownSource) -> SourceJson {
    let StatusCounts { verified, unverified, stale, conflict } = shown.counts;
    SourceJson {
        workspace: shown.workspace.to_string(),
        records: shown.counts.total(),
        verified,
        unverified,
        stale,
        conflict,
        current_source_hash: shown.current_source_hash().map(str::to_owned),
        source_gone: shown.known.state.is_gone,
        moved_to: shown.known.state.moved_to,
        known_at: time(shown.known.known_at),
        confirmed_at: time(shown.known.confirmed_at),
        source_hashes: shown.source_hashes,
        source_id: shown.source_id,
    }
}

pub(crate) fn checked_sources(checked: Vec<CheckedSource>) -> CheckedSourcesJson {
    let show = |source: CheckedSource| CheckedSourceJson {
        source_id: source.source_id,
        checked: source.checked,
        verified_count: source.verified,
        unverified_count: source.unverified,
        stale_ids: source.stale.iter().map(ToString::to_string).collect(),
        conflict_ids: source.conflicting.iter().map(ToString::to_string).collect(),
    };
    CheckedSourcesJson { sources: checked.into_iter().map(show).collect() }
}
