//! The HTML page: no script, nothing from other hosts, no framing, no caching.

use std::sync::LazyLock;

use askama::Template;
use axum::body::Body;
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, LOCATION, REFERRER_POLICY, RETRY_AFTER,
    SET_COOKIE, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use http::{HeaderValue, StatusCode};
use mnemon_engine::oauth::{Asked, TOKEN_LIFE};
use sha2::{Digest, Sha256};
use url::Url;

use crate::http::Shared;

const STYLE: &str = include_str!("../../templates/oauth/style.css");

/// There is no `form-action`: browsers apply it to the redirect that answers the form, and would block it silently.
static POLICY: LazyLock<HeaderValue> = LazyLock::new(|| {
    let hash = STANDARD.encode(Sha256::digest(STYLE.as_bytes()));
    let policy = format!("default-src 'none'; style-src 'sha256-{hash}'; base-uri 'none'; frame-ancestors 'none'");
    HeaderValue::from_str(&policy).expect("base64 is visible ASCII")
});

/// Why the page is shown again.
#[derive(Debug, Clone, Copy)]
pub(super) enum Notice {
    NoKey,
    WrongKey,
    Wait { seconds: u64 },
    Expired,
    Foreign,
    StorageAway,
}

impl Notice {
    fn text(self) -> String {
        match self {
            Self::NoKey => "Paste an API key first.".to_owned(),
            Self::WrongKey => "This key was rejected. Check that you copied all of it (it starts with mnm_) and that \
                               it has not been revoked, then paste it again."
                .to_owned(),
            Self::Wait { seconds } => {
                format!("Too many wrong keys from your address. Wait {seconds} seconds, then paste the key again.")
            }
            Self::Expired => "This page was open for too long, so nothing happened. Paste the key again.".to_owned(),
            Self::Foreign => {
                "This form was not sent from this page in this browser, so nothing happened. Allow cookies \
                              for this site, then paste the key again."
                    .to_owned()
            }
            Self::StorageAway => "The service can't store anything right now. Try again in a few seconds.".to_owned(),
        }
    }

    fn status(self) -> StatusCode {
        match self {
            Self::NoKey | Self::WrongKey | Self::Expired => StatusCode::BAD_REQUEST,
            Self::Foreign => StatusCode::FORBIDDEN,
            Self::Wait { .. } => StatusCode::TOO_MANY_REQUESTS,
            Self::StorageAway => StatusCode::SERVICE_UNAVAILABLE,
        }
    }
}

#[derive(Template)]
#[template(path = "oauth/authorize.html")]
struct AuthorizePage<'a> {
    style: &'static str,
    service: &'a str,
    client: &'a str,
    /// Where the client's metadata was read, if it was.
    described_at: Option<String>,
    host: &'a str,
    is_loopback: bool,
    days: i64,
    notice: Option<String>,
    hidden: Vec<(&'static str, &'a str)>,
}

#[derive(Template)]
#[template(path = "oauth/error.html")]
struct ErrorPage<'a> {
    style: &'static str,
    service: &'a str,
    message: &'a str,
}

/// The page that asks. The form sends the hidden fields back with the answer.
pub(super) fn ask(
    app: &Shared,
    asked: &Asked,
    hidden: Vec<(&'static str, &str)>,
    secret: &str,
    notice: Option<Notice>,
) -> Response {
    let page = AuthorizePage {
        style: STYLE,
        service: &app.service_name,
        client: asked.client.name.as_deref().unwrap_or("An unnamed program"),
        described_at: Url::parse(&asked.client.id).ok().and_then(|url| url.host_str().map(str::to_owned)),
        host: &asked.host,
        is_loopback: asked.is_loopback,
        days: TOKEN_LIFE.as_hours() / 24,
        notice: notice.map(Notice::text),
        hidden,
    };
    let mut response = html(notice.map_or(StatusCode::OK, Notice::status), &page);
    let headers = response.headers_mut();
    let secure = if is_secure(app) { "; Secure" } else { "" };
    let cookie = format!("{}={secret}; Path=/; HttpOnly; SameSite=Lax{secure}", cookie_name(app));
    if let Ok(cookie) = HeaderValue::from_str(&cookie) {
        headers.insert(SET_COOKIE, cookie);
    }
    if let Some(Notice::Wait { seconds }) = notice {
        headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

/// The page that says why the person is not asked.
pub(super) fn error(app: &Shared, status: StatusCode, message: &str) -> Response {
    html(status, &ErrorPage { style: STYLE, service: &app.service_name, message: &sentence(message) })
}

/// A reason written for the log, as a sentence on a page.
fn sentence(reason: &str) -> String {
    let mut rest = reason.chars();
    let first = rest.next().map(|first| first.to_uppercase().collect::<String>()).unwrap_or_default();
    format!("{first}{}.", rest.as_str().trim_end_matches('.'))
}

/// Redirects to the client. 303, so that the key posted here is not posted there.
pub(super) fn go(location: &str) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SEE_OTHER;
    guard(&mut response);
    if let Ok(location) = HeaderValue::from_str(location) {
        response.headers_mut().insert(LOCATION, location);
    }
    response
}

fn html(status: StatusCode, page: &impl Template) -> Response {
    let text = page.render().expect("a template writes into a string, which does not fail");
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    guard(&mut response);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    response
}

fn guard(response: &mut Response) {
    let headers = response.headers_mut();
    headers.insert(CONTENT_SECURITY_POLICY, POLICY.clone());
    let fixed: [(HeaderName, &'static str); 4] = [
        (CACHE_CONTROL, "no-store"),
        (REFERRER_POLICY, "no-referrer"),
        (X_FRAME_OPTIONS, "DENY"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
}

fn is_secure(app: &Shared) -> bool {
    app.issuer.base_url().starts_with("https://")
}

/// With HTTPS, the `__Host-` prefix guarantees that no other host, not even a subdomain, has set the cookie.
pub(super) fn cookie_name(app: &Shared) -> &'static str {
    if is_secure(app) { "__Host-mnemon-form" } else { "mnemon-form" }
}
