//! What the guard rejected: by hash, time and member, never the text, its rule or its score. An admin releases a text.

use askama::Template;
use axum::response::Response;
use mnemon_engine::admin::{Rejection, Release};
use mnemon_engine::console::ConsoleError;

use super::flash::Flash;
use super::parts::{self as p, Html};
use super::people::Names;
use super::shell::{Place, Shell};
use super::visit::{Act, Visit};

const PATH: &str = "/console/guard";
const PAGE_ROWS: usize = 25;

#[derive(Template)]
#[template(path = "console/guard.html")]
struct Page<'a> {
    shell: Shell<'a>,
    mode: &'static str,
    rows: Vec<Row>,
    may_write: bool,
}

struct Row {
    at: Html,
    who: String,
    state: Html,
    reference: String,
    hash: String,
    /// Whether it was refused in this project, so that it can be released here.
    is_here: bool,
}

/// `GET /console/guard`
pub(super) async fn list(visit: Visit) -> Response {
    visit.show(build(&visit).await)
}

async fn build(visit: &Visit) -> Result<Page<'_>, ConsoleError> {
    let (account, project, admin) = (visit.account()?, visit.project()?, &visit.visitor.admin);
    let engine = visit.engine();
    let mode = engine.show_guard(admin, account).await?;
    let found = engine.list_rejections(admin, account, None, PAGE_ROWS).await?;
    let names = Names::load(visit).await?;
    let row = |rejection: &Rejection| Row {
        at: p::ago(rejection.at, visit.now),
        who: rejection.member.map_or_else(|| "the service".to_owned(), |member| names.name(member)),
        state: state(rejection),
        reference: rejection.reference.clone(),
        hash: rejection.hash.clone(),
        is_here: rejection.project == Some(project),
    };
    Ok(Page {
        shell: Shell::new(visit, Place::Guard, "Guard"),
        mode: mode.as_str(),
        rows: found.iter().map(row).collect(),
        may_write: visit.may_write(),
    })
}

fn state(rejection: &Rejection) -> Html {
    match (rejection.was_stored, rejection.is_caution) {
        (false, _) => p::tone("is-alert", "rejected", "warn"),
        (true, true) => p::tone("is-stale", "stored with a mark", "stale"),
        (true, false) => p::tone("is-unverified", "only reported", "unverified"),
    }
}

/// `POST /console/guard/release`
pub(super) async fn release(act: Act) -> Response {
    act.visit.done(try_release(&act).await, PATH)
}

async fn try_release(act: &Act) -> Result<Flash, ConsoleError> {
    let visit = &act.visit;
    let release = Release::Hash(act.fields.take("hash").unwrap_or_default());
    visit.engine().release_text(&visit.visitor.admin, visit.project()?, release).await?;
    Ok(Flash::new("Released. The same text is stored the next time it is sent."))
}
