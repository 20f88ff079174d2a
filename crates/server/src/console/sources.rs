//! Sources: which have changed since records were saved from them.

use askama::Template;
use axum::extract::Request;
use axum::response::Response;
use mnemon_core::{Status, Timestamp, WorkspaceName};
use mnemon_engine::admin::{AdminError, ShownSource, SourceQuery, SourceShow, SourceSort, SourceStates};
use mnemon_engine::console::ConsoleError;

use super::flash::Flash;
use super::parts::{self as p, Ask, Html};
use super::people::CHOICES_MAX;
use super::query::{Choice, Head, Query};
use super::shell::{Place, Shell};
use super::visit::{Act, Visit};
use crate::http::Fields;

const PATH: &str = "/console/sources";
const NAMES: [&str; 5] = ["q", "workspace", "show", "sort", "after"];
const PAGE_ROWS: usize = 25;
/// How many acts of forgetting are offered to be taken back.
const FORGOTTEN_MAX: usize = 5;

#[derive(Template)]
#[template(path = "console/sources.html")]
struct Page<'a> {
    shell: Shell<'a>,
    summary: Html,
    text: String,
    choices: Vec<Choice>,
    heads: Vec<Head>,
    is_narrowed: bool,
    rows: Vec<Row>,
    may_change: bool,
    /// The source that the page is about, if it is about one.
    one: Option<String>,
    forget: Option<Html>,
    /// What was forgotten of it together and can come back.
    forgotten: Vec<Forgotten>,
    first_link: Option<String>,
    next_link: Option<String>,
}

fn heads(asked: &Query) -> Vec<Head> {
    let head = |word, class, sort| Head::new(asked, PATH, word, class, sort);
    vec![
        head("Source", "grow", Some("name")),
        head("State", "state", Some("")),
        head("Records by status", "wide", None),
        head("Records", "num", Some("records")),
        head("Stale", "num", Some("stale")),
        head("Newest known", "", None),
        head("Last checked", "", Some("checked")),
    ]
}

/// Records that one act forgot.
struct Forgotten {
    records: String,
    at: Html,
    moment: String,
    workspace: String,
}

struct Row {
    id: String,
    workspace: String,
    workspace_link: String,
    link: String,
    one_link: String,
    state: Html,
    bar: Html,
    records: String,
    stale: u64,
    hash: Option<String>,
    known_at: Option<Html>,
    checked_at: Option<Html>,
}

/// `GET /console/sources`
pub(super) async fn list(visit: Visit, request: Request) -> Response {
    let fields = Fields::parse(request.uri().query().unwrap_or_default().as_bytes());
    visit.show(build(&visit, &fields).await)
}

async fn build<'a>(visit: &'a Visit, fields: &Fields) -> Result<Page<'a>, ConsoleError> {
    let (project, admin) = (visit.project()?, &visit.visitor.admin);
    let (asked, one) = (Query::of(fields, &NAMES), fields.take("one"));
    let mut wanted = wanted(&asked, one.as_deref())?;
    let mut found = visit.engine().list_source_states(admin, project, &wanted).await?;
    if let Some(one) = &one {
        // Other ids may have the letters of this one in them.
        while !found.sources.iter().any(|source| source.source_id == *one) {
            let Some(next) = found.next.take() else { break };
            wanted.after = Some(next);
            found = visit.engine().list_source_states(admin, project, &wanted).await?;
        }
        found.sources.retain(|source| source.source_id == *one);
        found.next = None;
    }
    let workspaces = visit.engine().list_workspace_names(admin, project).await?;
    let shell = Shell::new(visit, Place::Sources, one.as_deref().unwrap_or("Sources"));
    let may_change = visit.may_change_memory();
    let forget = match (&one, found.sources.first()) {
        (Some(_), Some(source)) if may_change => Some(forget_window(source, &shell.seal)),
        _ => None,
    };
    let forgotten = match (&one, asked.find("workspace")) {
        (Some(one), Some(name)) if visit.may_write() => forgotten(visit, one, named(name)?).await?,
        _ => Vec::new(),
    };
    let rows: Vec<Row> = found.sources.iter().map(|source| row(visit, source)).collect();
    Ok(Page {
        summary: summary(&found, one.is_some()),
        text: asked.find("q").unwrap_or_default().to_owned(),
        choices: choices(&asked, &workspaces),
        heads: heads(&asked),
        is_narrowed: asked.without(&["after", "sort"]) != Query::default(),
        rows,
        may_change,
        forget,
        forgotten,
        first_link: asked.find("after").map(|_| asked.without(&["after"]).link(PATH)),
        next_link: found.next.map(|(name, id)| asked.with("after", &format!("{name}\n{id}")).link(PATH)),
        one,
        shell,
    })
}

/// The latest of what was forgotten of a source.
async fn forgotten(visit: &Visit, source: &str, workspace: WorkspaceName) -> Result<Vec<Forgotten>, ConsoleError> {
    let (project, admin) = (visit.project()?, &visit.visitor.admin);
    let found = visit.engine().list_forgotten_of_source(admin, project, &workspace, source).await?;
    let shown = found.into_iter().take(FORGOTTEN_MAX).map(|together| Forgotten {
        records: p::counted(together.records, "record"),
        at: p::ago(together.at, visit.now),
        moment: together.at.as_microsecond().to_string(),
        workspace: workspace.to_string(),
    });
    Ok(shown.collect())
}

fn wanted(asked: &Query, one: Option<&str>) -> Result<SourceQuery, ConsoleError> {
    let workspace = asked.find("workspace").map(named).transpose()?;
    if let Some(one) = one {
        return Ok(SourceQuery { text: Some(one.to_owned()), workspace, limit: PAGE_ROWS, ..SourceQuery::default() });
    }
    // No name and no id contains a line break.
    let sort = asked.find("sort").and_then(SourceSort::parse).unwrap_or_default();
    let after = asked.find("after").and_then(|after| after.split_once('\n'));
    Ok(SourceQuery {
        text: asked.find("q").map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned),
        workspace,
        show: match asked.find("show") {
            Some("changed") => SourceShow::Changed,
            Some("unchecked") => SourceShow::NeverChecked,
            _ => SourceShow::All,
        },
        sort,
        after: after.map(|(name, id)| Ok::<_, ConsoleError>((named(name)?, id.to_owned()))).transpose()?,
        limit: PAGE_ROWS,
    })
}

fn named(workspace: &str) -> Result<WorkspaceName, ConsoleError> {
    WorkspaceName::parse(workspace).map_err(|error| AdminError::Invalid(error.to_string()).into())
}

fn choices(asked: &Query, workspaces: &[WorkspaceName]) -> Vec<Choice> {
    let names = workspaces.iter().take(CHOICES_MAX).map(|name| (name.to_string(), name.to_string()));
    let shows = [("changed", "Only changed"), ("unchecked", "Never checked")];
    let shows = shows.map(|(value, word)| (value.to_owned(), word.to_owned()));
    vec![
        Choice::new(asked, "workspace", "Workspace", "All workspaces", names),
        Choice::new(asked, "show", "Show", "Changed first", shows),
    ]
}

fn summary(found: &SourceStates, is_one: bool) -> Html {
    if is_one {
        return Html("A source, and how the records that came from it stand.".to_owned());
    }
    let here = format!("{} in this project.", p::counted(found.total, "source"));
    Html(match found.changed {
        0 if found.total == 0 => "A source is where a record comes from: a file, a page, a message.".to_owned(),
        0 => format!("{here} None has changed since records were saved from it."),
        1 => format!(
            "{here} <b>1 has changed</b> since records were saved from it; {} stale for that.",
            are(found.stale)
        ),
        many => format!(
            "{here} <b>{} have changed</b> since records were saved from them; {} stale for that.",
            p::number(many),
            are(found.stale)
        ),
    })
}

fn are(records: u64) -> String {
    format!("{} {}", p::counted(records, "record"), if records == 1 { "is" } else { "are" })
}

fn row(visit: &Visit, source: &ShownSource) -> Row {
    let counts = &source.counts;
    let state = if source.known.state.is_gone {
        p::chip_as(Status::Stale, "gone")
    } else if counts.stale > 0 {
        p::chip_as(Status::Stale, "changed")
    } else if counts.verified > 0 && counts.unverified == 0 {
        p::chip_as(Status::Verified, "unchanged")
    } else {
        p::chip_as(Status::Unverified, "not checked")
    };
    let query = |name| Query::default().with(name, &source.source_id).with("workspace", source.workspace.as_str());
    Row {
        id: source.source_id.clone(),
        workspace: source.workspace.to_string(),
        workspace_link: Query::default().with("workspace", source.workspace.as_str()).link("/console/memory"),
        link: query("source").link("/console/memory"),
        one_link: query("one").link(PATH),
        state,
        bar: p::status_bar(counts),
        records: p::number(counts.total()),
        stale: counts.stale,
        hash: source.current_source_hash().map(str::to_owned),
        known_at: source.known.known_at.map(|at| p::ago(at, visit.now)),
        checked_at: source.known.confirmed_at.map(|at| p::ago(at, visit.now)),
    }
}

fn forget_window(source: &ShownSource, seal: &str) -> Html {
    let records = p::counted(source.counts.total(), "record");
    let text = format!(
        "<p>{records} of the workspace <b>{}</b> leave every search at once. You can restore them for 30 days.</p>",
        p::esc(source.workspace.as_str())
    );
    p::ask(&Ask {
        id: "forget-source",
        title: format!("Forget every record of {}?", source.source_id),
        text: Html(text),
        yes: &format!("Forget {records}"),
        action: "/console/sources/forget",
        fields: &[("source", &source.source_id), ("workspace", source.workspace.as_str())],
        inside: Html::default(),
        seal,
    })
}

/// `POST /console/sources/check`
pub(super) async fn check(act: Act) -> Response {
    let visit = &act.visit;
    let source = act.fields.find("source").unwrap_or_default();
    let hash = act.fields.find("hash").map(str::trim).filter(|hash| !hash.is_empty());
    let outcome = match named(act.fields.find("workspace").unwrap_or_default()) {
        Ok(workspace) => visit.engine().check_source_in_console(&visit.visitor, workspace, source, hash).await,
        Err(error) => Err(error),
    };
    let told = outcome.map(|checked| {
        let stale = checked.stale.len();
        Flash::new(format!(
            "Checked {}: {} verified, {} unverified, {stale} stale, {} in conflict.",
            checked.source_id,
            checked.verified,
            checked.unverified,
            checked.conflicting.len()
        ))
    });
    visit.done(told, PATH)
}

/// `POST /console/sources/forget`
pub(super) async fn forget(act: Act) -> Response {
    let visit = &act.visit;
    let source = act.fields.find("source").unwrap_or_default();
    let outcome = match named(act.fields.find("workspace").unwrap_or_default()) {
        Ok(workspace) => visit.engine().forget_source_in_console(&visit.visitor, workspace, source).await,
        Err(error) => Err(error),
    };
    let told = outcome.map(|count| Flash::new(format!("{} forgotten.", p::counted(count as u64, "record"))));
    // Its own page offers to take it back for as long as that is possible.
    visit.done(told, &page_of(&act))
}

/// The page of the source that a form is about.
fn page_of(act: &Act) -> String {
    let field = |name| act.fields.find(name).unwrap_or_default();
    Query::default().with("one", field("source")).with("workspace", field("workspace")).link(PATH)
}

/// `POST /console/sources/restore`
pub(super) async fn restore(act: Act) -> Response {
    act.visit.done(try_restore(&act).await, &page_of(&act))
}

async fn try_restore(act: &Act) -> Result<Flash, ConsoleError> {
    let (visit, fields) = (&act.visit, &act.fields);
    let workspace = named(fields.find("workspace").unwrap_or_default())?;
    let source = fields.find("source").unwrap_or_default();
    let moment = fields.find("moment").and_then(|moment| Timestamp::from_microsecond(moment.parse().ok()?).ok());
    let (engine, admin, project) = (visit.engine(), &visit.visitor.admin, visit.project()?);
    let count = engine.restore_source(admin, project, &workspace, source, moment).await?;
    Ok(Flash::new(format!("{} restored.", p::counted(count, "record"))))
}
