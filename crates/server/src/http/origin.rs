//! Which browser pages may call: our own and the configured ones. Programs send no `Origin` and pass.

use http::header::ORIGIN;
use http::{HeaderMap, HeaderValue, StatusCode};

use super::Reply;

const LOOPBACK_HOSTS: [&str; 3] = ["127.0.0.1", "localhost", "[::1]"];

/// The allowed origins.
#[derive(Debug)]
pub(crate) struct Origins {
    own: Vec<String>,
    configured: Vec<String>,
    allows_all: bool,
}

impl Origins {
    pub(crate) fn new(base_url: &str, configured: &[String]) -> Self {
        let configured: Vec<String> = configured.iter().map(|origin| origin.trim_end_matches('/').to_owned()).collect();
        let allows_all = configured.iter().any(|origin| origin == "*");
        let of_base = origin_of(base_url);
        let mut own = Vec::new();
        // A service on loopback has several names, all for this machine and port.
        for host in LOOPBACK_HOSTS {
            for other in LOOPBACK_HOSTS {
                if let Some(port) = of_base.strip_prefix(&format!("http://{host}:")) {
                    own.push(format!("http://{other}:{port}"));
                }
            }
        }
        own.push(of_base);
        Self { own, configured, allows_all }
    }

    /// Lets a request pass by its `Origin`, or answers it. Every door asks here before anything else.
    pub(crate) fn check(&self, headers: &HeaderMap) -> Result<(), Reply> {
        if self.allow(headers) {
            return Ok(());
        }
        let message = "this Origin is not allowed; add it to server.allowed_origins";
        Err(Reply::error(StatusCode::FORBIDDEN, "forbidden_origin", message))
    }

    fn allow(&self, headers: &HeaderMap) -> bool {
        let mut origins = headers.get_all(ORIGIN).iter();
        match (origins.next(), origins.next()) {
            (None, _) => true,
            (Some(origin), None) => self.allows_all || self.is_own(origin) || is_among(&self.configured, origin),
            (Some(_), Some(_)) => false,
        }
    }

    /// Whether an `Origin` is the service's own.
    pub(crate) fn is_own(&self, origin: &HeaderValue) -> bool {
        is_among(&self.own, origin)
    }
}

fn is_among(allowed: &[String], origin: &HeaderValue) -> bool {
    allowed.iter().any(|allowed| allowed.as_bytes() == origin.as_bytes())
}

/// Scheme, host and port of a URL.
fn origin_of(url: &str) -> String {
    let host_from = url.find("://").map_or(0, |at| at + 3);
    let end = url[host_from..].find('/').map_or(url.len(), |at| host_from + at);
    url[..end].to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_own_and_configured_origins_pass() {
        let origins = Origins::new("http://127.0.0.1:7676", &["https://app.example.com/".to_owned()]);
        let check = |origin: Option<&str>, expected: bool| {
            let mut headers = HeaderMap::new();
            if let Some(origin) = origin {
                headers.insert(ORIGIN, origin.parse().unwrap());
            }
            assert_eq!(origins.allow(&headers), expected, "{origin:?}");
        };
        check(None, true);
        check(Some("http://127.0.0.1:7676"), true);
        check(Some("http://localhost:7676"), true);
        check(Some("http://[::1]:7676"), true);
        check(Some("https://app.example.com"), true);
        check(Some("http://localhost:7677"), false);
        check(Some("https://127.0.0.1:7676"), false);
        check(Some("http://evil.example.com"), false);
        check(Some("null"), false);
        check(Some(""), false);
    }

    #[test]
    fn a_star_allows_every_origin() {
        let origins = Origins::new("https://memory.example.com", &["*".to_owned()]);
        let mut headers = HeaderMap::new();
        headers.insert(ORIGIN, "https://anything.example".parse().unwrap());
        assert!(origins.allow(&headers));
        assert!(!origins.is_own(&headers[ORIGIN]));
        headers.append(ORIGIN, "https://another.example".parse().unwrap());
        assert!(!origins.allow(&headers), "two are none");
    }

    #[test]
    fn a_public_service_does_not_open_loopback() {
        let origins = Origins::new("https://memory.example.com/base", &[]);
        let mut headers = HeaderMap::new();
        headers.insert(ORIGIN, "http://localhost:7676".parse().unwrap());
        assert!(!origins.allow(&headers));
        headers.insert(ORIGIN, "https://memory.example.com".parse().unwrap());
        assert!(origins.allow(&headers));
    }
}
