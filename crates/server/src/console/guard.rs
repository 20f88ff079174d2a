//! What the guard found: when, whose, with which key, what the text does in a few words, and what became of it. Never
//! the text or its score. An admin releases a text.

use askama::Template;
use axum::extract::Request;
use axum::response::Response;
use mnemon_engine::admin::{Rejection, Release, ShownRejection};
use mnemon_engine::console::ConsoleError;

use super::flash::Flash;
use super::parts::{self as p, Html};
use super::people::Names;
use super::query::{Pager, Query};
use super::shell::{Place, Shell};
use super::visit::{Act, Visit};
use crate::http::Fields;

const PATH: &str = "/console/guard";

#[derive(Template)]
#[template(path = "console/guard.html")]
struct Page<'a> {
    shell: Shell<'a>,
    mode: &'static str,
    rows: Vec<Row>,
    pager: Pager,
    may_write: bool,
}

struct Row {
    at: Html,
    who: String,
    key: Option<String>,
    state: Html,
    reference: String,
    hash: String,
    /// What the text was, and how long.
    what: Option<String>,
    /// What it does.
    does: Option<String>,
    source: Option<String>,
    /// The way to the source, if it is one of this project.
    source_link: Option<String>,
    /// The record with the text, if it was stored.
    record: Option<String>,
    /// Whether it can be released here: it was refused in this project, and is not released yet.
    may_release: bool,
}

/// `GET /console/guard`
pub(super) async fn list(visit: Visit, request: Request) -> Response {
    let fields = Fields::parse(request.uri().query().unwrap_or_default().as_bytes());
    visit.show(build(&visit, &Query::of(&fields, &["page"])).await)
}

async fn build<'a>(visit: &'a Visit, query: &Query) -> Result<Page<'a>, ConsoleError> {
    let (account, project, admin) = (visit.account()?, visit.project()?, &visit.visitor.admin);
    let engine = visit.engine();
    let mode = engine.show_guard(admin, account).await?;
    let mut found = engine.list_rejections(admin, account, None, usize::MAX).await?;
    let pager = Pager::cut(query, PATH, &mut found);
    let followed = engine.follow_rejections(admin, found).await?;
    let names = Names::load(visit).await?;
    let to_source = |id: &String| Query::default().with("one", id).link("/console/sources");
    let row = |ShownRejection { rejection, key_label, is_released, record }| Row {
        at: p::ago(rejection.at, visit.now),
        who: rejection.member.map_or_else(|| "the service".to_owned(), |member| names.name(member)),
        key: key_label,
        state: if is_released { p::tone("is-verified", "released", "check") } else { state(&rejection) },
        may_release: visit.may_write() && rejection.project == Some(project) && !is_released,
        // What is in another project is opened with a key of it.
        record: record.filter(|_| rejection.project == Some(project)).map(|id| id.to_string()),
        reference: rejection.reference,
        hash: rejection.hash,
        what: rejection.what,
        does: rejection.does,
        source_link: rejection.source.as_ref().filter(|_| rejection.project == Some(project)).map(to_source),
        source: rejection.source,
    };
    Ok(Page {
        shell: Shell::new(visit, Place::Guard, "Guard"),
        mode: mode.as_str(),
        rows: followed.into_iter().map(row).collect(),
        pager,
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
