//! Answers to somebody who is signed in: a page in its shell, a redirect after a form, or what went wrong.

use askama::Template;
use axum::response::Response;
use http::StatusCode;
use http::header::SET_COOKIE;
use mnemon_engine::console::ConsoleError;

use super::cookies::Cookie;
use super::flash::Flash;
use super::page;
use super::parts as p;
use super::shell::{Place, Shell};
use super::visit::Visit;

#[derive(Template)]
#[template(path = "console/trouble.html")]
struct Trouble<'a> {
    shell: Shell<'a>,
    title: &'a str,
    text: &'a str,
    reference: Option<String>,
}

impl Visit {
    /// The answer to a request for a page.
    pub(super) fn show<T: Template>(&self, page: Result<T, ConsoleError>) -> Response {
        match page {
            Ok(page) => self.html(StatusCode::OK, &page),
            Err(error) => self.trouble(&error),
        }
    }

    /// The page of a form that was refused.
    pub(super) fn show_again<T: Template>(&self, page: Result<T, ConsoleError>) -> Response {
        match page {
            Ok(page) => self.html(self.again.as_ref().map_or(StatusCode::BAD_REQUEST, |again| again.status), &page),
            Err(error) => self.trouble(&error),
        }
    }

    pub(super) fn html(&self, status: StatusCode, page: &impl Template) -> Response {
        let mut response = page::html(status, page);
        if self.told.is_some() {
            response.headers_mut().append(SET_COOKIE, Cookie::Flash.remove(self.shared()));
        }
        response
    }

    /// The answer to a form: a redirect to a page that says what happened, or an error.
    pub(super) fn done(&self, outcome: Result<Flash, ConsoleError>, onward: &str) -> Response {
        match outcome {
            Ok(told) => {
                let mut response = page::go(onward);
                response.headers_mut().append(SET_COOKIE, self.keep(&told));
                response
            }
            Err(error) => self.trouble(&error),
        }
    }

    pub(super) fn trouble(&self, error: &ConsoleError) -> Response {
        let (status, title, text) = page::words(error);
        let reference = (status.is_server_error()).then(|| page::note(&self.app, error));
        let shell = Shell::new(self, Place::None, title);
        page::with_retry(self.html(status, &Trouble { shell, title, text: &text, reference }), error)
    }
}
