//! Session histories that local agents uploaded: whose and how large, never their text.

use askama::Template;
use axum::extract::{Path, Request};
use axum::response::Response;
use mnemon_core::SessionId;
use mnemon_engine::admin::AdminError;
use mnemon_engine::console::ConsoleError;
use mnemon_engine::stored::Session;

use super::flash::Flash;
use super::parts::{self as p, Ask, Html};
use super::people::Names;
use super::query::Query;
use super::shell::{Place, Shell};
use super::visit::{Act, Visit};
use crate::http::Fields;

const PATH: &str = "/console/sessions";
const PAGE_ROWS: usize = 25;

#[derive(Template)]
#[template(path = "console/sessions.html")]
struct Page<'a> {
    shell: Shell<'a>,
    rows: Vec<Row>,
    windows: Vec<Html>,
    is_admin: bool,
    /// How much is kept, of how much.
    kept: String,
    limit: Option<(String, Html)>,
    count: String,
    first_link: Option<String>,
    next_link: Option<String>,
}

struct Row {
    name: String,
    client: String,
    who: String,
    received: String,
    kept: String,
    is_cut: bool,
    redacted: u64,
    modified: Html,
    window: Option<String>,
}

/// `GET /console/sessions`
pub(super) async fn list(visit: Visit, request: Request) -> Response {
    let fields = Fields::parse(request.uri().query().unwrap_or_default().as_bytes());
    visit.show(build(&visit, &fields).await)
}

async fn build<'a>(visit: &'a Visit, fields: &Fields) -> Result<Page<'a>, ConsoleError> {
    let unknown = || ConsoleError::Admin(AdminError::NotFound("page"));
    let after: Option<SessionId> = fields.find("after").map(|id| id.parse().map_err(|_| unknown())).transpose()?;
    let (project, admin) = (visit.project()?, &visit.visitor.admin);
    let found = visit.engine().list_sessions(admin, project, after, PAGE_ROWS).await?;
    let names = Names::load(visit).await?;
    let shell = Shell::new(visit, Place::Sessions, "Sessions");
    let may_delete = visit.is_admin() && visit.may_write();
    let windows = if may_delete {
        found.sessions.iter().map(|session| window(session, &shell.seal)).collect()
    } else {
        Vec::new()
    };
    Ok(Page {
        rows: found.sessions.iter().map(|session| row(visit, session, &names, may_delete)).collect(),
        windows,
        is_admin: visit.is_admin(),
        kept: p::bytes(found.kept_bytes),
        limit: found.bytes_max.filter(|_| visit.is_admin()).map(|max| {
            let label = format!("{} of {}", p::bytes(found.kept_bytes), p::bytes(max));
            (p::bytes(max), p::fillbar(found.kept_bytes as f64 / max.max(1) as f64, &label, "", "2"))
        }),
        count: p::number(found.count),
        first_link: after.map(|_| PATH.to_owned()),
        next_link: found.next.map(|next| Query::default().with("after", &next.to_string()).link(PATH)),
        shell,
    })
}

fn row(visit: &Visit, session: &Session, names: &Names, may_delete: bool) -> Row {
    Row {
        name: session.name.clone(),
        client: session.client.clone(),
        who: names.name(session.member),
        received: p::bytes(session.bytes),
        kept: p::bytes(session.kept_bytes),
        is_cut: session.kept_bytes < session.bytes,
        redacted: session.redacted,
        modified: p::ago(session.modified_at, visit.now),
        window: may_delete.then(|| format!("ds-{}", session.id)),
    }
}

fn window(session: &Session, seal: &str) -> Html {
    let text =
        "<p>Its text is removed <b>for good</b>, now. The agent does not send it again unless its person says so.</p>";
    p::ask(&Ask {
        id: &format!("ds-{}", session.id),
        title: "Delete this session history?".to_owned(),
        text: Html(text.to_owned()),
        yes: "Delete for good",
        action: &format!("{PATH}/{}/delete", session.id),
        fields: &[],
        inside: Html::default(),
        seal,
    })
}

/// `POST /console/sessions/{session}/delete`
pub(super) async fn delete(Path(id): Path<String>, act: Act) -> Response {
    act.visit.done(try_delete(&act, &id).await, PATH)
}

async fn try_delete(act: &Act, id: &str) -> Result<Flash, ConsoleError> {
    let visit = &act.visit;
    let id = id.parse().map_err(|_| ConsoleError::Admin(AdminError::NotFound("session")))?;
    visit.engine().delete_session(&visit.visitor.admin, visit.project()?, id).await?;
    Ok(Flash::new("Session history deleted for good."))
}
