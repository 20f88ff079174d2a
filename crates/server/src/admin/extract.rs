//! Extractors for the admin API: who calls, what the path names, what was sent.

use std::str::FromStr;
use std::sync::Arc;

use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::response::{IntoResponse, Response};
use http::request::Parts;
use mnemon_core::{JSON_DEPTH_MAX, JSON_VALUES_MAX, Timestamp};
use mnemon_engine::admin::{AdminContext, AdminError};
use mnemon_engine::{Engine, MemoryUse};
use mnemon_protocol::json;
use serde::de::DeserializeOwned;

use super::error::Failure;
use super::parameters::unknown_name;
use crate::http::{App, Received, admin_context, hold, read_body};

/// An authenticated caller of the admin API, and the engine.
pub(crate) struct Admin {
    pub(crate) engine: Arc<Engine>,
    pub(crate) ctx: AdminContext,
}

impl FromRequestParts<App> for Admin {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Response> {
        app.0.origins.check(&parts.headers).map_err(IntoResponse::into_response)?;
        let ctx = admin_context(&app.0, (&*parts).into()).await.map_err(|refusal| *refusal)?;
        if let Some(memory) = parts.extensions.get::<MemoryUse>() {
            let admitted = app.0.engine.admit_to_memory(&ctx, *memory);
            admitted.map_err(|error| Failure(error).into_response())?;
        }
        // Only now: a caller without a credential learns nothing about a route.
        if parts.extensions.get::<NoParameters>().is_some() {
            check_names::<()>(parts).map_err(IntoResponse::into_response)?;
        }
        let (whose, weight) = (ctx.identity().map(|identity| identity.account), parts.extensions.get().copied());
        let reserved = hold::reserve_answer(&app.0.room, &parts.extensions, whose, weight).await;
        reserved.map_err(IntoResponse::into_response)?;
        Ok(Self { engine: Arc::clone(&app.0.engine), ctx })
    }
}

/// The ids in the path. An unreadable one names nothing.
pub(crate) struct Path<T>(pub(crate) T);

impl<T: DeserializeOwned + Send> FromRequestParts<App> for Path<T> {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Failure> {
        let read = axum::extract::Path::from_request_parts(parts, app).await;
        read.map(|axum::extract::Path(named)| Self(named)).map_err(|_| AdminError::NotFound("thing").into())
    }
}

/// The query string. A name that the route does not know is refused, and not ignored: it may be a misspelt filter.
pub(crate) struct Query<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequestParts<App> for Query<T> {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Failure> {
        check_names::<T>(parts)?;
        let read = axum::extract::Query::from_request_parts(parts, app).await;
        let text = "invalid query string; give each parameter once, as name=value";
        read.map(|axum::extract::Query(asked)| Self(asked)).map_err(|_| AdminError::Invalid(text.to_owned()).into())
    }
}

/// Marks a route that takes no query parameters.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NoParameters;

fn check_names<T: DeserializeOwned>(parts: &Parts) -> Result<(), Failure> {
    let unknown = unknown_name::<T>(parts.uri.query().unwrap_or_default());
    unknown.map_or(Ok(()), |text| Err(AdminError::Invalid(text).into()))
}

/// The JSON body. If every field is optional, an empty body counts as an empty object.
pub(crate) struct Sent<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequest<App> for Sent<T> {
    type Rejection = Response;

    async fn from_request(request: Request, app: &App) -> Result<Self, Response> {
        let (parts, body) = request.into_parts();
        let received = read_body(body, &app.0.room, hold::whose(&parts.extensions)).await;
        let Received { bytes, held } = received.map_err(IntoResponse::into_response)?;
        hold::keep_body(&parts.extensions, held);
        let bytes: &[u8] = if bytes.is_empty() { b"{}" } else { &bytes };
        let value = json::parse(bytes, JSON_DEPTH_MAX, JSON_VALUES_MAX).map_err(|error| invalid(&error.to_string()))?;
        if !value.is_object() {
            // Serde would accept an array as the fields in order.
            return Err(invalid("the body must be a JSON object"));
        }
        serde_json::from_value(value).map(Self).map_err(|error| invalid(&error.to_string()))
    }
}

fn invalid(text: &str) -> Response {
    Failure(AdminError::Invalid(text.to_owned())).into_response()
}

/// An id in the path. An unreadable one names nothing.
pub(crate) fn id<T: FromStr>(text: &str, what: &'static str) -> Result<T, AdminError> {
    text.parse().map_err(|_| AdminError::NotFound(what))
}

pub(crate) fn id_in<T: FromStr>(text: Option<&str>, field: &str) -> Result<Option<T>, AdminError> {
    let invalid = || AdminError::Invalid(format!("{field} must be an id"));
    text.map(|text| text.parse().map_err(|_| invalid())).transpose()
}

/// A time in the body or the query, in whole microseconds as storage keeps it.
pub(crate) fn moment(text: Option<&str>, field: &str) -> Result<Option<Timestamp>, AdminError> {
    let invalid = || AdminError::Invalid(format!("{field} must be an RFC 3339 time, for example 2027-01-31T00:00:00Z"));
    let parse = |text: &str| {
        let moment: Timestamp = text.trim().parse().map_err(|_| invalid())?;
        Timestamp::from_microsecond(moment.as_microsecond()).map_err(|_| invalid())
    };
    text.map(parse).transpose()
}

/// One word from a list.
pub(crate) fn word<T>(
    text: &str,
    field: &str,
    parse: impl Fn(&str) -> Option<T>,
    words: &str,
) -> Result<T, AdminError> {
    parse(text.trim()).ok_or_else(|| AdminError::Invalid(format!("{field} must be one of {words}")))
}

pub(crate) fn flag(text: &str, field: &str) -> Result<bool, AdminError> {
    text.parse().map_err(|_| AdminError::Invalid(format!("{field} must be true or false")))
}

/// The maximum number of rows in a list.
pub(crate) fn limit(text: Option<&str>) -> Result<usize, AdminError> {
    const DEFAULT: usize = 100;
    const MAX: usize = 1_000;
    let Some(text) = text else { return Ok(DEFAULT) };
    let limit = text.parse().ok().filter(|limit| (1..=MAX).contains(limit));
    limit.ok_or_else(|| AdminError::Invalid(format!("limit must be between 1 and {MAX}")))
}
