//! The page after a key was made that a link hands over: the link, once.

use askama::Template;
use axum::response::Response;
use http::StatusCode;
use mnemon_engine::admin::MadeLink;

use super::parts as p;
use super::shell::{Place, Shell};
use super::visit::Visit;

#[derive(Template)]
#[template(path = "console/hand_over.html")]
struct Page<'a> {
    shell: Shell<'a>,
    /// What was made, as a sentence.
    made: String,
    who: &'a str,
    link: String,
    ends: String,
    /// Where it goes on.
    onward: &'static str,
}

/// For whom a link was made.
pub(super) struct HandOver<'a> {
    pub(super) made: String,
    pub(super) who: &'a str,
    pub(super) link: &'a MadeLink,
    pub(super) at: Place,
    pub(super) onward: &'static str,
}

impl Visit {
    pub(super) fn hand_over(&self, over: &HandOver<'_>) -> Response {
        let link = crate::admin::link_of(self.shared(), over.link);
        let page = Page {
            shell: Shell::new(self, over.at, "Hand it over"),
            made: over.made.clone(),
            who: over.who,
            link: link.link,
            ends: p::exact(over.link.ends_at),
            onward: over.onward,
        };
        self.html(StatusCode::OK, &page)
    }
}
