//! Passwords inside addresses: `scheme://user:password@host`.

use super::Finding;
use super::plausible::is_placeholder;

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

/// The password in the address whose `://` stands at `at`.
pub(super) fn match_at(text: &str, at: usize) -> Option<Finding> {
    let start = at + 3;
    let bytes = text.as_bytes();
    let is_end = |b: u8| matches!(b, b'/' | b'?' | b'#' | b'"' | b'\'' | b'`' | b'<' | b'>' | b'\\') || b <= b' ';
    let length = bytes[start..].iter().take(AUTHORITY_BYTES_MAX).take_while(|b| !is_end(**b)).count();
    // A password may hold an `@`; the host can't, so the last one counts. Cutting at ASCII keeps characters whole.
    let host = start + bytes[start..start + length].iter().rposition(|b| *b == b'@')?;
    let colon = start + bytes[start..host].iter().position(|b| *b == b':')?;
    let (user, password) = (&text[start..colon], &text[colon + 1..host]);
    if password.len() < 4 || password == user || is_stand_in(password) {
        return None;
    }
    let kind = if STORES.contains(&scheme(text, at)) { "connection-string" } else { "url-password" };
    Some(Finding::new(kind, colon + 1..host))
}

fn is_stand_in(password: &str) -> bool {
    let is_word = password.bytes().all(|b| b.is_ascii_lowercase()) && password.len() < 8;
    password.starts_with(['$', '{', '<', '*', '%', '[', '(']) || is_word || is_placeholder(password)
}

fn scheme(text: &str, end: usize) -> &str {
    let is_scheme = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.');
    let length = text.as_bytes()[..end].iter().rev().take(20).take_while(|b| is_scheme(**b)).count();
    &text[end - length..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Option<&str>) {
        let found = text.find("://").and_then(|at| match_at(text, at)).map(|finding| text[finding.span].to_owned());
        assert_eq!(found.as_deref(), expected, "{text}");
    }

    #[test]
    fn the_password_alone_is_found() {
        let word = ["Zq4", "n8Vr"].concat();
        check(&format!("redis://:{word}@cache.example:6379/0"), Some(&word));
        check(&format!("mysql://root:{word}@@db/x"), Some(&format!("{word}@")));
    }

    #[test]
    fn addresses_without_a_real_password_stay() {
        check("https://example.com/a:b@c", None);
        check("postgres://app:app@localhost/app", None);
        check("postgres://app:${PASSWORD}@localhost/app", None);
        check("http://[::1]:8080/", None);
        check("ssh://git@host:22/x", None);
    }
}
