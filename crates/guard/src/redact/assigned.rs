//! Secrets that are given to a name: `DB_PASSWORD=…`, `"api_key": "…"`, `--token …`, `Passwort: …`.
//!
//! Code is full of such names with harmless values (types, calls, variables, placeholders), so the value decides.
//! How a value is cut out of the text after a name is in `value.rs`.

use super::Finding;
use super::bytes::{Alphabet, from_base64};
use super::plausible::{character_sorts, is_harmless, is_jumbled, is_of_two_words, is_random, is_readable, is_uuid};
use super::value::{Value, cookies_after, value_after};
use super::view::View;

/// What a name promises, and so how its value is judged.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Promise {
    /// Chosen by a person: short, and rarely random.
    Chosen,
    /// The same behind a name that also means other things: it has to be a whole word, and its value no mere number.
    Nickname,
    /// Made by a machine: long and random.
    Generated,
    /// The base64 of `user:password`.
    Login,
    /// `name=value` pairs, of which one may be a session.
    Cookies,
}

use Promise::{Chosen, Cookies, Generated, Login, Nickname};

/// The value given to a name, which was found at `at` and promises a secret of this kind.
pub(super) fn match_at(
    kind: &'static str,
    name: &str,
    promise: Promise,
    text: &View<'_>,
    at: usize,
) -> Option<Finding> {
    if promise == Cookies {
        let value = cookies_after(text, at + name.len())?;
        return has_session(&text[value.clone()]).then(|| Finding::new(kind, value));
    }
    if promise == Nickname && is_word_end(text, at) {
        return None;
    }
    let mut value = value_after(text, at, at + name.len())?;
    if promise == Generated {
        // A cell of a table ends here; a password may contain the sign.
        value.text = value.text.split('|').next().unwrap_or_default();
    }
    let is_code = is_constant(value.text) || is_type(&value) || names_itself(value.text, name);
    if !value.is_quoted && promise != Login && is_code {
        return None;
    }
    let is_secret = match promise {
        Chosen => is_chosen(&value),
        Nickname => is_chosen(&value) && is_mixed(value.text, is_part(text, at)),
        Generated => is_generated(value.text) || (is_uuid(value.text) && !is_handle(text, at)),
        Login => is_login(value.text),
        Cookies => false,
    };
    is_secret.then(|| Finding::new(kind, value.start..value.start + value.text.len()))
}

/// Is this the end of a longer word, as in `bypass`? `dbPass` has two words.
fn is_word_end(text: &View<'_>, at: usize) -> bool {
    let starts_a_hump = text.as_bytes()[at].is_ascii_uppercase()
        && at.checked_sub(1).is_some_and(|before| text.as_bytes()[before].is_ascii_lowercase());
    text.is_inside_word(at) && !starts_a_hump
}

/// `DB_PASS`, `dbPass`, `db.pass`: with a first part the name says more than `pass` alone.
fn is_part(text: &View<'_>, at: usize) -> bool {
    at.checked_sub(1).is_some_and(|before| matches!(text.as_bytes()[before], b'_' | b'-' | b'.' | b'a'..=b'z'))
}

/// A number behind such a name is a count, and a word with a number behind the bare one is prose.
fn is_mixed(value: &str, is_part: bool) -> bool {
    value.bytes().any(|b| b.is_ascii_alphabetic()) && (is_part || character_sorts(value) >= 3)
}

/// `next_page_token`, `sync token`: a place in a list, which is often a UUID and opens nothing.
fn is_handle(text: &View<'_>, at: usize) -> bool {
    const HANDLES: &[&str] = &["page", "next", "sync", "continuation", "cancel", "request", "idempotency", "cursor"];
    let before: String =
        text.as_bytes()[at.saturating_sub(16)..at].iter().map(|b| char::from(b.to_ascii_lowercase())).collect();
    HANDLES.iter().any(|word| before.trim_end_matches(['_', '-', ' ']).ends_with(word))
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
    if !bounds.contains(&text.len()) || (is_harmless(text) && !is_of_two_words(text)) {
        return false;
    }
    let has_digit = text.bytes().any(|b| b.is_ascii_digit());
    let has_letter = text.bytes().any(|b| b.is_ascii_alphabetic());
    let is_name = text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'.');
    let in_code = matches!(value.next, Some(b';' | b')' | b',' | b'('));
    match (has_letter, has_digit) {
        (true, true) if is_name && !value.is_quoted && in_code => {
            (character_sorts(text) >= 3 && is_random(text)) || has_inner_number(text)
        }
        (true, true) => true,
        (false, true) => text.bytes().all(|b| b.is_ascii_digit()) && !in_code,
        (true, false) => character_sorts(text) >= 3 && !text.contains(' ') && !is_name,
        (false, false) => false,
    }
}

/// `winter2124sun`: names of variables have their number at the end, and parts that are joined by signs.
fn has_inner_number(text: &str) -> bool {
    let letters = |part: &str| part.len() >= 3 && part.bytes().all(|b| b.is_ascii_alphabetic());
    let mut parts = text.split(|c: char| c.is_ascii_digit()).filter(|part| !part.is_empty());
    matches!((parts.next(), parts.next(), parts.next()), (Some(first), Some(last), None) if letters(first) && letters(last))
}

fn is_generated(text: &str) -> bool {
    let is_key = |b: u8| b.is_ascii_alphanumeric() || b"+/=-_.~!@#%^*".contains(&b);
    text.len() >= 16
        && text.bytes().all(is_key)
        // One in sixty-four keys in base64 begins like a path.
        && !is_harmless(text.strip_prefix('/').filter(|rest| is_jumbled(rest)).unwrap_or(text))
        && !is_uuid(text)
        && !is_readable(text)
        && is_random(text)
}

/// Does it decode to a name, a colon and a password, all of them readable?
fn is_login(text: &str) -> bool {
    if !(8..=400).contains(&text.len()) || !text.bytes().all(|b| Alphabet::Base64.has(b)) {
        return false;
    }
    let Some(bytes) = from_base64(text) else { return false };
    let Ok(login) = String::from_utf8(bytes) else { return false };
    let is_readable = login.chars().all(|c| !c.is_control());
    is_readable && login.split_once(':').is_some_and(|(user, password)| !user.is_empty() && password.len() >= 3)
}

/// Does any of the pairs carry something long and random?
fn has_session(pairs: &str) -> bool {
    pairs.split(';').filter_map(|pair| pair.split_once('=')).any(|(name, value)| {
        let value = value.trim_matches('"');
        let is_value = value.len() >= 16 && value.bytes().all(|b| b.is_ascii_graphic());
        !name.is_empty() && is_value && !is_harmless(value) && !is_readable(value) && is_random(value)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redact::kinds::{Form, KINDS};

    fn check(text: &str, expected: Option<&str>) {
        let view = View::plain(text);
        let lower = text.to_ascii_lowercase();
        let found = KINDS.iter().find_map(|row| {
            let Form::Given(names, promise) = row.form else { return None };
            names.iter().find_map(|name| {
                let at = lower.find(&name.to_ascii_lowercase())?;
                match_at(row.kind, name, promise, &view, at).map(|finding| text[finding.span].to_owned())
            })
        });
        assert_eq!(found.as_deref(), expected, "{text}");
    }

    #[test]
    fn values_are_found_in_the_usual_notations() {
        let chosen = ["Tiger", "#42!"].concat();
        for text in [
            "password={}",
            "password: {}",
            "\"password\" : \"{}\"",
            "dbPassword='{}'",
            "PASSWORD := `{}`",
            "pwd => {}",
            "DB_PASS={}",
            "dbPass: {}",
            "pass: {}",
            "REDIS_PW={}",
            "config[\"password\"] = \"{}\"",
            "--password {}",
            "--db-password '{}'",
            "\\\\\\\"password\\\\\\\":\\\\\\\"{}\\\\\\\"",
            "Passwort: {}",
            "contraseña: {}",
            "mot de passe : {}",
            "Mot de passe\u{a0}: {}",
            "пароль: {}",
            "密码：{}",
        ] {
            check(&text.replace("{}", &chosen), Some(&chosen));
        }
        let generated = ["q8Zk2LmX0a", "Vb7Rt5Wy3N"].concat();
        for text in [
            "api_key = \"{}\"",
            "X_TOKEN={}",
            "clientSecret: '{}'",
            "?apikey={}&x=1",
            "{\\\"token\\\":\\\"{}\\\"}",
            "PrivateKey = {}",
            "tool --api-key {} run",
            "AZURE_DEVOPS_EXT_PAT={}",
        ] {
            check(&text.replace("{}", &generated), Some(&generated));
        }
    }

    #[test]
    fn an_escaped_quote_does_not_end_a_value() {
        let word = ["Tig\\\"", "er#42"].concat();
        check(&format!("{{\"password\": \"{word}\"}}"), Some(&word));
    }

    #[test]
    fn a_uuid_under_the_name_of_a_secret_is_one() {
        let uuid = ["0190b5a2-7c3e-4d4f", "-8a1b-2c3d4e5f6a7b"].concat();
        for name in ["client_secret", "HEROKU_API_KEY", "token"] {
            check(&format!("{name}={uuid}"), Some(&uuid));
        }
        for name in ["id", "next_page_token", "sync-token", "request_token"] {
            check(&format!("{name}={uuid}"), None);
        }
    }

    #[test]
    fn cookies_go_when_one_of_them_is_a_session() {
        let session = ["q8Zk2LmX0a", "Vb7Rt5Wy3N"].concat();
        let pairs = format!("theme=dark; sid={session}; lang=de");
        check(&format!("Cookie: {pairs}\nAccept: */*"), Some(&pairs));
        check(&format!("\"cookie\": \"{pairs}\","), Some(&pairs));
        check(
            &format!("Set-Cookie: sid={session}; Path=/; HttpOnly"),
            Some(&format!("sid={session}; Path=/; HttpOnly")),
        );
        check("Cookie: theme=dark; lang=de", None);
        check("cookie = parse(line)?; sid=next", None);
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
            "id: 0190b5a2-7c3e-7d4f-8a1b-2c3d4e5f6a7b",
            "password: required, at least 12 characters",
            "all 1234567 tests pass: 1234567",
            "bypass: route53x, compass=north12",
            "the pass: second1 of two",
            "auth: enabled, auth=oauth2",
            "\"auth\": \"bm90IGEgbG9naW4=\"",
            "--token stdin --password prompt",
        ] {
            check(text, None);
        }
    }
}
