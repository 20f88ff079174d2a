//! The audit log, in sentences.

use askama::Template;
use axum::extract::Request;
use axum::response::Response;
use mnemon_core::{Account, AccountId, AuditId, Timestamp};
use mnemon_engine::admin::{AdminError, AuditLine};
use mnemon_engine::console::ConsoleError;
use mnemon_engine::stored::{Actor, ActorKind, AuditFilter};

use super::page;
use super::parts::{self as p, Html};
use super::people::CHOICES_MAX;
use super::query::{Choice, Query};
use super::shell::{Place, Shell};
use super::visit::Visit;
use crate::admin;
use crate::http::Fields;

const PATH: &str = "/console/audit";
/// What can be chosen, and the actions behind it.
const SUBJECTS: [(&str, &str, &[&str]); 5] = [
    ("records", "Records", &["record", "source", "workspace"]),
    ("keys", "Keys and connections", &["key", "connection", "console"]),
    ("people", "People", &["member", "department"]),
    ("integrations", "Integrations", &["integration", "project"]),
    ("guard", "Guard", &["guard"]),
];
/// Calls of assistants are many, and are shown only when somebody asks for integrations.
const HIDDEN: &str = "integration.call";

const NAMES: [&str; 6] = ["account", "who", "what", "from", "to", "before"];
const PAGE_ROWS: usize = 50;
/// How many lines a file for spreadsheets has at most; a shorter period gives all of it.
const CSV_LINES_MAX: usize = 10_000;
const CSV_READ_ROWS: usize = 1_000;
/// How many accounts the operator can choose from; an address can name any other.
const ACCOUNTS_MAX: usize = 100;

#[derive(Template)]
#[template(path = "console/audit.html")]
struct Page<'a> {
    shell: Shell<'a>,
    rows: Vec<Row>,
    choices: Vec<Choice>,
    from: String,
    to: String,
    csv: String,
    newest_link: Option<String>,
    older_link: Option<String>,
}

struct Row {
    at: Html,
    who: String,
    icon: &'static str,
    what: Html,
    place: String,
}

/// `GET /console/audit`
pub(super) async fn list(visit: Visit, request: Request) -> Response {
    let fields = Fields::parse(request.uri().query().unwrap_or_default().as_bytes());
    visit.show(build(&visit, &fields).await)
}

async fn build<'a>(visit: &'a Visit, fields: &Fields) -> Result<Page<'a>, ConsoleError> {
    let query = Query::of(fields, &NAMES);
    let accounts = accounts(visit).await?;
    let account = account(visit, &query, &accounts)?;
    // Records of another project are opened with a key of it, and the operator opens none.
    let (admin, here) = (&visit.visitor.admin, visit.project().ok());
    let found = visit.engine().list_audit(admin, account, filter(&query)?, PAGE_ROWS).await?;
    let projects = visit.engine().list_projects(admin, account).await?;
    let members = visit.engine().list_members(admin, account).await?;
    let project_name = |id| projects.iter().find(|project| project.id == id).map(|project| project.name.clone());
    let row = |line: &AuditLine| {
        let (icon, what) = sentence(line, here.is_some() && line.entry.project == here);
        let name = line.entry.actor_name.clone();
        Row {
            at: clock(line.entry.at, visit.now),
            who: match line.entry.actor {
                Actor::Member(_) => name.unwrap_or_else(|| "somebody who left".to_owned()),
                Actor::Operator => "the operator".to_owned(),
                Actor::Service => "the service".to_owned(),
            },
            icon,
            what,
            place: match line.entry.project {
                Some(id) => project_name(id).unwrap_or_else(|| "a deleted project".to_owned()),
                None => "the account".to_owned(),
            },
        }
    };
    let kinds = [("member", "Members"), ("operator", "The operator"), ("service", "The service")];
    let word = |(value, word): (&str, &str)| (value.to_owned(), word.to_owned());
    let people = members.iter().take(CHOICES_MAX).map(|member| (member.id.to_string(), member.name.clone()));
    let mut choices = vec![
        Choice::new(&query, "who", "Who", "Anybody", kinds.map(word).into_iter().chain(people)),
        Choice::new(&query, "what", "What", "Everything", SUBJECTS.map(|(value, name, _)| word((value, name)))),
    ];
    if let Some((first, others)) = accounts.split_first() {
        let others = others.iter().map(|account| (account.id.to_string(), account.name.clone()));
        choices.insert(0, Choice::new(&query, "account", "Account", &first.name, others));
    }
    Ok(Page {
        shell: Shell::new(visit, Place::Audit, "Audit"),
        rows: found.lines.iter().map(row).collect(),
        choices,
        from: query.find("from").unwrap_or_default().to_owned(),
        to: query.find("to").unwrap_or_default().to_owned(),
        csv: query.without(&["before"]).link(&format!("{PATH}/csv")),
        newest_link: query.find("before").map(|_| query.without(&["before"]).link(PATH)),
        older_link: found
            .next
            .map(|(at, id)| query.with("before", &format!("{}.{id}", at.as_microsecond())).link(PATH)),
    })
}

/// The account that the page is about: one's own, or the one that the operator chose.
fn account(visit: &Visit, query: &Query, accounts: &[Account]) -> Result<AccountId, ConsoleError> {
    match (visit.account(), query.find("account")) {
        (Ok(own), _) => Ok(own),
        (Err(_), Some(id)) => id.parse().map_err(|_| AdminError::NotFound("account").into()),
        (Err(error), None) => accounts.first().map(|account| account.id).ok_or(error),
    }
}

/// `GET /console/audit/csv`: what the page shows with these filters, all pages of it.
pub(super) async fn csv(visit: Visit, request: Request) -> Response {
    let fields = Fields::parse(request.uri().query().unwrap_or_default().as_bytes());
    match lines(&visit, &Query::of(&fields, &NAMES)).await {
        Ok(lines) => {
            let mut response = admin::audit_csv(&lines);
            page::guard(&mut response);
            response
        }
        Err(error) => visit.trouble(&error),
    }
}

async fn lines(visit: &Visit, query: &Query) -> Result<Vec<AuditLine>, ConsoleError> {
    let account = account(visit, query, &accounts(visit).await?)?;
    let (mut filter, mut lines) = (filter(query)?, Vec::new());
    loop {
        let found = visit.engine().list_audit(&visit.visitor.admin, account, filter.clone(), CSV_READ_ROWS).await?;
        lines.extend(found.lines);
        match found.next {
            Some(next) if lines.len() < CSV_LINES_MAX => filter.before = Some(next),
            _ => return Ok(lines),
        }
    }
}

/// When something happened, by the clock; of this year without the year.
fn clock(at: Timestamp, now: Timestamp) -> Html {
    let is_this_year = at.strftime("%Y").to_string() == now.strftime("%Y").to_string();
    p::moment(at, &at.strftime(if is_this_year { "%-d %b, %H:%M" } else { "%-d %b %Y, %H:%M" }).to_string())
}

/// The accounts that the operator may choose from; everybody else has one.
async fn accounts(visit: &Visit) -> Result<Vec<Account>, ConsoleError> {
    if visit.me.is_some() {
        return Ok(Vec::new());
    }
    Ok(visit.engine().list_accounts(&visit.visitor.admin, None, ACCOUNTS_MAX).await?)
}

fn filter(query: &Query) -> Result<AuditFilter, ConsoleError> {
    let what = query.find("what").and_then(|what| SUBJECTS.iter().find(|(value, ..)| *value == what));
    let actor = query.find("who").and_then(|who| {
        [ActorKind::Member, ActorKind::Operator, ActorKind::Service].into_iter().find(|kind| kind.as_str() == who)
    });
    Ok(AuditFilter {
        before: query.find("before").map(cursor).transpose()?,
        actor,
        member: query.find("who").and_then(|who| who.parse().ok()),
        actions: what.map(|(_, _, actions)| actions.iter().map(|action| (*action).to_owned()).collect()),
        except: (what.map(|(value, ..)| *value) != Some("integrations")).then(|| vec![HIDDEN.to_owned()]),
        from: query.find("from").map(|day| moment(day, 0)).transpose()?,
        to: query.find("to").map(|day| moment(day, 86_400)).transpose()?,
        ..AuditFilter::default()
    })
}

fn invalid(text: &str) -> ConsoleError {
    AdminError::Invalid(text.to_owned()).into()
}

fn cursor(text: &str) -> Result<(Timestamp, AuditId), ConsoleError> {
    let parse = || {
        let (at, id) = text.split_once('.')?;
        Some((Timestamp::from_microsecond(at.parse().ok()?).ok()?, id.parse().ok()?))
    };
    parse().ok_or_else(|| invalid("no such page"))
}

/// The given number of seconds after the beginning of a day.
fn moment(day: &str, seconds: i64) -> Result<Timestamp, ConsoleError> {
    let begin: Result<Timestamp, _> = format!("{day}T00:00:00Z").parse();
    let moment = begin.ok().and_then(|begin| Timestamp::from_second(begin.as_second() + seconds).ok());
    moment.ok_or_else(|| invalid("a day is written as 2027-01-31"))
}

/// What kind of text it was and what it does; the rest of the note is for the page of the guard.
fn found_in_words(note: &str) -> String {
    note.split("; ").take(2).collect::<Vec<_>>().join("; ")
}

/// What was done, as a sentence without its subject. An action that has no sentence yet is shown as it is stored. There
/// is a way to records and workspaces of the project that is open.
fn sentence(line: &AuditLine, is_here: bool) -> (&'static str, Html) {
    let subject = line.entry.subject.as_str();
    let name = p::said(subject);
    let code = format!("<code>{name}</code>");
    let short: String = subject.chars().take(8).collect();
    let record = if is_here {
        format!(r#"<a class="mono" href="/console/records/{}">{}…</a>"#, p::esc(subject), p::esc(&short))
    } else {
        format!("<span class=\"mono\">{}…</span>", p::esc(&short))
    };
    let workspace = || match is_here {
        true => {
            let link = Query::default().with("workspace", subject).link("/console/memory");
            format!(r#"<a href="{}">{name}</a>"#, p::esc(&link))
        }
        false => name.to_string(),
    };
    let known = line.entry.subject_name.as_deref().filter(|name| !name.is_empty());
    let called = known.map_or_else(
        || format!("<span class=\"mono\">{}…</span>", p::esc(&short)),
        |name| format!("“{}”", p::said(name)),
    );
    let records = p::counted(line.affected, "record");
    let (icon, text) = match line.entry.action.as_ref() {
        "record.forget" if line.affected > 1 => ("trash", format!("forgot {records}")),
        "record.forget" => ("trash", format!("forgot the record {record}")),
        "record.tag" if line.affected > 1 => ("tag", format!("changed the tags of {records}")),
        "record.tag" => ("tag", format!("changed the tags of the record {record}")),
        "record.move" => ("workspaces", format!("moved a record, which is {record} now")),
        "record.restore" => ("undo", format!("restored the record {record}")),
        "record.purge" => {
            ("trash", format!("removed the record <span class=\"mono\">{}…</span> for good", p::esc(&short)))
        }
        "record.keep" => ("check", format!("kept the record {record} and forgot {records} that said otherwise")),
        "record.supersede" => ("undo", format!("replaced {records} by {record}")),
        "record.import" => ("plus", format!("imported {name}")),
        "source.forget" => ("trash", format!("forgot {records} of the source {name}")),
        "workspace.delete" => (
            "workspaces",
            match known {
                Some(with) => format!("deleted the workspace {name} with {}", p::esc(with)),
                None => format!("deleted the workspace {name} and forgot its records"),
            },
        ),
        "workspace.restore" => ("workspaces", format!("restored the workspace {} with its records", workspace())),
        "key.create" => ("keys", format!("made the key {called}")),
        "key.change" => ("keys", format!("changed the key {called}")),
        "key.open" => ("keys", format!("opened the link of the key {called}")),
        "key.revoke" => ("keys", format!("revoked the key {called}")),
        "connection.create" => ("connections", format!("connected {called}")),
        "connection.revoke" => ("connections", format!("ended the connection of {called}")),
        "console.end" => ("out", format!("ended a console session of {called}")),
        "member.create" => ("people", format!("added the member {called}")),
        "member.change" => ("people", format!("changed the member {called}")),
        "member.delete" => ("people", format!("removed the member {called}; {records} handed over")),
        "department.create" => ("people", format!("made the department {called}")),
        "department.change" => ("people", format!("changed the department {called}")),
        "department.delete" => ("people", format!("removed the department {called}")),
        "project.create" => ("workspaces", format!("made the project {called}")),
        "project.delete" => ("workspaces", format!("deleted the project {called}")),
        "project.tool_names" => ("integrations", format!("chose how tools are named: {name}")),
        "integration.create" => ("integrations", format!("added the integration {code}")),
        "integration.change" => ("integrations", format!("changed the integration {code}")),
        "integration.delete" => ("integrations", format!("removed the integration {code}")),
        "integration.accept" => ("integrations", format!("accepted tools: {code}")),
        "integration.call" => ("integrations", format!("called {code}")),
        "integration.rotate_key" => ("integrations", "encrypted the credentials again".to_owned()),
        "subscription.change" => ("operator", "changed the plan".to_owned()),
        "account.suspend" => ("operator", "suspended the account".to_owned()),
        "account.resume" => ("operator", "lifted the suspension".to_owned()),
        "account.create" => ("operator", "made the account".to_owned()),
        "guard.mode" => ("warn", format!("set the guard’s mode to {name}")),
        "guard.release" => ("warn", format!("released a text, hash <span class=\"mono\">{}…</span>", p::esc(&short))),
        "session.delete" => ("sessions", "deleted a session history for good".to_owned()),
        action if action.starts_with("guard.") => (
            "warn",
            format!(
                "the guard found something in a text{}, hash <span class=\"mono\">{}…</span>",
                known.map(|note| format!(" ({})", p::esc(&found_in_words(note)))).unwrap_or_default(),
                p::esc(&short)
            ),
        ),
        action => ("info", format!("<code>{}</code> {name}", p::esc(action))),
    };
    (icon, Html(text))
}
