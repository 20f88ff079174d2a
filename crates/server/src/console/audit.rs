//! The audit log, in sentences.

use askama::Template;
use axum::response::Response;
use mnemon_engine::admin::AuditLine;
use mnemon_engine::console::ConsoleError;
use mnemon_engine::stored::{Actor, AuditFilter};

use super::parts::{self as p, Html};
use super::people::Names;
use super::shell::{Place, Shell};
use super::visit::Visit;

const PAGE_ROWS: usize = 50;

#[derive(Template)]
#[template(path = "console/audit.html")]
struct Page<'a> {
    shell: Shell<'a>,
    rows: Vec<Row>,
}

struct Row {
    at: Html,
    who: String,
    icon: &'static str,
    what: Html,
    place: &'static str,
}

/// `GET /console/audit`
pub(super) async fn list(visit: Visit) -> Response {
    visit.show(build(&visit).await)
}

async fn build(visit: &Visit) -> Result<Page<'_>, ConsoleError> {
    let (account, project) = (visit.account()?, visit.project()?);
    let lines =
        visit.engine().list_audit(&visit.visitor.admin, account, AuditFilter::default(), PAGE_ROWS).await?.lines;
    let names = Names::load(visit).await?;
    let row = |line: &AuditLine| {
        let (icon, what) = sentence(line);
        Row {
            at: p::ago(line.entry.at, visit.now),
            who: match line.entry.actor {
                Actor::Member(member) => names.name(member),
                Actor::Operator => "the operator".to_owned(),
                Actor::Service => "the service".to_owned(),
            },
            icon,
            what,
            place: match line.entry.project {
                Some(own) if own == project => "this project",
                Some(_) => "another project",
                None => "account",
            },
        }
    };
    Ok(Page { shell: Shell::new(visit, Place::Audit, "Audit"), rows: lines.iter().map(row).collect() })
}

/// What was done, as a sentence without its subject. An action that has no sentence yet is shown as it is stored.
fn sentence(line: &AuditLine) -> (&'static str, Html) {
    let subject = line.entry.subject.as_str();
    let name = p::said(subject);
    let code = format!("<code>{name}</code>");
    let short: String = subject.chars().take(8).collect();
    let record = format!(r#"<a class="mono" href="/console/records/{}">{}…</a>"#, p::esc(subject), p::esc(&short));
    let records = p::counted(line.affected, "record");
    let (icon, text) = match line.entry.action.as_ref() {
        "record.forget" => ("trash", format!("forgot the record {record}")),
        "record.restore" => ("undo", format!("restored the record {record}")),
        "record.purge" => {
            ("trash", format!("removed the record <span class=\"mono\">{}…</span> for good", p::esc(&short)))
        }
        "record.keep" => ("check", format!("kept the record {record} and forgot {records} that said otherwise")),
        "record.supersede" => ("undo", format!("replaced {records} by {record}")),
        "source.forget" => ("trash", format!("forgot {records} of the source {name}")),
        "workspace.delete" => ("workspaces", format!("deleted the workspace {name}, with {records}")),
        "workspace.restore" => ("workspaces", format!("restored the workspace {name}, with {records}")),
        "key.create" => ("keys", format!("made the key <span class=\"mono\">{}…</span>", p::esc(&short))),
        "key.revoke" => ("keys", format!("revoked the key <span class=\"mono\">{}…</span>", p::esc(&short))),
        "connection.create" => ("connections", "connected a web client".to_owned()),
        "connection.revoke" => ("connections", "ended the connection of a web client".to_owned()),
        "member.create" => ("people", "added a member".to_owned()),
        "member.change" => ("people", "changed a member".to_owned()),
        "member.delete" => ("people", format!("removed a member; {records} were handed over")),
        "department.create" => ("people", "made a department".to_owned()),
        "department.change" => ("people", "changed a department".to_owned()),
        "department.delete" => ("people", "removed a department".to_owned()),
        "project.create" => ("workspaces", "made a project".to_owned()),
        "project.delete" => ("workspaces", "deleted a project".to_owned()),
        "project.tool_names" => ("integrations", format!("chose how tools are named: {name}")),
        "integration.create" => ("integrations", format!("added the integration {code}")),
        "integration.change" => ("integrations", format!("changed the integration {code}")),
        "integration.delete" => ("integrations", format!("removed the integration {code}")),
        "integration.accept" => ("integrations", format!("accepted tools: {code}")),
        "integration.call" => ("integrations", format!("called {code}")),
        "subscription.change" => ("operator", "changed the plan".to_owned()),
        "account.suspend" => ("operator", "suspended the account".to_owned()),
        "account.resume" => ("operator", "lifted the suspension".to_owned()),
        "account.create" => ("operator", "made the account".to_owned()),
        "guard.mode" => ("warn", format!("set the guard’s mode to {name}")),
        "guard.release" => ("warn", format!("released a text, hash <span class=\"mono\">{}…</span>", p::esc(&short))),
        "session.delete" => ("sessions", "deleted a session history for good".to_owned()),
        action if action.starts_with("guard.") => (
            "warn",
            format!("the guard found something in a text, hash <span class=\"mono\">{}…</span>", p::esc(&short)),
        ),
        action => ("info", format!("<code>{}</code> {name}", p::esc(action))),
    };
    (icon, Html(text))
}
