//! Workspaces: their counts by status, deleting one, and undoing that.

use std::cmp::Reverse;

use askama::Template;
use axum::extract::Request;
use axum::response::Response;
use mnemon_core::WorkspaceName;
use mnemon_engine::admin::{AdminError, ShownWorkspace};
use mnemon_engine::console::ConsoleError;

use super::flash::Flash;
use super::parts::{self as p, Html};
use super::query::{Pager, Query};
use super::shell::{Place, Shell};
use super::visit::{Act, Visit};
use crate::http::Fields;

const PATH: &str = "/console/workspaces";
/// How many deleted workspaces are shown, the latest first.
const DELETED_MAX: usize = 25;

#[derive(Template)]
#[template(path = "console/workspaces.html")]
struct Page<'a> {
    shell: Shell<'a>,
    text: String,
    rows: Vec<Row>,
    pager: Pager,
    by_name: String,
    by_records: String,
    by_saved: String,
    by_since: String,
    deleted: Vec<Deleted>,
    /// The workspace that is about to be deleted, and the pattern of its name.
    asked: Option<(String, String)>,
    may_delete: bool,
}

struct Row {
    name: String,
    link: String,
    delete_link: String,
    bar: Html,
    records: String,
    last_save: Option<Html>,
    since: Html,
}

struct Deleted {
    name: String,
    at: Html,
    records: String,
}

/// `GET /console/workspaces`
pub(super) async fn list(visit: Visit, request: Request) -> Response {
    let fields = Fields::parse(request.uri().query().unwrap_or_default().as_bytes());
    let query = Query::of(&fields, &["q", "sort", "page"]);
    visit.show(build(&visit, &query, fields.find("delete")).await)
}

async fn build<'a>(visit: &'a Visit, query: &Query, asked: Option<&str>) -> Result<Page<'a>, ConsoleError> {
    let (project, admin) = (visit.project()?, &visit.visitor.admin);
    let mut workspaces = visit.engine().list_workspaces(admin, project).await?;
    let text = query.find("q").unwrap_or_default().trim().to_lowercase();
    workspaces.retain(|workspace| workspace.name.as_str().to_lowercase().contains(&text));
    // They come by name.
    match query.find("sort") {
        Some("records") => workspaces.sort_by_key(|workspace| Reverse(workspace.records)),
        Some("saved") => workspaces.sort_by_key(|workspace| Reverse(workspace.standing.last_saved_at)),
        Some("since") => workspaces.sort_by_key(|workspace| Reverse(workspace.created_at)),
        _ => {}
    }
    let pager = Pager::cut(query, PATH, &mut workspaces);
    let mut deleted =
        if visit.is_admin() { visit.engine().list_deleted_workspaces(admin, project).await? } else { Vec::new() };
    deleted.truncate(DELETED_MAX);
    let shell = Shell::new(visit, Place::Workspaces, "Workspaces");
    let may_delete = visit.is_admin() && visit.may_write();
    let sorted = |sort| query.without(&["page"]).with("sort", sort).link(PATH);
    Ok(Page {
        by_name: query.without(&["sort", "page"]).link(PATH),
        by_records: sorted("records"),
        by_saved: sorted("saved"),
        by_since: sorted("since"),
        asked: asked.filter(|_| may_delete).map(|name| (name.to_owned(), pattern(name))),
        rows: workspaces.iter().map(|workspace| row(visit, query, workspace)).collect(),
        text: query.find("q").unwrap_or_default().to_owned(),
        pager,
        deleted: deleted.iter().filter_map(|workspace| to_deleted(visit, workspace)).collect(),
        may_delete,
        shell,
    })
}

fn row(visit: &Visit, query: &Query, workspace: &ShownWorkspace) -> Row {
    Row {
        name: workspace.name.to_string(),
        link: Query::default().with("workspace", workspace.name.as_str()).link("/console/memory"),
        delete_link: format!("{}#delete", query.with("delete", workspace.name.as_str()).link(PATH)),
        bar: p::status_bar(&workspace.standing.counts),
        records: p::number(workspace.records),
        last_save: workspace.standing.last_saved_at.map(|at| p::ago(at, visit.now)),
        since: p::ago(workspace.created_at, visit.now),
    }
}

fn to_deleted(visit: &Visit, workspace: &ShownWorkspace) -> Option<Deleted> {
    let at = p::ago(workspace.deleted_at?, visit.now);
    Some(Deleted { name: workspace.name.to_string(), at, records: p::counted(workspace.records, "record") })
}

/// A name is letters, digits and a few marks; what a pattern gives a meaning to is put in brackets.
fn pattern(name: &str) -> String {
    let letter = |letter: char| if letter.is_alphanumeric() { letter.to_string() } else { format!("[{letter}]") };
    name.chars().map(letter).collect()
}

fn named(act: &Act) -> Result<WorkspaceName, ConsoleError> {
    let name = act.fields.find("name").unwrap_or_default();
    WorkspaceName::parse(name).map_err(|_| AdminError::NotFound("workspace").into())
}

/// `POST /console/workspaces/delete`
pub(super) async fn delete(act: Act) -> Response {
    let visit = &act.visit;
    visit.done(try_delete(&act).await, PATH)
}

async fn try_delete(act: &Act) -> Result<Flash, ConsoleError> {
    let (visit, name) = (&act.visit, named(act)?);
    if act.fields.find("typed") != Some(name.as_str()) {
        return Err(AdminError::Invalid("the typed name is not the workspace's".to_owned()).into());
    }
    let (count, _) = visit.engine().delete_workspace(&visit.visitor.admin, visit.project()?, &name).await?;
    let told = Flash::new(format!("Workspace “{name}” deleted, with {}.", p::counted(count, "record")));
    Ok(told.with_undo("/console/workspaces/restore", "name", name.to_string()))
}

/// `POST /console/workspaces/restore`
pub(super) async fn restore(act: Act) -> Response {
    let visit = &act.visit;
    visit.done(try_restore(&act).await, PATH)
}

async fn try_restore(act: &Act) -> Result<Flash, ConsoleError> {
    let (visit, name) = (&act.visit, named(act)?);
    let count = visit.engine().restore_workspace(&visit.visitor.admin, visit.project()?, &name).await?;
    Ok(Flash::new(format!("Workspace “{name}” restored, with {}.", p::counted(count, "record"))))
}
