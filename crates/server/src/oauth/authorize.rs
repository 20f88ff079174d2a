//! `/authorize`: the page where a person agrees, and its form.

use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::header::{COOKIE, ORIGIN};
use http::{HeaderMap, StatusCode};
use mnemon_engine::oauth::{Asked, AuthorizationRequest, AuthorizeError, ClientError, FormError, GrantError};

use super::page::{self, Notice};
use crate::http::{App, Fields, Shared, read_small_body};

/// The parameters that a request may have only once.
const NAMES: [&str; 8] = [
    "client_id",
    "redirect_uri",
    "response_type",
    "code_challenge",
    "code_challenge_method",
    "scope",
    "state",
    "resource",
];

/// `GET /authorize`: asks the person.
pub(crate) async fn show(State(app): State<App>, request: Request) -> Response {
    let app = &*app.0;
    let asking = parse(&Fields::parse(request.uri().query().unwrap_or_default().as_bytes()));
    let caller = app.caller(request.extensions(), request.headers());
    match app.engine.check_authorization(&app.issuer, asking.clone(), caller).await {
        Ok(asked) => ask(app, request.headers(), &asking, &asked, None),
        Err(error) => refuse(app, &error),
    }
}

/// `POST /authorize`: the person has answered.
pub(crate) async fn submit(State(app): State<App>, request: Request) -> Response {
    let app = &*app.0;
    let caller = app.caller(request.extensions(), request.headers());
    let (head, body) = request.into_parts();
    let fields = match read_small_body(body).await {
        Ok(bytes) => Fields::parse(&bytes),
        Err(error) => return page::error(app, StatusCode::PAYLOAD_TOO_LARGE, &error.to_string()),
    };
    let asking = parse(&fields);
    let asked = match app.engine.check_authorization(&app.issuer, asking.clone(), caller).await {
        Ok(asked) => asked,
        Err(error) => return refuse(app, &error),
    };
    let again = |notice| ask(app, &head.headers, &asking, &asked, Some(notice));
    if !comes_from_our_page(app, &head.headers) {
        return again(Notice::Foreign);
    }
    let secret = browser_secret(app, &head.headers);
    match app.engine.check_form(secret, &asking, fields.find("form")) {
        Ok(()) => {}
        Err(FormError::Expired) => return again(Notice::Expired),
        Err(FormError::Foreign) => return again(Notice::Foreign),
    }
    if fields.find("answer") == Some("no") {
        return page::go(&asked.refused(&app.issuer));
    }
    let Some(key) = fields.find("key") else { return again(Notice::NoKey) };
    match app.engine.grant(&app.issuer, &asked, key, caller).await {
        Ok(location) => page::go(&location),
        Err(GrantError::WrongKey) => again(Notice::WrongKey),
        Err(GrantError::TooMany { retry_after_seconds }) => again(Notice::Wait { seconds: retry_after_seconds }),
        Err(GrantError::Store(error)) => {
            tracing::error!(%error, "could not issue a code");
            again(Notice::StorageAway)
        }
    }
}

fn parse(fields: &Fields) -> AuthorizationRequest {
    AuthorizationRequest {
        client_id: fields.take("client_id"),
        redirect_uri: fields.take("redirect_uri"),
        response_type: fields.take("response_type"),
        code_challenge: fields.take("code_challenge"),
        code_challenge_method: fields.take("code_challenge_method"),
        scope: fields.take("scope"),
        state: fields.take("state"),
        resource: fields.take("resource"),
        repeated: fields.repeated(&NAMES),
    }
}

/// The page, with a fresh seal in its form.
fn ask(
    app: &Shared,
    headers: &HeaderMap,
    asking: &AuthorizationRequest,
    asked: &Asked,
    notice: Option<Notice>,
) -> Response {
    let secret = app.engine.browser_secret(browser_secret(app, headers));
    let seal = app.engine.seal_form(&secret, asking);
    page::ask(app, asked, hidden(asking, &seal), &secret, notice)
}

/// What the form sends back: the request as it came, and its seal.
fn hidden<'a>(asking: &'a AuthorizationRequest, seal: &'a str) -> Vec<(&'static str, &'a str)> {
    let values = [
        &asking.client_id,
        &asking.redirect_uri,
        &asking.response_type,
        &asking.code_challenge,
        &asking.code_challenge_method,
        &asking.scope,
        &asking.state,
        &asking.resource,
    ];
    let given = NAMES.into_iter().zip(values);
    let given = given.filter_map(|(name, value)| Some((name, value.as_deref()?)));
    given.chain([("form", seal)]).collect()
}

fn refuse(app: &Shared, error: &AuthorizeError) -> Response {
    match error {
        AuthorizeError::Returned(returned) => page::go(&returned.location(&app.issuer)),
        AuthorizeError::Client(ClientError::TooMany { .. }) => {
            page::error(app, StatusCode::TOO_MANY_REQUESTS, &error.to_string())
        }
        AuthorizeError::Client(ClientError::Store(cause)) => {
            tracing::error!(error = %cause, "could not look up a client");
            page::error(app, StatusCode::SERVICE_UNAVAILABLE, "Storage is unavailable. Try again in a few seconds.")
        }
        _ => page::error(app, StatusCode::BAD_REQUEST, &error.to_string()),
    }
    .into_response()
}

/// Browsers say where a form comes from. Ours says "null", because the page sends no referrer and so no origin.
fn comes_from_our_page(app: &Shared, headers: &HeaderMap) -> bool {
    let is_own = |value: &http::HeaderValue| value == "null" || app.origins.is_own(value);
    let is_origin_right = headers.get_all(ORIGIN).iter().all(is_own);
    let site = headers.get("sec-fetch-site").map(|value| value.as_bytes());
    is_origin_right && matches!(site, None | Some(b"same-origin" | b"none"))
}

/// The cookie that the browser keeps for us.
fn browser_secret<'a>(app: &Shared, headers: &'a HeaderMap) -> Option<&'a str> {
    let name = page::cookie_name(app);
    let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = cookies.flat_map(|list| list.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(given, _)| *given == name).map(|(_, value)| value)
}
