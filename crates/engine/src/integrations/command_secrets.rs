//! Which parts of a local command's words are secrets. A command has no headers: its credential is among its arguments,
//! or behind `env` as `NAME=value`, and comes back in whatever it echoes.
//!
//! Not every value is one: were `production` or a path taken for a secret, it would vanish from every answer. A value
//! is a secret if redaction finds it, if its name says so, or if it is set for the environment and looks made by a
//! machine.

use std::sync::Arc;

use mnemon_core::Secret;
use mnemon_guard::secrets_in;

/// A shorter value would be found in every other word.
const VALUE_BYTES_MIN: usize = 6;
/// Letters and digits in one run of this length are no name that somebody chose.
const RUN_CHARS_MIN: usize = 16;

/// The last part of a name that holds a secret.
const TELLING: [&str; 17] = [
    "apikey",
    "auth",
    "authorization",
    "bearer",
    "credential",
    "credentials",
    "key",
    "pass",
    "passphrase",
    "passwd",
    "password",
    "pat",
    "pwd",
    "secret",
    "secrets",
    "token",
    "tokens",
];

/// The secrets among a command's words.
pub(super) fn of(words: &[String]) -> Vec<Arc<Secret<String>>> {
    let line = words.join(" ");
    let mut found: Vec<&str> = secrets_in(&line);
    for (nth, word) in words.iter().enumerate().skip(1) {
        found.extend(secrets_in(word));
        let name_and_value = match (word.split_once('='), words.get(nth + 1)) {
            (Some(pair), _) => Some(pair),
            (None, Some(next)) if word.starts_with('-') && !next.starts_with('-') => Some((&word[..], &next[..])),
            _ => None,
        };
        let Some((name, value)) = name_and_value else { continue };
        if is_telling(name) || (is_variable(name) && looks_made(value)) {
            found.push(value);
        }
    }
    found.retain(|value| value.len() >= VALUE_BYTES_MIN);
    found.sort_unstable();
    found.dedup();
    found.into_iter().map(|value| Arc::new(Secret::new(value.to_owned()))).collect()
}

/// `GITHUB_TOKEN`, `--api-key`; not `KEY_FILE`, whose value is a path.
fn is_telling(name: &str) -> bool {
    let last = name.rsplit(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default().to_ascii_lowercase();
    TELLING.contains(&last.as_str())
}

/// The name of an environment variable, as people write them.
fn is_variable(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
}

fn looks_made(value: &str) -> bool {
    let runs = value.split(|c: char| !c.is_ascii_alphanumeric());
    let has = |run: &str, kind: fn(&u8) -> bool| run.bytes().any(|byte| kind(&byte));
    runs.filter(|run| run.len() >= RUN_CHARS_MIN)
        .any(|run| has(run, u8::is_ascii_digit) && has(run, u8::is_ascii_alphabetic))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secrets(words: &[&str]) -> Vec<String> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        of(&words).iter().map(|secret| secret.expose().clone()).collect()
    }

    #[test]
    fn values_are_secrets_by_their_name_by_their_look_or_by_redaction() {
        let key = mnemon_guard::canary::of("github-token");
        let made = "8f3a91c07d5e4b62".to_owned() + "aa10";
        for (words, expected) in [
            (vec!["env", "DEPLOY_PASSWORD=open sesame", "server"], "open sesame"),
            (vec!["server", "--token", "plain-words"], "plain-words"),
            (vec!["server", "--api-key=plain-words"], "plain-words"),
            (vec!["server", "-x", &key], &key),
            (vec!["env", &format!("TENANT={made}"), "server"], &made),
            (vec!["server", concat!("postgres://app:", "Kx9wQ2pL7@db.example/app")], "Kx9wQ2pL7"),
        ] {
            assert_eq!(secrets(&words), [expected], "{words:?}");
        }
    }

    #[test]
    fn ordinary_words_are_no_secrets() {
        let words = [
            "env",
            "NODE_ENV=production",
            "AWS_REGION=eu-central-1",
            "MODEL=gpt-4o-mini-2024-07-18",
            "KEY_FILE=/etc/server/private.pem",
            "BASE_URL=https://git.example.com/api/v4",
            "mcp-server-git",
            "--repository",
            "/srv/repository",
            "--token",
            "--verbose",
        ];
        assert!(secrets(&words).is_empty(), "{:?}", secrets(&words));
    }

    #[test]
    fn a_secret_has_at_least_six_bytes() {
        assert_eq!(secrets(&["server", "--token", "abcdef"]), ["abcdef"]);
        assert!(secrets(&["server", "--token", "abcde"]).is_empty());
    }
}
