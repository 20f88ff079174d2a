//! What the browser keeps: the session, the theme, and for one page what just happened.

use http::header::COOKIE;
use http::{HeaderMap, HeaderValue};
use jiff::SignedDuration;

use crate::http::Shared;

/// How long what just happened waits for its page.
const TOLD_SECONDS: i64 = 60;
const THEME_SECONDS: i64 = 365 * 24 * 3_600;

/// The cookies, by what they are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cookie {
    Session,
    Theme,
    Flash,
}

impl Cookie {
    /// With HTTPS, the prefix guarantees that no other host, not even a subdomain, has set it.
    fn name(self, app: &Shared) -> &'static str {
        match (self, is_secure(app)) {
            (Self::Session, true) => "__Host-mnemon-console",
            (Self::Session, false) => "mnemon-console",
            (Self::Flash, true) => "__Host-mnemon-told",
            (Self::Flash, false) => "mnemon-told",
            (Self::Theme, _) => "mnemon-theme",
        }
    }

    /// Its value in a request.
    pub(super) fn find<'a>(self, app: &Shared, headers: &'a HeaderMap) -> Option<&'a str> {
        let name = self.name(app);
        let lists = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut pairs = lists.flat_map(|list| list.split(';')).filter_map(|pair| pair.trim().split_once('='));
        pairs.find(|(given, _)| *given == name).map(|(_, value)| value)
    }

    /// Keeps a value for a while.
    fn set(self, app: &Shared, value: &str, seconds: i64) -> HeaderValue {
        let secure = if is_secure(app) { "; Secure" } else { "" };
        let text = format!("{}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}", self.name(app));
        HeaderValue::from_str(&text).expect("values of our cookies are visible ASCII")
    }

    pub(super) fn remove(self, app: &Shared) -> HeaderValue {
        self.set(app, "", 0)
    }
}

pub(super) fn session(app: &Shared, value: &str, life: SignedDuration) -> HeaderValue {
    Cookie::Session.set(app, value, life.as_secs())
}

pub(super) fn theme(app: &Shared, theme: &'static str) -> HeaderValue {
    Cookie::Theme.set(app, theme, THEME_SECONDS)
}

pub(super) fn told(app: &Shared, what: &str) -> HeaderValue {
    Cookie::Flash.set(app, what, TOLD_SECONDS)
}

fn is_secure(app: &Shared) -> bool {
    app.issuer.base_url().starts_with("https://")
}
