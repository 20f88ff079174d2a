//! Passwords and tokens inside addresses: `scheme://user:password@host`, `https://TOKEN@host`, `user:password@host`,
//! `jdbc:oracle:thin:user/password@host`.

use super::plausible::{character_sorts, is_placeholder, is_random, is_uuid};
use super::view::View;
use super::{Finding, MARK};

/// Schemes of databases and brokers; with them the address is called a connection string.
const STORES: &[&str] = &[
    "postgres",
    "postgresql",
    "mysql",
    "mariadb",
    "mongodb",
    "mongodb+srv",
    "redis",
    "rediss",
    "amqp",
    "amqps",
    "mssql",
    "sqlserver",
    "clickhouse",
    "cassandra",
    "couchdb",
    "oracle",
    "nats",
    "kafka",
    "cockroachdb",
    "snowflake",
    "ldap",
    "ldaps",
    "smtp",
    "smtps",
    "ftp",
    "sftp",
];

/// How far an address is followed in search of its `@`.
const AUTHORITY_BYTES_MAX: usize = 300;

/// What Oracle's addresses begin with.
pub(super) const ORACLE: &str = "oracle:thin:";

/// The password or token in the address whose `://` is at `at`.
pub(super) fn match_at(text: &View<'_>, at: usize) -> Option<Finding> {
    let start = at + 3;
    // What was taken out before holds a colon, and is no user with a password.
    if text[start..].starts_with(MARK) {
        return None;
    }
    let bytes = text.as_bytes();
    let is_end = |b: u8| matches!(b, b'/' | b'?' | b'#' | b'"' | b'\'' | b'`' | b'<' | b'>' | b'\\') || b <= b' ';
    let length = bytes[start..].iter().take(AUTHORITY_BYTES_MAX).take_while(|b| !is_end(**b)).count();
    // A password may hold an `@`; the host can't, so the last one counts. Cutting at ASCII keeps characters whole.
    let at_sign = start + bytes[start..start + length].iter().rposition(|b| *b == b'@')?;
    let host = &bytes[at_sign + 1..start + length];
    let colon = bytes[start..at_sign].iter().position(|b| *b == b':').map(|colon| start + colon);
    let user = &text[start..colon.unwrap_or(at_sign)];
    if is_token(user) {
        return Some(Finding::new("url-token", start..start + user.len()));
    }
    let password = colon? + 1..at_sign;
    if is_stand_in(user, &text[password.clone()], is_local(host)) {
        return None;
    }
    let scheme = scheme(text, at);
    let kind = if STORES.iter().any(|store| scheme.ends_with(store)) { "connection-string" } else { "url-password" };
    Some(Finding::new(kind, password))
}

/// A user that is really a token: long, and not a name.
fn is_token(user: &str) -> bool {
    let is_plain = user.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b));
    is_plain && ((user.len() >= 20 && is_random(user)) || is_uuid(user)) && !is_placeholder(user)
}

/// A template or the word itself is no password. On a machine of one's own, neither is what everybody uses there.
fn is_stand_in(user: &str, password: &str, is_local: bool) -> bool {
    const WORDS: &[&str] = &["password", "passwd", "pass", "pwd", "pw", "secret", "token", "xxx", "x-oauth-basic"];
    let lower = password.to_ascii_lowercase();
    let is_word = password.len() < 8 && password.bytes().all(|b| b.is_ascii_lowercase());
    password.len() < 3
        || password.starts_with(['$', '{', '<', '‹', '*', '%', '[', '(', '…'])
        || password.starts_with("...")
        || WORDS.contains(&&*lower)
        || lower.contains("example")
        || lower.starts_with("your")
        || is_local && (password.len() < 4 || password == user || is_word || is_placeholder(password))
}

/// This machine, and hosts that documentation makes up.
fn is_local(host: &[u8]) -> bool {
    let name = host.split(|b| *b == b':').next().unwrap_or_default();
    let is_ipv6 = host.starts_with(b"[::1]");
    is_ipv6
        || matches!(name, b"localhost" | b"127.0.0.1" | b"0.0.0.0" | b"host" | b"hostname" | b"host.docker.internal")
        || name.starts_with(b"example.")
}

fn scheme(text: &str, end: usize) -> &str {
    let is_scheme = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.');
    let length = text.as_bytes()[..end].iter().rev().take(20).take_while(|b| is_scheme(**b)).count();
    &text[end - length..end]
}

/// How far a login is followed back from its `@`.
const LOGIN_BYTES_MAX: usize = 100;

/// The password in `user:password@host` without a scheme. Labels before mail addresses look the same, so it has to mix
/// characters as no name does, and the host has to be one.
pub(super) fn match_address(text: &View<'_>, at: usize) -> Option<Finding> {
    const LABELS: &[&str] =
        &["mail", "email", "e-mail", "mailto", "to", "cc", "bcc", "from", "sip", "xmpp", "acct", "npm"];
    let bytes = text.as_bytes();
    let is_login = |b: u8| b.is_ascii_graphic() && !b"/\"'`<>()[]{},;=@\\".contains(&b);
    let length = bytes[..at].iter().rev().take(LOGIN_BYTES_MAX).take_while(|b| is_login(**b)).count();
    let (user, password) = text[at - length..at].split_once(':')?;
    let is_name =
        (2..=40).contains(&user.len()) && user.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b));
    let is_secret = (6..=64).contains(&password.len())
        && character_sorts(password) >= 3
        && password.bytes().any(|b| b.is_ascii_digit())
        && !password.contains(':')
        && !is_placeholder(password);
    let is_label = LABELS.contains(&&*user.to_ascii_lowercase());
    (is_name && is_secret && !is_label && is_host(&bytes[at + 1..]))
        .then(|| Finding::new("url-password", at - password.len()..at))
}

/// A name with a top-level domain, or four numbers.
fn is_host(rest: &[u8]) -> bool {
    let length = rest.iter().take(100).take_while(|b| b.is_ascii_alphanumeric() || b"-.".contains(b)).count();
    let host = rest[..length].strip_suffix(b".").unwrap_or(&rest[..length]);
    let parts: Vec<&[u8]> = host.split(|b| *b == b'.').collect();
    let is_address =
        parts.len() == 4 && parts.iter().all(|part| !part.is_empty() && part.iter().all(u8::is_ascii_digit));
    let is_domain = parts.len() >= 2
        && parts.iter().all(|part| !part.is_empty())
        && parts.last().is_some_and(|top| top.len() >= 2 && top.iter().all(u8::is_ascii_alphabetic));
    is_address || is_domain || host == b"localhost"
}

/// The password of `oracle:thin:user/password@host`; the address starts at `at`.
pub(super) fn match_oracle(text: &View<'_>, at: usize) -> Option<Finding> {
    let start = at + ORACLE.len();
    let is_end = |b: u8| b <= b' ' || matches!(b, b'"' | b'\'' | b'`' | b'\\');
    let rest = &text.as_bytes()[start..];
    let length = rest.iter().take(AUTHORITY_BYTES_MAX).take_while(|b| !is_end(**b)).count();
    let slash = start + rest[..length].iter().position(|b| *b == b'/')?;
    let at_sign = start + rest[..length].iter().rposition(|b| *b == b'@')?;
    if slash >= at_sign {
        return None;
    }
    let (user, password) = (&text[start..slash], &text[slash + 1..at_sign]);
    (!is_stand_in(user, password, false)).then(|| Finding::new("connection-string", slash + 1..at_sign))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Option<&str>) {
        let view = View::plain(text);
        let by_scheme = text.find("://").and_then(|at| match_at(&view, at));
        let by_oracle = || text.find(ORACLE).and_then(|at| match_oracle(&view, at));
        let by_login = || text.match_indices('@').find_map(|(at, _)| match_address(&view, at));
        let found = by_scheme.or_else(by_oracle).or_else(by_login).map(|finding| text[finding.span].to_owned());
        assert_eq!(found.as_deref(), expected, "{text}");
    }

    #[test]
    fn the_password_alone_is_found() {
        let word = ["Zq4", "n8Vr"].concat();
        check(&format!("redis://:{word}@cache.example:6379/0"), Some(&word));
        check(&format!("mysql://root:{word}@@db/x"), Some(&format!("{word}@")));
        check(&format!("jdbc:oracle:thin:scott/{word}@//db.acme.io:1521/x"), Some(&word));
        check(&format!("jdbc:oracle:thin:scott/{word}@db:1521:x"), Some(&word));
        check(&format!("connect to ana:{word}@db.acme.io:5432"), Some(&word));
        check(&format!("connect to ana:{word}@10.0.0.7"), Some(&word));
    }

    #[test]
    fn on_a_real_host_any_password_counts() {
        let word = ["ti", "ger"].concat();
        check(&format!("postgres://scott:{word}@db.acme.io/shop"), Some(&word));
        check(&format!("postgres://{word}:{word}@db.acme.io/shop"), Some(&word));
    }

    #[test]
    fn a_token_in_the_place_of_a_user_is_found() {
        let token = ["q8Zk2LmX0a", "Vb7Rt5Wy3N"].concat();
        check(&format!("git clone https://{token}@git.acme.io/x.git"), Some(&token));
        check(&format!("https://{token}:x-oauth-basic@git.acme.io/x.git"), Some(&token));
    }

    #[test]
    fn addresses_without_a_real_password_stay() {
        check("https://example.com/a:b@c", None);
        check("postgres://app:app@localhost/app", None);
        check("postgres://app:secret@localhost/app", None);
        check("postgres://app:${PASSWORD}@localhost/app", None);
        check("postgres://app:${PASSWORD}@db.acme.io/app", None);
        check("postgres://user:password@db.acme.io/app", None);
        check("http://[::1]:8080/", None);
        check("ssh://git@host:22/x", None);
        check("https://some-user.name2024@host.io/x", None);
        check("mailto:Ana1985@acme.io, Email:Ana_1985@acme.io", None);
        check("npm:String-width2@4.2.0 image:Tag_1.2@sha256:0a", None);
        check("jdbc:oracle:thin:@db.acme.io:1521/x", None);
    }
}
