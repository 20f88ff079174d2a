//! Where a code may be sent: HTTPS, or plain HTTP to the person's own machine, and exactly where the client said
//! before.

use url::{Host, Url};

const URI_CHARS_MAX: usize = 2_048;
pub(super) const REDIRECTS_MAX: usize = 20;
/// How many bytes all of them together may have: what a stranger registers is kept.
pub(super) const REDIRECTS_BYTES_MAX: usize = 4 << 10;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Redirect {
    /// Host, and port if it is not the default: what a person can judge.
    pub(super) host: String,
    /// Whether it is a program on the person's own machine.
    pub(super) is_loopback: bool,
}

/// Parses a redirect URI, or says what is wrong with it.
pub(super) fn parse(uri: &str) -> Result<Redirect, &'static str> {
    if uri.len() > URI_CHARS_MAX {
        return Err("a redirect URI must be at most 2048 characters long");
    }
    // Some URL parsers read a backslash as a slash and others do not; a star is not a wildcard here.
    if !uri.bytes().all(|byte| byte.is_ascii_graphic()) || uri.contains(['\\', '#', '*']) {
        return Err("a redirect URI must be visible ASCII, without fragment, backslash or wildcard");
    }
    let url = Url::parse(uri).map_err(|_| "a redirect URI must be an absolute URL")?;
    if !url.username().is_empty() || url.password().is_some() || authority(uri).contains('@') {
        return Err("a redirect URI must not contain a user or password");
    }
    let is_loopback = is_loopback(&url);
    let is_scheme_right = uri.starts_with("https://") || (uri.starts_with("http://") && is_loopback);
    let host = url.host_str().filter(|_| is_scheme_right);
    let host =
        host.ok_or("a redirect URI must start with https://, or with http:// on localhost, 127.0.0.1 or [::1]")?;
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    Ok(Redirect { host: format!("{host}{port}"), is_loopback })
}

/// Where a URI leads, as a person can judge it: its host, and whether that is the person's own machine.
pub fn return_host(uri: &str) -> Option<(String, bool)> {
    parse(uri).ok().map(|redirect| (redirect.host, redirect.is_loopback))
}

/// Whether a presented URI is a registered one: exactly, except for the port on the person's own machine, which
/// programs choose freely.
pub(super) fn is_registered(presented: &str, registered: &[String]) -> bool {
    registered.iter().any(|own| own == presented || is_same_but_for_the_port(own, presented))
}

fn is_same_but_for_the_port(registered: &str, presented: &str) -> bool {
    let local = |uri: &str| {
        let redirect = parse(uri).ok().filter(|redirect| redirect.is_loopback && uri.starts_with("http://"))?;
        let host = redirect.host.rsplit_once(':').filter(|(_, port)| port.bytes().all(|b| b.is_ascii_digit()));
        let host = host.map_or(redirect.host.as_str(), |(host, _)| host).to_owned();
        let rest = uri["http://".len()..].find(['/', '?']).map_or("", |at| &uri["http://".len() + at..]);
        Some((host, if rest.is_empty() { "/".to_owned() } else { rest.to_owned() }))
    };
    local(registered).is_some_and(|own| Some(own) == local(presented))
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address == std::net::Ipv4Addr::LOCALHOST,
        Some(Host::Ipv6(address)) => address == std::net::Ipv6Addr::LOCALHOST,
        None => false,
    }
}

fn authority(uri: &str) -> &str {
    let rest = uri.split_once("://").map_or(uri, |(_, rest)| rest);
    &rest[..rest.find(['/', '?']).unwrap_or(rest.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn https_anywhere_and_http_at_home() {
        let check = |uri: &str, host: &str, is_loopback: bool| {
            assert_eq!(parse(uri), Ok(Redirect { host: host.to_owned(), is_loopback }), "{uri}");
        };
        check("https://claude.ai/api/mcp/auth_callback", "claude.ai", false);
        check("https://chatgpt.com/connector/oauth/abc?x=y", "chatgpt.com", false);
        check("https://app.example:8443", "app.example:8443", false);
        check("http://localhost:53682/callback", "localhost:53682", true);
        check("http://127.0.0.1/callback", "127.0.0.1", true);
        check("http://[::1]:9/", "[::1]:9", true);
        check("https://localhost/x", "localhost", true);
    }

    #[test]
    fn everything_else_is_refused() {
        for uri in [
            "",
            "callback",
            "//app.example/x",
            "http://app.example/",
            "http://localhost.evil.example/",
            "http://127.0.0.2/",
            "http://0.0.0.0/",
            "http://[::2]/",
            "ftp://app.example/",
            "javascript:alert(1)",
            "data:text/html,x",
            "cursor://callback",
            "HTTPS://app.example/",
            "https://",
            "https://app.example/#",
            "https://app.example/#x",
            "https://user@app.example/",
            "https://:pw@app.example/",
            "https://@app.example/",
            "https://app.example\\@evil",
            "https://app.example/ x",
            "https://app.example/\r\nx",
            "https://app.example/é",
            "https://*.example/",
            "https://app.example/\u{0}",
            " https://app.example/",
            "https://app.example/ ",
        ] {
            assert!(parse(uri).is_err(), "{uri:?}");
        }
        let prefix = "https://app.example/";
        let longest = format!("{prefix}{}", "a".repeat(URI_CHARS_MAX - prefix.len()));
        assert!(parse(&longest).is_ok());
        assert!(parse(&format!("{longest}a")).is_err());
    }

    #[test]
    fn a_presented_uri_must_equal_the_registered_one() {
        let own = ["https://app.example/back?a=b".to_owned()];
        assert!(is_registered("https://app.example/back?a=b", &own));
        for other in [
            "https://app.example/back",
            "https://app.example/back?a=b&c",
            "https://app.example/back?a=b/",
            "https://app.example/BACK?a=b",
            "https://APP.example/back?a=b",
            "https://app.example:443/back?a=b",
            "https://app.example:8443/back?a=b",
            "http://app.example/back?a=b",
            "https://app.example/x/../back?a=b",
            "https://app.example.evil.example/back?a=b",
            "https://evil.example/back?a=b",
            "https://app.example/back%3Fa=b",
            "https://app.example/back?a=b#",
            "https://user@app.example/back?a=b",
        ] {
            assert!(!is_registered(other, &own), "{other}");
        }
    }

    #[test]
    fn at_home_the_port_alone_is_free() {
        for (own, presented, expected) in [
            ("http://localhost/cb", "http://localhost:1234/cb", true),
            ("http://localhost:1/cb", "http://localhost:65535/cb", true),
            ("http://localhost:1/cb", "http://localhost/cb", true),
            ("http://localhost", "http://localhost:5/", true),
            ("http://127.0.0.1:1/cb", "http://127.0.0.1:2/cb", true),
            ("http://[::1]:1/cb", "http://[::1]:2/cb", true),
            ("http://[::1]/cb", "http://[::1]:2/cb", true),
            ("http://localhost:1/cb", "http://127.0.0.1:1/cb", false),
            ("http://localhost:1/cb", "http://localhost:1/CB", false),
            ("http://localhost:1/cb", "http://localhost:1/cb/", false),
            ("http://localhost:1/cb", "http://localhost:1/cb?x=y", false),
            ("http://localhost:1/cb", "http://localhost:1/x/../cb", false),
            ("http://localhost:1/cb", "https://localhost:1/cb", false),
            ("http://localhost:1/cb", "http://localhost:1@evil.example/cb", false),
            ("http://localhost:1/cb", "http://localhost.evil.example:1/cb", false),
            ("http://localhost:1/cb", "http://localhost:99999/cb", false),
            ("https://localhost:1/cb", "https://localhost:2/cb", false),
        ] {
            assert_eq!(is_registered(presented, &[own.to_owned()]), expected, "{own} {presented}");
        }
    }
}
