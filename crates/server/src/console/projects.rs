//! Projects: those that a person has keys of, the way from one to the other, and making a new one.

use askama::Template;
use axum::extract::Request;
use axum::response::Response;
use http::StatusCode;
use mnemon_core::{Access, Project, ProjectId};
use mnemon_engine::admin::{AdminError, NewKeyRequest};
use mnemon_engine::console::ConsoleError;

use super::flash::Flash;
use super::keys;
use super::parts as p;
use super::query::{Pager, Query};
use super::shell::{Place, Shell};
use super::visit::{Act, Visit};
use crate::http::Fields;

const PATH: &str = "/console/projects";
/// The form that makes one.
const NEW: &str = "pro-new";

#[derive(Template)]
#[template(path = "console/projects.html")]
struct Page<'a> {
    shell: Shell<'a>,
    summary: String,
    rows: Vec<Row>,
    pager: Pager,
    may_make: bool,
    once: String,
    /// A key that was made a moment ago: for which project, and its secret.
    made: Option<(String, String)>,
}

struct Row {
    id: String,
    name: String,
    since: String,
    is_here: bool,
    /// Whether the person has a key of it.
    is_open: bool,
}

/// `GET /console/projects`
pub(super) async fn list(visit: Visit, request: Request) -> Response {
    let fields = Fields::parse(request.uri().query().unwrap_or_default().as_bytes());
    visit.show(build(&visit, &Query::of(&fields, &["page"]), None).await)
}

async fn build<'a>(visit: &'a Visit, query: &Query, made: Option<(String, String)>) -> Result<Page<'a>, ConsoleError> {
    let here = visit.project()?;
    let own = visit.engine().list_own_projects(&visit.visitor).await?;
    let mut rows: Vec<Row> = own.iter().map(|(project, _)| row(project, here, true)).collect();
    let open = rows.len() as u64;
    if visit.is_admin() {
        let all = visit.engine().list_projects(&visit.visitor.admin, visit.account()?).await?;
        let is_own = |project: &Project| own.iter().any(|(one, _)| one.id == project.id);
        rows.extend(all.iter().filter(|project| !is_own(project)).map(|project| row(project, here, false)));
    }
    let pager = Pager::cut(query, PATH, &mut rows);
    Ok(Page {
        summary: format!("You have keys of {}. Every key opens one; here you go from one to the other.", {
            p::counted(open, "project")
        }),
        shell: Shell::new(visit, Place::Projects, "Projects"),
        rows,
        pager,
        may_make: visit.is_admin() && visit.may_write(),
        once: visit.once(),
        made,
    })
}

fn row(project: &Project, here: ProjectId, is_open: bool) -> Row {
    Row {
        id: project.id.to_string(),
        name: project.name.clone(),
        since: project.created_at.strftime("since %B %Y").to_string(),
        is_here: project.id == here,
        is_open,
    }
}

fn project_in(act: &Act) -> Result<ProjectId, ConsoleError> {
    let project = act.fields.find("project").and_then(|id| id.parse().ok());
    project.ok_or_else(|| AdminError::NotFound("project").into())
}

/// `POST /console/projects/switch`
pub(super) async fn switch(act: Act) -> Response {
    let outcome = match project_in(&act) {
        Ok(project) => act.visit.turn(project).await,
        Err(error) => Err(error),
    };
    let told = outcome.map(|project| Flash::new(format!("You are in {} now.", project.name)));
    act.visit.done(told, "/console")
}

/// `POST /console/projects`: makes a project, and a key of it for the person who makes it.
pub(super) async fn create(act: Act) -> Response {
    match try_create(&act).await {
        Ok(made) => shown(&act.visit, made).await,
        Err(error) => match act.again(NEW, &error) {
            Ok(visit) => visit.show_again(build(&visit, &Query::default(), None).await),
            Err(trouble) => *trouble,
        },
    }
}

/// `POST /console/projects/key`: a key of a project of the account, for the admin who asks.
pub(super) async fn create_key(act: Act) -> Response {
    match try_create_key(&act).await {
        Ok(made) => shown(&act.visit, made).await,
        Err(error) => act.visit.trouble(&error),
    }
}

async fn shown(visit: &Visit, made: (String, String)) -> Response {
    match build(visit, &Query::default(), Some(made)).await {
        Ok(page) => visit.html(StatusCode::OK, &page),
        Err(error) => visit.trouble(&error),
    }
}

async fn try_create(act: &Act) -> Result<(String, String), ConsoleError> {
    let visit = &act.visit;
    let (account, admin) = (visit.account()?, &visit.visitor.admin);
    let key = visit.engine().check_unused(keys::once(act)?).await?;
    let name = act.fields.take("name").unwrap_or_default();
    let project = visit.engine().create_project(admin, account, &name).await?;
    own_key(visit, project, key).await
}

async fn try_create_key(act: &Act) -> Result<(String, String), ConsoleError> {
    let visit = &act.visit;
    let (project, key) = (project_in(act)?, keys::once(act)?);
    let project = visit.engine().show_project(&visit.visitor.admin, project).await?;
    own_key(visit, project, key).await
}

async fn own_key(visit: &Visit, project: Project, key: mnemon_core::KeyId) -> Result<(String, String), ConsoleError> {
    let own = &visit.member()?.credential;
    let request = NewKeyRequest {
        id: Some(key),
        member: own.member,
        access: Access::Write,
        label: Some(format!("{}’s first key", own.member_name)),
        // It must not last longer than its owner’s access.
        expires_at: own.access_until,
        workspace: None,
    };
    let made = visit.engine().create_key(&visit.visitor.admin, project.id, request).await?;
    Ok((project.name, made.key.expose().clone()))
}
