//! The access log: a line per request that says what became of it and whose it was, by ids. No text, no name, no path
//! and no credential gets into it: only words from fixed lists, numbers and our own ids.

use std::cell::RefCell;
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::extract::{MatchedPath, Request};
use axum::response::Response;
use http::Method;
use http::header::CONTENT_LENGTH;
use http_body::Body;
use mnemon_engine::Identity;
use tracing::Span;
use tracing::field::display;

/// What the lines are filtered by.
pub const TARGET: &str = "mnemon::access";

/// What is learnt about a request while it is answered.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    /// Whose credential was accepted. The operator has no ids.
    pub(crate) caller: Option<Identity>,
    pub(crate) tool: Option<&'static str>,
    pub(crate) outcome: Option<&'static str>,
    /// Under which more is found: in the log, or in the account's list of refusals.
    pub(crate) reference: Option<String>,
}

tokio::task_local! {
    static NOTES: RefCell<Notes>;
}

/// Notes something about the request that is being answered, if anybody wants to know.
pub(crate) fn note(write: impl FnOnce(&mut Notes)) {
    // Without an access log there is nowhere to note it.
    let _ = NOTES.try_with(|notes| write(&mut notes.borrow_mut()));
}

impl Notes {
    /// The answer, and what was noted on the way to it.
    pub(crate) async fn gather(answering: impl Future<Output = Response>) -> (Response, Self) {
        let answering = async {
            let response = answering.await;
            (response, NOTES.with(RefCell::take))
        };
        NOTES.scope(RefCell::default(), answering).await
    }

    fn is_our_fault(&self) -> bool {
        self.outcome == Some("storage")
    }
}

/// The parts of a request that are logged.
pub(crate) struct Asked {
    method: &'static str,
    route: Option<Route>,
    bytes: Option<u64>,
}

/// A route as the router has it, with `{project}` and not with an id.
enum Route {
    Matched(MatchedPath),
    Fixed(&'static str),
}

impl Route {
    fn as_str(&self) -> &str {
        match self {
            Self::Matched(path) => path.as_str(),
            Self::Fixed(path) => path,
        }
    }
}

impl Asked {
    /// `route` is given where no router has noted it.
    pub(crate) fn of(request: &Request, route: Option<&'static str>) -> Self {
        let matched = request.extensions().get::<MatchedPath>();
        let length = request.headers().get(CONTENT_LENGTH).and_then(|length| length.to_str().ok());
        Self {
            method: method(request.method()),
            route: route.map(Route::Fixed).or_else(|| matched.cloned().map(Route::Matched)),
            bytes: length.and_then(|length| length.parse().ok()),
        }
    }
}

impl Asked {
    /// Records on the request's span what became of it: the same as the access log.
    pub(crate) fn tell(&self, span: &Span, response: &Response, notes: &Notes) {
        if span.is_disabled() {
            return;
        }
        span.record("http.request.method", self.method);
        span.record("http.response.status_code", response.status().as_u16());
        span.record("failed", response.status().is_server_error() || notes.is_our_fault());
        if let Some(route) = &self.route {
            span.record("http.route", route.as_str());
        }
        if let Some(Identity { account, project, key }) = &notes.caller {
            span.record("account.id", display(account)).record("project.id", display(project));
            span.record("key.id", display(key));
        }
        if let Some(reference) = &notes.reference {
            span.record("reference", reference.as_str());
        }
    }
}

/// A caller may send any word as a method.
fn method(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::HEAD => "HEAD",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}

/// Writes the lines.
pub(crate) struct AccessLog {
    /// Of how many requests one gets a line.
    every: NonZeroU64,
    seen: AtomicU64,
}

impl AccessLog {
    pub(crate) const fn new(every: NonZeroU64) -> Self {
        Self { every, seen: AtomicU64::new(0) }
    }

    /// Writes a line, if it is this request's turn. Our own faults are never left out.
    pub(crate) fn write(&self, told: &Flash<'_>) {
        let is_its_turn = self.seen.fetch_add(1, Ordering::Relaxed) % self.every == 0;
        let is_our_fault = told.response.status().is_server_error() || told.notes.is_our_fault();
        if is_its_turn || is_our_fault {
            told.log();
        }
    }
}

/// The content of a line.
pub(crate) struct Flash<'a> {
    pub(crate) door: &'static str,
    pub(crate) asked: &'a Asked,
    pub(crate) response: &'a Response,
    pub(crate) notes: &'a Notes,
    pub(crate) took: Duration,
}

impl Flash<'_> {
    fn log(&self) {
        let Self { door, asked, response, notes, .. } = self;
        let caller = notes.caller.as_ref();
        tracing::info!(
            target: TARGET,
            door,
            http.status = response.status().as_u16(),
            http.method = asked.method,
            http.route = asked.route.as_ref().map(Route::as_str),
            tool = notes.tool,
            outcome = notes.outcome,
            duration_us = u64::try_from(self.took.as_micros()).unwrap_or(u64::MAX),
            request.bytes = asked.bytes,
            response.bytes = response.body().size_hint().exact(),
            account.id = caller.map(|caller| display(caller.account)),
            project.id = caller.map(|caller| display(caller.project)),
            key.id = caller.map(|caller| display(caller.key)),
            reference = notes.reference.as_deref(),
            "request"
        );
    }
}
