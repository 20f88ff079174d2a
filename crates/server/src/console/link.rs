//! A link that hands a key over: its holder sees whose key waits, and opens it once. Looking does not open it, so a
//! chat program that fetches the address for a preview takes nothing away.

use askama::Template;
use axum::extract::{Path, Request, State};
use axum::response::Response;
use http::header::RETRY_AFTER;
use http::{HeaderValue, StatusCode};
use mnemon_core::Access;
use mnemon_engine::admin::{LinkError, WaitingKey};

use super::assets::{ASSETS, Assets};
use super::page;
use super::parts as p;
use super::visit::comes_from_our_page;
use crate::http::App;

#[derive(Template)]
#[template(path = "console/link.html")]
struct Page<'a> {
    assets: &'static Assets,
    service: &'a str,
    waiting: &'a WaitingKey,
    may: &'static str,
    ends: String,
    action: String,
    /// Once it is opened: the key, and the command that uses it.
    opened: Option<(String, String)>,
}

/// `GET /console/link/{code}`
pub(super) async fn show(State(app): State<App>, Path(code): Path<String>, request: Request) -> Response {
    let caller = app.0.caller(request.extensions(), request.headers());
    match app.0.engine.find_link(&code, caller).await {
        Ok(waiting) => answer(&app, &code, &waiting, None),
        Err(error) => refused(&app, &error),
    }
}

/// `POST /console/link/{code}`: the answer shows the key, and nothing else ever does.
pub(super) async fn open(State(app): State<App>, Path(code): Path<String>, request: Request) -> Response {
    if !comes_from_our_page(&app.0, request.headers()) {
        return page::foreign(&app);
    }
    let caller = app.0.caller(request.extensions(), request.headers());
    match app.0.engine.open_link(&code, caller).await {
        Ok((waiting, secret)) => answer(&app, &code, &waiting, Some(secret.expose().clone())),
        Err(error) => refused(&app, &error),
    }
}

fn answer(app: &App, code: &str, waiting: &WaitingKey, secret: Option<String>) -> Response {
    let key = &waiting.key;
    let url = app.0.issuer.resource();
    let command = |secret: &str| {
        format!(
            "claude mcp add --transport http -s user mnemon {url} \\\n  --header \"Authorization: Bearer {secret}\""
        )
    };
    let shown = Page {
        assets: &ASSETS,
        service: &app.0.service_name,
        waiting,
        may: if key.access == Access::Write { "save, search and forget" } else { "search" },
        ends: key.expires_at.map_or_else(|| "has no end".to_owned(), |end| format!("ends on {}", p::day(end))),
        action: format!("/console/link/{code}"),
        opened: secret.map(|secret| (secret.clone(), command(&secret))),
    };
    page::html(StatusCode::OK, &shown)
}

fn refused(app: &App, error: &LinkError) -> Response {
    const ASK: &str = "Ask the person who sent you the link for another one.";
    let gone = |title: &str, text: &str| page::plain_error(app, StatusCode::GONE, title, text);
    match error {
        LinkError::Opened { at } => {
            let text = format!(
                "Its key was shown on {}, and is shown once only. If that was not you, tell the person who sent you \
                 the link at once: the key has to be revoked. {ASK}",
                p::exact(*at)
            );
            gone("This link was opened before", &text)
        }
        LinkError::Ended { at } => gone("This link has ended", &format!("It ended on {}. {ASK}", p::exact(*at))),
        LinkError::Withdrawn => gone("This link was withdrawn", &format!("Its key was revoked. {ASK}")),
        LinkError::Unknown => {
            let text = format!("Check that the address was copied whole. {ASK}");
            page::plain_error(app, StatusCode::NOT_FOUND, "There is no such link", &text)
        }
        LinkError::TooMany { retry_after_seconds: seconds } => {
            let text = format!("Too many wrong links from your address. Wait {seconds} seconds, then open it again.");
            let mut response = page::plain_error(app, StatusCode::TOO_MANY_REQUESTS, "One moment, please", &text);
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(*seconds));
            response
        }
        LinkError::Store(error) => page::storage_unavailable(app, error),
    }
}
