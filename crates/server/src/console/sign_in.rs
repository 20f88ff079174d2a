//! Signing in with a key, signing out, and the choice of a theme.

use askama::Template;
use axum::extract::{Request, State};
use axum::response::Response;
use http::header::{RETRY_AFTER, SET_COOKIE};
use http::{HeaderValue, StatusCode};
use mnemon_engine::console::SignInError;

use super::assets::{ASSETS, Assets};
use super::browser;
use super::cookies::{self, Cookie};
use super::page::{self, Ended};
use super::parts as p;
use super::visit::{Act, Theme, Visit, comes_from_our_page, is_own_path};
use crate::http::{App, Fields, read_small_body};

#[derive(Template)]
#[template(path = "console/sign_in.html")]
struct Page<'a> {
    assets: &'static Assets,
    service: &'a str,
    notice: Option<String>,
    /// Where somebody wanted to go.
    to: &'a str,
}

/// Why the form is shown again.
enum Notice {
    NoKey,
    WrongKey,
    Wait { seconds: u64 },
    Foreign,
    StorageAway,
    Ended,
    EndedBefore,
}

impl Notice {
    fn text(&self) -> String {
        match self {
            Self::NoKey => "Paste an API key first.".to_owned(),
            Self::WrongKey => {
                "This key was not accepted. Check that it was copied whole (it begins with mnm_) and that it was \
                               not revoked, then paste it again."
                    .to_owned()
            }
            Self::Wait { seconds } => {
                format!("Too many wrong keys from your address. Wait {seconds} seconds, then paste the key again.")
            }
            Self::Foreign => {
                "This form was not sent from this page in this browser, so nothing happened. Paste the key again."
                    .to_owned()
            }
            Self::StorageAway => {
                "The service can't reach its storage right now. Try again in a few seconds.".to_owned()
            }
            Self::Ended => {
                "Your session has ended: its time is over, or its key no longer works. Paste a key again.".to_owned()
            }
            Self::EndedBefore => {
                "Your session had ended, so nothing was changed. Paste a key again, then repeat what you did."
                    .to_owned()
            }
        }
    }

    fn status(&self) -> StatusCode {
        match self {
            Self::NoKey | Self::WrongKey => StatusCode::BAD_REQUEST,
            Self::Foreign => StatusCode::FORBIDDEN,
            Self::Wait { .. } => StatusCode::TOO_MANY_REQUESTS,
            Self::StorageAway => StatusCode::SERVICE_UNAVAILABLE,
            Self::Ended | Self::EndedBefore => StatusCode::OK,
        }
    }
}

/// `GET /console/sign-in`
pub(super) async fn show(State(app): State<App>, request: Request) -> Response {
    let fields = Fields::parse(request.uri().query().unwrap_or_default().as_bytes());
    let notice = fields.find("ended").map(|what| match Ended::parse(what) {
        Ended::Page => Notice::Ended,
        Ended::Act => Notice::EndedBefore,
    });
    ask(&app, own_path(fields.find("to")), notice.as_ref())
}

/// `POST /console/sign-in`
pub(super) async fn submit(State(app): State<App>, request: Request) -> Response {
    let shared = &*app.0;
    let caller = shared.caller(request.extensions(), request.headers());
    let is_ours = comes_from_our_page(shared, request.headers());
    let browser = browser::describe(request.headers());
    let fields = match read_small_body(request.into_body()).await {
        Ok(bytes) => Fields::parse(&bytes),
        Err(error) => {
            return page::plain_error(&app, StatusCode::PAYLOAD_TOO_LARGE, "That was too much", &error.to_string());
        }
    };
    let to = own_path(fields.find("to"));
    if !is_ours {
        return ask(&app, to, Some(&Notice::Foreign));
    }
    let Some(key) = fields.find("key") else { return ask(&app, to, Some(&Notice::NoKey)) };
    match shared.engine.sign_in(key, caller, &browser).await {
        Ok(signed_in) => {
            let mut response = page::go(to);
            let cookie = cookies::session(shared, signed_in.value.expose(), signed_in.life);
            response.headers_mut().append(SET_COOKIE, cookie);
            response
        }
        Err(SignInError::WrongKey) => ask(&app, to, Some(&Notice::WrongKey)),
        Err(SignInError::TooMany { retry_after_seconds: seconds }) => {
            let mut response = ask(&app, to, Some(&Notice::Wait { seconds }));
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
            response
        }
        Err(SignInError::Store(error)) => {
            tracing::error!(%error, "could not open a session of the console");
            ask(&app, to, Some(&Notice::StorageAway))
        }
    }
}

/// `POST /console/sign-out`
pub(super) async fn leave(act: Act) -> Response {
    let visit = &act.visit;
    if let Err(error) = visit.end().await {
        return page::storage_unavailable(&visit.app, &error);
    }
    let mut response = page::go("/console/sign-in");
    response.headers_mut().append(SET_COOKIE, Cookie::Session.remove(visit.shared()));
    response
}

/// `POST /console/theme`
pub(super) async fn choose_theme(act: Act) -> Response {
    let theme = act.fields.find("theme").and_then(Theme::parse).unwrap_or(Theme::System);
    let mut response = page::go(act.back("/console"));
    response.headers_mut().append(SET_COOKIE, cookies::theme(act.visit.shared(), theme.as_str()));
    response
}

/// `GET /`, and the console's address with a slash at its end.
pub(crate) async fn to_console() -> Response {
    page::go("/console")
}

/// `GET /console`: the first page.
pub(super) async fn home(visit: Visit) -> Response {
    page::go(if visit.me.is_some() { super::shell::HOME } else { "/console/operator" })
}

fn ask(app: &App, to: &str, notice: Option<&Notice>) -> Response {
    let status = notice.map_or(StatusCode::OK, Notice::status);
    let notice = notice.map(Notice::text);
    page::html(status, &Page { assets: &ASSETS, service: &app.0.service_name, notice, to })
}

/// A path of ours to go to; anything else leads to the first page.
fn own_path(path: Option<&str>) -> &str {
    path.filter(|path| is_own_path(path)).unwrap_or("/console")
}

#[cfg(test)]
mod tests {
    use super::own_path;

    #[test]
    fn only_our_own_paths_are_gone_to() {
        for ours in ["/console", "/console/memory?q=a+b", "/console?x"] {
            assert_eq!(own_path(Some(ours)), ours);
        }
        for other in
            ["", "https://evil.example/", "//evil.example", "/consolers", "/mcp", "/console/\\x", "/console/sign-out"]
        {
            assert_eq!(own_path(Some(other)), "/console", "{other}");
        }
        assert_eq!(own_path(None), "/console");
    }
}
