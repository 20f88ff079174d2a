//! Secrets out of texts: each found one becomes `[redacted:<kind>]`.
//!
//! The text is read as it is, and then with its encodings undone (`view.rs`). One pass of an automaton finds the
//! places where a secret may begin (`ghp_`, `password`, `-----BEGIN`); matchers written by hand then look closely. A
//! place that turns out harmless costs a few bytes of reading, so the whole is linear. To add a kind: a row in
//! `kinds.rs`; if no row there knows its shape, with a matcher in `shaped.rs`.

pub mod canary;

mod assigned;
mod bytes;
mod commands;
mod escapes;
mod kinds;
mod plausible;
mod prefixed;
mod scan;
mod shaped;
mod urls;
mod value;
mod view;

use std::borrow::Cow;
use std::ops::Range;

/// A text without its secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redacted<'a> {
    /// The text; borrowed when nothing had to be replaced.
    pub text: Cow<'a, str>,
    /// How many secrets were replaced.
    pub count: usize,
    /// How many of each kind, in the order of the kinds' first appearance.
    pub kinds: Vec<(&'static str, usize)>,
}

/// What replaces a secret, up to its kind.
pub(crate) const MARK: &str = "[redacted:";

/// A secret in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) kind: &'static str,
    pub(crate) span: Range<usize>,
}

impl Finding {
    pub(crate) fn new(kind: &'static str, span: Range<usize>) -> Finding {
        Finding { kind, span }
    }
}

/// Taking one secret out can lay bare another that touched it. Real texts need one round and one to see that nothing
/// is left; the bound keeps made-up ones from costing more.
const ROUNDS_MAX: usize = 8;

/// Replaces every secret in `text`. Text that was redacted before stays as it is.
pub fn redact(text: &str) -> Redacted<'_> {
    let mut redacted = Redacted { text: Cow::Borrowed(text), count: 0, kinds: Vec::new() };
    for _ in 0..ROUNDS_MAX {
        let findings = scan::find_all(&redacted.text);
        if findings.is_empty() {
            break;
        }
        for finding in &findings {
            match redacted.kinds.iter_mut().find(|(kind, _)| *kind == finding.kind) {
                Some((_, count)) => *count += 1,
                None => redacted.kinds.push((finding.kind, 1)),
            }
        }
        redacted.count += findings.len();
        redacted.text = Cow::Owned(replace(&redacted.text, &findings));
    }
    redacted
}

/// The secrets in `text`, as written there.
pub fn secrets_in(text: &str) -> Vec<&str> {
    scan::find_all(text).into_iter().map(|finding| &text[finding.span]).collect()
}

/// The names of all kinds, as they appear in `[redacted:<kind>]`.
pub fn secret_kinds() -> Vec<&'static str> {
    let mut kinds: Vec<&'static str> = canary::all().into_iter().map(|(kind, _)| kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    kinds
}

fn replace(text: &str, findings: &[Finding]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut copied = 0;
    for finding in findings {
        out.push_str(&text[copied..finding.span.start]);
        out.push_str(MARK);
        out.push_str(finding.kind);
        out.push(']');
        copied = finding.span.end;
    }
    out.push_str(&text[copied..]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_canary_is_replaced_by_its_own_kind_in_any_company() {
        for (kind, secret) in canary::all() {
            for (before, after) in
                [("", ""), ("see ", " now"), ("\"", "\","), ("(", ")"), ("line\n", "\nline"), ("= ", ";")]
            {
                let text = format!("{before}{}{after}", secret.text);
                let redacted = redact(&text);
                assert!(!redacted.text.contains(&secret.hidden), "{kind} shows in {}", redacted.text);
                assert!(redacted.kinds.iter().any(|(found, _)| *found == kind), "{kind}: {:?}", redacted.kinds);
                assert_eq!(redact(&redacted.text).count, 0, "{kind}: {}", redacted.text);
                assert!(!redacted.text.contains("[redacted:["), "{kind}: {}", redacted.text);
            }
        }
    }

    #[test]
    fn secrets_are_told_as_they_stand_in_the_text() {
        for (kind, secret) in canary::all() {
            let text = format!("see {} now", secret.text);
            assert!(secrets_in(&text).iter().any(|found| found.contains(&secret.hidden)), "{kind}: {text}");
        }
        assert!(secrets_in("nothing here").is_empty());
    }

    #[test]
    fn there_are_many_kinds() {
        assert!(secret_kinds().len() >= 100, "{}", secret_kinds().len());
    }

    #[test]
    fn text_around_a_secret_stays() {
        let key = canary::of("github-token");
        let redacted = redact_owned(&format!("the key {key} is Ana's"));
        assert_eq!(redacted, "the key [redacted:github-token] is Ana's");
    }

    #[test]
    fn a_text_without_secrets_is_borrowed() {
        assert!(matches!(redact("nothing here").text, Cow::Borrowed(_)));
    }

    #[test]
    fn look_alikes_stay() {
        for text in [
            "commit 3f786850e387550fdab836ed7e6dc881de23001b",
            "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
            "id 0190b5a2-7c3e-7d4f-8a1b-2c3d4e5f6a7b",
            "checksum = \"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08\"",
            "\"integrity\": \"sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg==\"",
            "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==",
            "password: String, token: &str, secret = Secret::new(raw)",
            "let token = next_token(input)?; api_key.as_deref()",
            "password=$DB_PASSWORD token: ${TOKEN} secret: <your secret> api_key: {{ key }}",
            "postgres://user:password@localhost/app and redis://localhost:6379",
            "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx and sk-ant-...",
            "the password policy: 16 characters, sha256 hashed",
            "the token is base64url-encoded and the secret is stored",
            "Authorization: Bearer <key>",
            "task-management-for-large-distributed-systems-2024",
            "password: [redacted:password]",
        ] {
            let redacted = redact(text);
            assert_eq!(redacted.count, 0, "{}", redacted.text);
        }
    }

    #[test]
    fn passwords_in_assignments_and_addresses_leave_the_rest_readable() {
        let (word, more) = ("tr0ub4dor".to_owned() + "&3x", "Kx9".to_owned() + "wQ2pL7");
        for (text, expected) in [
            (format!("DB_PASSWORD={word}"), "DB_PASSWORD=[redacted:password]"),
            (format!("password: \"{word}\","), "password: \"[redacted:password]\","),
            (format!("{{\"dbPassword\": \"{more}\"}}"), "{\"dbPassword\": \"[redacted:password]\"}"),
            (
                format!("postgres://app:{more}@db.example/app"),
                "postgres://app:[redacted:connection-string]@db.example/app",
            ),
            (format!("https://bot:{more}@git.example/x"), "https://bot:[redacted:url-password]@git.example/x"),
            (format!("Server=db;User Id=sa;Password={more};"), "Server=db;User Id=sa;Password=[redacted:password];"),
        ] {
            assert_eq!(redact_owned(&text), expected);
        }
    }

    fn redact_owned(text: &str) -> String {
        redact(text).text.into_owned()
    }
}
