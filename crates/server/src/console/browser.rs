//! Which browser somebody uses, in words of ours: what a program says of itself is not repeated.

use http::HeaderMap;
use http::header::USER_AGENT;

/// What to look for, in this order: most browsers also claim to be others.
const BROWSERS: [(&str, &str); 5] =
    [("Edg", "Edge"), ("OPR/", "Opera"), ("Firefox/", "Firefox"), ("Chrome/", "Chrome"), ("Safari/", "Safari")];
const SYSTEMS: [(&str, &str); 6] = [
    ("Android", "Android"),
    ("iPhone", "iOS"),
    ("iPad", "iOS"),
    ("Windows", "Windows"),
    ("Mac OS X", "macOS"),
    ("Linux", "Linux"),
];

/// For example "Firefox on Linux".
pub(super) fn describe(headers: &HeaderMap) -> String {
    let said = headers.get(USER_AGENT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let find =
        |table: &[(&str, &'static str)]| table.iter().find(|(sign, _)| said.contains(sign)).map(|(_, name)| *name);
    let browser = find(&BROWSERS).unwrap_or("A browser");
    find(&SYSTEMS).map_or_else(|| browser.to_owned(), |system| format!("{browser} on {system}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browser_is_told_in_our_words() {
        let of = |said: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(USER_AGENT, said.parse().expect("a header"));
            describe(&headers)
        };
        assert_eq!(of("Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"), "Firefox on Linux");
        assert_eq!(
            of("Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537 Chrome/120 Safari/537 Edg/120"),
            "Edge on Windows"
        );
        assert_eq!(of("Mozilla/5.0 (iPhone; CPU iPhone OS 17) Version/17 Safari/604"), "Safari on iOS");
        assert_eq!(of("<script>hit()</script>"), "A browser");
        assert_eq!(describe(&HeaderMap::new()), "A browser");
    }
}
