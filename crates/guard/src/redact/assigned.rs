//! Secrets that are given to a name: `DB_PASSWORD=…`, `"api_key": "…"`, `--token …`.
//!
//! Code is full of such names with harmless values (types, calls, variables, placeholders), so the value decides.

use super::bytes::byte_at;
use super::plausible::{character_sorts, is_placeholder, is_random, is_uuid};
use super::{Finding, MARK};

/// What a name promises, and so how its value is judged.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Promise {
    /// Chosen by a person: short, and rarely random.
    Chosen,
    /// Made by a machine: long and random.
    Generated,
}

/// Last words of names, longest first where one ends another; the kind that is reported; what to expect.
const NAMES: &[(&str, &str, Promise)] = &[
    ("password", "password", Promise::Chosen),
    ("passwd", "password", Promise::Chosen),
    ("passphrase", "password", Promise::Chosen),
    ("pwd", "password", Promise::Chosen),
    ("aws_secret_access_key", "aws-secret-key", Promise::Generated),
    ("secretaccesskey", "aws-secret-key", Promise::Generated),
    ("aws_session_token", "aws-session-token", Promise::Generated),
    ("client_secret", "client-secret", Promise::Generated),
    ("clientsecret", "client-secret", Promise::Generated),
    ("client-secret", "client-secret", Promise::Generated),
    ("api_key", "api-key", Promise::Generated),
    ("apikey", "api-key", Promise::Generated),
    ("api-key", "api-key", Promise::Generated),
    ("access_key", "access-key", Promise::Generated),
    ("accesskey", "access-key", Promise::Generated),
    ("secret_key", "secret-key", Promise::Generated),
    ("secretkey", "secret-key", Promise::Generated),
    ("secret-key", "secret-key", Promise::Generated),
    ("private_key", "secret-key", Promise::Generated),
    ("encryption_key", "secret-key", Promise::Generated),
    ("encryptionkey", "secret-key", Promise::Generated),
    ("signing_key", "secret-key", Promise::Generated),
    ("master_key", "secret-key", Promise::Generated),
    ("auth_token", "token", Promise::Generated),
    ("authtoken", "token", Promise::Generated),
    ("token", "token", Promise::Generated),
    ("secret", "secret", Promise::Generated),
    ("credential", "secret", Promise::Generated),
];

/// The last words of names, for the automaton.
pub(super) fn anchors() -> impl Iterator<Item = &'static str> {
    NAMES.iter().map(|(name, _, _)| *name)
}

/// The value given to the name of row `index`, which was found at `at`.
pub(super) fn match_at(index: usize, text: &str, at: usize) -> Option<Finding> {
    let (name, kind, promise) = NAMES[index];
    let value = value_after(text, at + name.len())?;
    if !value.is_quoted && (is_constant(value.text) || is_type(&value) || names_itself(value.text, name)) {
        return None;
    }
    let is_secret = match promise {
        Promise::Chosen => is_chosen(&value),
        Promise::Generated => is_generated(value.text),
    };
    is_secret.then(|| Finding::new(kind, value.start..value.start + value.text.len()))
}

struct Value<'t> {
    text: &'t str,
    start: usize,
    is_quoted: bool,
    /// What stands right after it.
    next: Option<u8>,
    /// Does ` =` follow? Then it is the type in `name: Type = value`.
    is_annotated: bool,
}

/// How far a value is followed.
const VALUE_BYTES_MAX: usize = 512;

/// The value after a name that ends at `at`: an optional quote, `=` or `:`, an optional quote, the value.
fn value_after(text: &str, at: usize) -> Option<Value<'_>> {
    let bytes = text.as_bytes();
    let mut at = at;
    at += usize::from(matches!(byte_at(text, at), Some(b'"' | b'\'' | b'`')));
    // Inside a JSON string the quotes of inner JSON are escaped.
    at += 2 * usize::from(text.get(at..).is_some_and(|rest| rest.starts_with("\\\"")));
    at = skip_spaces(bytes, at);
    at += match byte_at(text, at)? {
        b'=' if byte_at(text, at + 1) == Some(b'>') => 2,
        b'=' if byte_at(text, at + 1) == Some(b'=') => return None,
        b':' if byte_at(text, at + 1) == Some(b':') => return None,
        b':' if byte_at(text, at + 1) == Some(b'=') => 2,
        b'=' | b':' => 1,
        _ => return None,
    };
    at = skip_spaces(bytes, at);
    at += usize::from(byte_at(text, at) == Some(b'\\') && byte_at(text, at + 1) == Some(b'"'));
    let quote = byte_at(text, at).filter(|b| matches!(b, b'"' | b'\'' | b'`'));
    let start = at + usize::from(quote.is_some());
    let is_end = |b: u8| match quote {
        Some(quote) => b == quote || b == b'\n' || b == b'\\',
        None => b <= b' ' || matches!(b, b'"' | b'\'' | b'`' | b',' | b';' | b')' | b']' | b'}' | b'>' | b'\\'),
    };
    let length = bytes.get(start..)?.iter().take(VALUE_BYTES_MAX).take_while(|b| !is_end(**b)).count();
    let whole = text.get(start..start + length)?;
    let value = if quote.is_some() { whole } else { first_parameter(whole) };
    let end = start + value.len();
    let is_annotated = bytes[end..].starts_with(b" = ");
    Some(Value { text: value, start, is_quoted: quote.is_some(), next: byte_at(text, end), is_annotated })
}

/// In a query string the value ends where the next parameter begins; elsewhere a password may hold an `&`.
fn first_parameter(value: &str) -> &str {
    match value.split_once('&') {
        Some((first, rest)) if rest.contains('=') => first,
        _ => value,
    }
}

fn skip_spaces(bytes: &[u8], at: usize) -> usize {
    at + bytes.get(at..).unwrap_or_default().iter().take(8).take_while(|b| matches!(**b, b' ' | b'\t')).count()
}

/// `MAX_LENGTH_2`: the name of a constant.
fn is_constant(value: &str) -> bool {
    value.contains('_') && value.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
}

fn is_type(value: &Value<'_>) -> bool {
    value.is_annotated || value.text.contains(['<', '['])
}

/// `private_key: new_private_key` hands a variable on.
fn names_itself(value: &str, name: &str) -> bool {
    value.to_ascii_lowercase().replace('_', "").contains(&name.replace('_', ""))
}

/// Would a person use this as a password?
fn is_chosen(value: &Value<'_>) -> bool {
    let text = value.text;
    let bounds = if value.is_quoted { 6..=128 } else { 6..=64 };
    if !bounds.contains(&text.len()) || is_harmless(text) {
        return false;
    }
    let has_digit = text.bytes().any(|b| b.is_ascii_digit());
    let has_letter = text.bytes().any(|b| b.is_ascii_alphabetic());
    let is_name = text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'.');
    let in_code = matches!(value.next, Some(b';' | b')' | b',' | b'('));
    match (has_letter, has_digit) {
        (true, true) if is_name && !value.is_quoted && in_code => character_sorts(text) >= 3 && is_random(text),
        (true, true) => true,
        (false, true) => text.bytes().all(|b| b.is_ascii_digit()) && !in_code,
        (true, false) => character_sorts(text) >= 3 && !text.contains(' ') && !is_name,
        (false, false) => false,
    }
}

fn is_generated(text: &str) -> bool {
    let is_key = |b: u8| b.is_ascii_alphanumeric() || b"+/=-_.~!@#%^*".contains(&b);
    (16..=VALUE_BYTES_MAX).contains(&text.len())
        && text.bytes().all(is_key)
        && !is_harmless(text)
        && !is_uuid(text)
        && !is_readable(text)
        && is_random(text)
}

/// Calls, variables, paths, markup, placeholders, and what was redacted already.
fn is_harmless(text: &str) -> bool {
    text.starts_with(MARK)
        || text.starts_with(['$', '<', '{', '[', '(', '/', '~', '&', '*', '%', '#', '@'])
        || text.starts_with("./")
        || text.contains("://")
        || text.contains("::")
        || text.contains("${")
        || text.contains("{{")
        || text.contains('(')
        || is_placeholder(text)
}

/// Words joined by signs (`next-release-2024`, `config.auth.v2`) are names, however long.
fn is_readable(text: &str) -> bool {
    let mut words = 0;
    for part in text.split(['-', '_', '.', '/']).filter(|part| !part.is_empty()) {
        let letters = part.trim_end_matches(|c: char| c.is_ascii_digit());
        let is_word = letters.len() <= 20 && letters.bytes().all(|b| b.is_ascii_alphabetic()) && is_one_case(letters);
        if !is_word || part.len() - letters.len() > 4 {
            return false;
        }
        words += 1;
    }
    words >= 2
}

/// All small or all large, but for the first letter.
fn is_one_case(word: &str) -> bool {
    let mut rest = word.bytes().skip(1);
    rest.clone().all(|b| b.is_ascii_lowercase()) || rest.all(|b| b.is_ascii_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Option<&str>) {
        let found = anchors().enumerate().find_map(|(index, anchor)| {
            let at = text.to_ascii_lowercase().find(anchor)?;
            match_at(index, text, at).map(|finding| text[finding.span].to_owned())
        });
        assert_eq!(found.as_deref(), expected, "{text}");
    }

    #[test]
    fn values_are_found_in_the_usual_notations() {
        let chosen = ["Tiger", "#42!"].concat();
        for text in
            ["password={}", "password: {}", "\"password\" : \"{}\"", "dbPassword='{}'", "PASSWORD := `{}`", "pwd => {}"]
        {
            check(&text.replace("{}", &chosen), Some(&chosen));
        }
        let generated = ["q8Zk2LmX0a", "Vb7Rt5Wy3N"].concat();
        for text in
            ["api_key = \"{}\"", "X_TOKEN={}", "clientSecret: '{}'", "?apikey={}&x=1", "{\\\"token\\\":\\\"{}\\\"}"]
        {
            check(&text.replace("{}", &generated), Some(&generated));
        }
    }

    #[test]
    fn code_and_placeholders_are_left_alone() {
        for text in [
            "password: String",
            "token: Option<String>,",
            "secret = load_secret(path)?",
            "token == other_token_2024_value",
            "api_key: config.api_key_v2,",
            "token: tokens.next_word_1;",
            "password = args.password1;",
            "password: Option<P>, token: Vec<u8>",
            "password = parts[12], password: Optional[bytes2]",
            "RESET_PASSWORD: WIN32_ERROR = 1323u32;",
            "signing_key: x25519_new_signing_key,",
            "secret: my-app-database-credentials-2024",
            "token: 0190b5a2-7c3e-7d4f-8a1b-2c3d4e5f6a7b",
            "password: required, at least 12 characters",
        ] {
            check(text, None);
        }
    }
}
