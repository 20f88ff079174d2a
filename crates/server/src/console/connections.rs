//! Connections: web clients that came in by OAuth, each standing for a key, and browsers that are signed in to this
//! console.

use askama::Template;
use axum::extract::{Path, Request};
use axum::response::Response;
use mnemon_core::{KeyId, Timestamp};
use mnemon_engine::admin::AdminError;
use mnemon_engine::console::ConsoleError;
use mnemon_engine::oauth::TOKEN_LIFE;
use mnemon_engine::stored::{ConnectionRow, KeyRow, OpenSession};

use url::Url;

use super::flash::Flash;
use super::parts::{self as p, Ask, Html};
use super::people::Names;
use super::query::{Pager, Query};
use super::shell::{Place, Shell};
use super::visit::{Act, Visit};
use crate::http::Fields;

const PATH: &str = "/console/connections";
const SOON_SECONDS: i64 = 7 * 86_400;
/// How many browsers are shown; the oldest are left out.
const BROWSERS_MAX: usize = 25;

#[derive(Template)]
#[template(path = "console/connections.html")]
struct Page<'a> {
    shell: Shell<'a>,
    rows: Vec<Row>,
    pager: Pager,
    browsers: Vec<Browser>,
    /// Whether this person sees those of others too.
    has_others: bool,
    windows: Vec<Html>,
}

/// Somebody who is signed in to the console.
struct Browser {
    name: String,
    /// Whether it is the one that shows this page.
    is_this: bool,
    who: String,
    key: String,
    since: Html,
    ends: Html,
    window: Option<String>,
}

struct Row {
    name: String,
    /// Where the client had its person sent back to.
    host: Option<String>,
    who: String,
    key: String,
    used: Option<Html>,
    made: Html,
    left: Html,
    window: Option<String>,
}

/// `GET /console/connections`
pub(super) async fn list(visit: Visit, request: Request) -> Response {
    let fields = Fields::parse(request.uri().query().unwrap_or_default().as_bytes());
    visit.show(build(&visit, &Query::of(&fields, &["page"])).await)
}

async fn build<'a>(visit: &'a Visit, query: &Query) -> Result<Page<'a>, ConsoleError> {
    let (project, admin) = (visit.project()?, &visit.visitor.admin);
    let mut connections = visit.engine().list_connections(admin, project).await?;
    connections.retain(|row| row.revoked_at.is_none() && visit.now < row.expires_at);
    connections.reverse();
    let pager = Pager::cut(query, PATH, &mut connections);
    let keys = visit.engine().list_keys(admin, project).await?;
    let keys: Vec<KeyRow> = keys.into_iter().map(|shown| shown.key).collect();
    let names = Names::load(visit).await?;
    let shell = Shell::new(visit, Place::Connections, "Connections");
    let may_end = visit.manages() && visit.may_write();
    let mut windows: Vec<Html> =
        if may_end { connections.iter().map(|row| window(row, &shell.seal)).collect() } else { Vec::new() };
    let mut open = visit.engine().list_console_sessions(admin, project).await?;
    open.reverse();
    open.truncate(BROWSERS_MAX);
    if visit.may_write() {
        windows.extend(open.iter().map(|session| browser_window(session, &names, visit, &shell.seal)));
    }
    Ok(Page {
        has_others: visit.manages(),
        pager,
        browsers: open.iter().map(|session| show_browser(visit, session, &keys, &names)).collect(),
        rows: connections.iter().map(|row| show(visit.now, row, &keys, &names, may_end)).collect(),
        windows,
        shell,
    })
}

fn client(row: &ConnectionRow) -> String {
    row.client_name.clone().unwrap_or_else(|| "An unnamed program".to_owned())
}

fn label(keys: &[KeyRow], id: KeyId) -> String {
    let key = keys.iter().find(|key| key.id == id).and_then(|key| key.label.clone());
    key.unwrap_or_else(|| "without a label".to_owned())
}

fn show_browser(visit: &Visit, session: &OpenSession, keys: &[KeyRow], names: &Names) -> Browser {
    let holder = &session.holder;
    Browser {
        name: holder.browser.clone(),
        is_this: visit.visitor.session == Some(holder.id),
        who: names.name(holder.member),
        key: label(keys, holder.key),
        since: p::ago(session.created_at, visit.now),
        ends: p::ago(session.expires_at, visit.now),
        window: visit.may_write().then(|| format!("eb-{}", holder.id)),
    }
}

fn browser_window(session: &OpenSession, names: &Names, visit: &Visit, seal: &str) -> Html {
    let id = session.holder.id;
    let this = if visit.visitor.session == Some(id) { " It is the one you look at now." } else { "" };
    p::ask(&Ask {
        id: &format!("eb-{id}"),
        title: format!("End the session of {} in {}?", names.name(session.holder.member), session.holder.browser),
        text: Html(format!(
            "<p>The browser is asked for a key at its next click.{this} The key stays; to end that too, revoke it under Keys.</p>"
        )),
        yes: "End it",
        action: &format!("{PATH}/browsers/{id}/end"),
        fields: &[],
        inside: Html::default(),
        seal,
    })
}

fn show(now: Timestamp, row: &ConnectionRow, keys: &[KeyRow], names: &Names, may_end: bool) -> Row {
    let seconds = row.expires_at.as_second() - now.as_second();
    let words = p::span_of(seconds.max(60));
    let share = seconds as f64 / TOKEN_LIFE.as_secs() as f64;
    let is_soon = seconds < SOON_SECONDS;
    let bar = p::fillbar(share, &words, "bar-slim bar-under", if is_soon { "stale" } else { "3" });
    let words = if is_soon { p::tone("is-stale", &words, "stale").0 } else { words };
    Row {
        name: client(row),
        host: row.redirect_uri.as_deref().and_then(returns_to),
        who: names.name(row.member),
        key: label(keys, row.key),
        used: row.last_used_at.map(|at| p::ago(at, now)),
        made: p::ago(row.created_at, now),
        left: Html(format!("{words}{bar}")),
        window: may_end.then(|| format!("rc-{}", row.id)),
    }
}

fn returns_to(uri: &str) -> Option<String> {
    let host = Url::parse(uri).ok()?.host_str()?.to_owned();
    let is_local = matches!(host.as_str(), "localhost" | "127.0.0.1" | "[::1]");
    Some(if is_local { "a program on a person’s own computer".to_owned() } else { format!("returns to {host}") })
}

fn window(row: &ConnectionRow, seal: &str) -> Html {
    let text =
        "<p>It is refused from the next request on. The key stays. The person can connect again by pasting a key.</p>";
    p::ask(&Ask {
        id: &format!("rc-{}", row.id),
        title: format!("End the connection of {}?", client(row)),
        text: Html(text.to_owned()),
        yes: "End it",
        action: &format!("{PATH}/{}/end", row.id),
        fields: &[],
        inside: Html::default(),
        seal,
    })
}

/// `POST /console/connections/{connection}/end`
pub(super) async fn end(Path(id): Path<String>, act: Act) -> Response {
    let visit = &act.visit;
    let outcome = match id.parse() {
        Ok(id) => visit.engine().revoke_connection(&visit.visitor.admin, id).await.map_err(ConsoleError::from),
        Err(_) => Err(AdminError::NotFound("connection").into()),
    };
    visit.done(outcome.map(|()| Flash::new("Connection ended.")), PATH)
}

/// `POST /console/connections/browsers/{console_session}/end`
pub(super) async fn end_browser(Path(id): Path<String>, act: Act) -> Response {
    act.visit.done(try_end_browser(&act.visit, &id).await, PATH)
}

async fn try_end_browser(visit: &Visit, id: &str) -> Result<Flash, ConsoleError> {
    let id = id.parse().map_err(|_| AdminError::NotFound("console session"))?;
    visit.engine().end_console_session(&visit.visitor.admin, visit.project()?, id).await?;
    Ok(Flash::new("Session ended."))
}
