//! A page as an answer: its headers, and what is shown when something went wrong or nobody is signed in.

use askama::Template;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, LOCATION, REFERRER_POLICY, RETRY_AFTER,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use http::{HeaderValue, Method, StatusCode};
use mnemon_engine::CallError;
use mnemon_engine::admin::AdminError;
use mnemon_engine::console::ConsoleError;
use mnemon_engine::stored::StoreError;
use url::form_urlencoded;

use super::assets::{ASSETS, Assets, ICONS};
use super::parts as p;
use crate::http::{App, NoRoom};

const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; \
                      form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; \
                      trusted-types 'none'";

/// A page before anybody is known.
#[derive(Template)]
#[template(path = "console/plain.html")]
struct Plain<'a> {
    assets: &'static Assets,
    service: &'a str,
    title: &'a str,
    text: &'a str,
    /// Where the page goes by itself, or by a link.
    onward: &'a str,
    goes_by_itself: bool,
}

/// Says when to come back, where waiting helps.
pub(super) fn with_retry(mut response: Response, error: &ConsoleError) -> Response {
    if let Some(seconds) = retry_after_seconds(error) {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

fn retry_after_seconds(error: &ConsoleError) -> Option<u64> {
    match error {
        ConsoleError::Admin(AdminError::Call(error)) | ConsoleError::Call(error) => error.retry_after_seconds(),
        ConsoleError::Admin(_) => None,
    }
}

/// What to change, if another input would help.
pub(super) fn to_mend(error: &ConsoleError) -> Option<(StatusCode, String)> {
    let text = match error {
        ConsoleError::Admin(AdminError::Invalid(text) | AdminError::Conflict(text)) => text.clone(),
        ConsoleError::Call(error @ (CallError::Argument(_) | CallError::Guard { .. }))
        | ConsoleError::Admin(AdminError::Call(error @ (CallError::Argument(_) | CallError::Guard { .. }))) => {
            error.to_string()
        }
        _ => return None,
    };
    Some((words(error).0, format!("{}. Nothing was changed.", capitalised(text.trim_end_matches('.')))))
}

/// A fault in words: what happened, that nothing was changed, what to do.
pub(super) fn words(error: &ConsoleError) -> (StatusCode, &'static str, String) {
    let told = |text: &str| format!("{}. Nothing was changed.", capitalised(text.trim_end_matches('.')));
    match error {
        ConsoleError::Admin(AdminError::Store(cause)) | ConsoleError::Call(CallError::Store(cause)) => storage(cause),
        ConsoleError::Admin(AdminError::NotFound(what)) => {
            let text = format!(
                "There is no such {what}, or you may not see it. It may have been removed a moment ago. Nothing was changed."
            );
            (StatusCode::NOT_FOUND, "Not found", text)
        }
        ConsoleError::Call(CallError::NotFound(_)) => {
            let text = "It was forgotten by somebody else a moment ago, or you may not see it. Nothing was changed.";
            (StatusCode::NOT_FOUND, "Not found", text.to_owned())
        }
        ConsoleError::Admin(AdminError::Forbidden(text)) => {
            (StatusCode::FORBIDDEN, "That is not yours to do", told(text))
        }
        ConsoleError::Admin(AdminError::Invalid(text)) => (StatusCode::BAD_REQUEST, "That did not work", told(text)),
        ConsoleError::Admin(AdminError::Conflict(text)) => (StatusCode::CONFLICT, "That did not work", told(text)),
        ConsoleError::Call(error @ CallError::ReadOnlyKey) => {
            (StatusCode::FORBIDDEN, "That is not yours to do", told(&error.to_string()))
        }
        ConsoleError::Admin(AdminError::Call(error)) | ConsoleError::Call(error)
            if error.retry_after_seconds().is_some() =>
        {
            let seconds = error.retry_after_seconds().unwrap_or(1);
            let text = format!("{} Try again in {}.", told(&error.to_string()), p::counted(seconds, "second"));
            (StatusCode::TOO_MANY_REQUESTS, "Too many calls", text)
        }
        ConsoleError::Admin(AdminError::Call(error @ CallError::Subscription(_)))
        | ConsoleError::Call(error @ CallError::Subscription(_)) => {
            (StatusCode::FORBIDDEN, "The subscription does not allow that", told(&error.to_string()))
        }
        ConsoleError::Admin(AdminError::Call(error)) | ConsoleError::Call(error) => {
            (StatusCode::BAD_REQUEST, "That did not work", told(&error.to_string()))
        }
    }
}

fn storage(cause: &StoreError) -> (StatusCode, &'static str, String) {
    match cause {
        StoreError::Away(_) => (
            StatusCode::SERVICE_UNAVAILABLE,
            "The service can’t reach its storage",
            "Nothing was changed. The page could not be put together because the database does not answer. Try again in a \
             few seconds."
                .to_owned(),
        ),
        StoreError::Full => (
            StatusCode::INSUFFICIENT_STORAGE,
            "Storage is full",
            "Nothing was changed. The operator of this service has to free space.".to_owned(),
        ),
        _ => (
            StatusCode::INTERNAL_SERVER_ERROR,
            "Something went wrong on our side",
            "Nothing was changed, as far as we know.".to_owned(),
        ),
    }
}

/// Logs the cause, and returns its reference.
pub(super) fn note(app: &App, error: &ConsoleError) -> String {
    let reference = app.0.engine.fault_reference();
    crate::access_log::note(|notes| notes.reference = Some(reference.clone()));
    tracing::error!(%error, reference, "a page of the console failed");
    reference
}

/// An error page for a person who is not signed in.
pub(super) fn plain_error(app: &App, status: StatusCode, title: &str, text: &str) -> Response {
    plain(app, status, title, text, "/console", false)
}

pub(super) fn plain_trouble(app: &App, error: &ConsoleError) -> Response {
    let (status, title, mut text) = words(error);
    if status.is_server_error() {
        text = format!("{text} Reference: {}", note(app, error));
    }
    with_retry(plain_error(app, status, title, &text), error)
}

pub(super) fn storage_unavailable(app: &App, error: &StoreError) -> Response {
    plain_trouble(app, &ConsoleError::Admin(AdminError::Store(error.clone())))
}

/// For an address of the console that leads nowhere, or is an act.
pub(super) async fn nowhere(State(app): State<App>, method: Method) -> Response {
    let (status, text) = if method == Method::GET {
        (StatusCode::NOT_FOUND, "The console has no page at this address. Check it, or start from the first page.")
    } else {
        (StatusCode::NOT_FOUND, "The console has nothing to send to at this address. Nothing was changed.")
    };
    plain_error(&app, status, "No such page", text)
}

/// For an address that only takes forms, or only shows a page.
pub(super) async fn other_method(State(app): State<App>) -> Response {
    let text = "This address can’t be opened like this. Nothing was changed. Start from the first page.";
    plain_error(&app, StatusCode::METHOD_NOT_ALLOWED, "No such page", text)
}

/// There is no room for a page right now.
pub(super) fn busy(app: &App, no_room: NoRoom) -> Response {
    let text = format!("{}. Nothing was changed.", capitalised(&no_room.to_string()));
    let mut response = plain_error(app, no_room.status(), "One moment, please", &text);
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(NoRoom::RETRY_AFTER_SECONDS));
    response
}

fn capitalised(text: &str) -> String {
    let mut rest = text.chars();
    let first: String = rest.next().map(|first| first.to_uppercase().collect()).unwrap_or_default();
    format!("{first}{}", rest.as_str())
}

/// A form that was not sent from one of our pages.
pub(super) fn foreign(app: &App) -> Response {
    let text = "This form was not sent from a page of this console in this browser, or that page is from an earlier session. \
                Nothing was changed. Open the console and try again.";
    plain_error(app, StatusCode::FORBIDDEN, "That form is not ours", text)
}

/// A page that goes to the same address again, now as one of ours.
pub(super) fn once_more(app: &App, path: &str) -> Response {
    plain(app, StatusCode::OK, "One moment", "The console opens.", path, true)
}

fn plain(app: &App, status: StatusCode, title: &str, text: &str, onward: &str, goes_by_itself: bool) -> Response {
    let service = &app.0.service_name;
    html(status, &Plain { assets: &ASSETS, service, title, text, onward, goes_by_itself })
}

/// What somebody asked for when the session was over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    Page,
    Act,
}

impl Ended {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Page => "page",
            Self::Act => "act",
        }
    }

    pub(super) fn parse(word: &str) -> Self {
        if word == Self::Act.as_str() { Self::Act } else { Self::Page }
    }
}

/// On to the form that asks for a key, and from there back to where somebody wanted to go.
pub(super) fn to_sign_in(path: &str, ended: Option<Ended>) -> Response {
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.append_pair("to", path);
    if let Some(ended) = ended {
        query.append_pair("ended", ended.as_str());
    }
    go(&format!("/console/sign-in?{}", query.finish()))
}

/// 303: what comes next is fetched, and what was posted is not posted again.
pub(super) fn go(location: &str) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SEE_OTHER;
    guard(&mut response);
    if let Ok(location) = HeaderValue::from_str(location) {
        response.headers_mut().insert(LOCATION, location);
    }
    response
}

/// A page with the icons that it uses.
pub(super) fn html(status: StatusCode, page: &impl Template) -> Response {
    let mut text = page.render().expect("a template writes into a string, which does not fail");
    add_icons(&mut text);
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    guard(&mut response);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    response
}

/// Puts the used icons at the end. What people wrote is escaped and can't look like a reference to one.
fn add_icons(text: &mut String) {
    let is_used = |line: &&str| {
        let name = line.split('"').nth(1).unwrap_or_default();
        text.contains(&format!("href=\"#{name}\""))
    };
    let used: Vec<&str> = ICONS.lines().filter(is_used).collect();
    text.push_str(r#"<svg class="vh" width="0" height="0" aria-hidden="true">"#);
    text.extend(used);
    text.push_str("</svg>\n</body>\n</html>\n");
}

pub(super) fn guard(response: &mut Response) {
    let headers = response.headers_mut();
    let fixed: [(HeaderName, &'static str); 6] = [
        (CONTENT_SECURITY_POLICY, POLICY),
        (CACHE_CONTROL, "no-store"),
        (REFERRER_POLICY, "no-referrer"),
        (X_FRAME_OPTIONS, "DENY"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
}

/// A file to keep.
pub(super) fn file(text: String, kind: &'static str, name: &'static str) -> Response {
    let mut response = Response::new(Body::from(text));
    guard(&mut response);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    if let Ok(disposition) = HeaderValue::from_str(&format!("attachment; filename=\"{name}\"")) {
        headers.insert(http::header::CONTENT_DISPOSITION, disposition);
    }
    response
}

/// An answer to the script of a page.
pub(super) fn data(value: &serde_json::Value) -> Response {
    let mut response = Response::new(Body::from(value.to_string()));
    guard(&mut response);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
