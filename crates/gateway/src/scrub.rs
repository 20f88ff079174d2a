//! Takes an integration's own credential out of what its upstream sends. Upstreams echo requests, headers included, in
//! debug tools and in errors, and commands echo how they were started, and a caller of a tool must not learn the
//! credential behind it.
//!
//! Found are the value as it was sent and as plain encodings show it. An upstream that wants to hand its credential out
//! can always do so in a form of its own; this is about those that do not mean to.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use aho_corasick::{AhoCorasick, Input, MatchKind};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use mnemon_core::to_hex;

/// What replaces a credential.
const MARK: &str = "[redacted:credential]";
/// A shorter value than this is no secret, and would be found in every other word.
const VALUE_BYTES_MIN: usize = 6;
/// The same for a piece of an encoding, which may lie anywhere in a longer one.
const PIECE_BYTES_MIN: usize = 8;

/// How many bytes of a form are searched for; the rest is compared. Values of eight kilobytes would make a finder of
/// many megabytes, and an upstream that cuts what it shows would not be caught.
const NEEDLE_BYTES_MAX: usize = 24;

/// Knows one integration's credential in all its forms.
#[derive(Default)]
pub(crate) struct Scrubber(Option<Finder>);

struct Finder {
    needles: AhoCorasick,
    /// For each needle the forms that begin with it.
    forms: Vec<Vec<String>>,
}

impl Scrubber {
    /// Knows these values: of headers, or of a command's words.
    pub(crate) fn new<'a>(values: impl IntoIterator<Item = &'a str>) -> Self {
        let forms = values.into_iter().flat_map(secrets).flat_map(|secret| forms(&secret));
        let mut by_needle: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for form in forms {
            let needle = form[..form.floor_char_boundary(NEEDLE_BYTES_MAX)].to_ascii_lowercase();
            let known = by_needle.entry(needle).or_default();
            if !known.contains(&form) {
                known.push(form);
            }
        }
        if by_needle.is_empty() {
            return Self(None);
        }
        let mut builder = AhoCorasick::builder();
        builder.match_kind(MatchKind::LeftmostLongest).ascii_case_insensitive(true);
        let needles = builder.build(by_needle.keys()).ok();
        Self(needles.map(|needles| Finder { needles, forms: by_needle.into_values().collect() }))
    }

    /// A JSON text without the credential. Every byte outside of the strings that held it stays as it came; strings are
    /// compared as they are meant, whatever escapes they are written with.
    pub(crate) fn clean<'a>(&self, json: &'a [u8]) -> Cow<'a, [u8]> {
        let (Some(finder), Ok(text)) = (&self.0, std::str::from_utf8(json)) else { return Cow::Borrowed(json) };
        let mut cleaned: Option<String> = None;
        // Up to where the text is in `cleaned` already, once there is one.
        let mut copied = 0;
        for (start, end) in Strings::of(text) {
            let Some(replaced) = replace(finder, &text[start..end]) else { continue };
            let cleaned = cleaned.get_or_insert_with(|| String::with_capacity(text.len()));
            cleaned.push_str(&text[copied..start]);
            cleaned.push_str(&replaced);
            copied = end;
        }
        let Some(mut cleaned) = cleaned else { return Cow::Borrowed(json) };
        cleaned.push_str(&text[copied..]);
        Cow::Owned(cleaned.into_bytes())
    }
}

impl Finder {
    /// The place of the next form in a text, as long as the text matches it.
    fn find(&self, text: &str, from: usize) -> Option<Range<usize>> {
        let found = self.needles.find(Input::new(text).range(from..))?;
        let rest = &text.as_bytes()[found.start()..];
        let common =
            |form: &String| rest.iter().zip(form.bytes()).take_while(|(a, b)| a.eq_ignore_ascii_case(b)).count();
        let longest = self.forms[found.pattern().as_usize()].iter().map(common).max().unwrap_or_default();
        let end = text.ceil_char_boundary(found.start() + longest.max(found.len()));
        Some(found.start()..end)
    }
}

/// A string literal, quotes included, without the credential; `None` where there was none in it.
fn replace(finder: &Finder, literal: &str) -> Option<String> {
    // Most strings have no escape and are compared in place.
    let meant: Cow<'_, str> = match literal.contains('\\') {
        false => Cow::Borrowed(&literal[1..literal.len() - 1]),
        // One that can't be read is no JSON, and is not shown.
        true => Cow::Owned(serde_json::from_str(literal).ok()?),
    };
    let (mut replaced, mut copied) = (String::new(), 0);
    while let Some(found) = finder.find(&meant, copied) {
        replaced.push_str(&meant[copied..found.start]);
        replaced.push_str(MARK);
        copied = found.end;
    }
    if copied == 0 {
        return None;
    }
    replaced.push_str(&meant[copied..]);
    serde_json::to_string(&replaced).ok()
}

/// The string literals of a JSON text, as places of their quotes.
struct Strings<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Strings<'a> {
    fn of(text: &'a str) -> Self {
        Self { bytes: text.as_bytes(), at: 0 }
    }
}

impl Iterator for Strings<'_> {
    type Item = (usize, usize);

    fn next(&mut self) -> Option<(usize, usize)> {
        let start = self.at + self.bytes[self.at..].iter().position(|&byte| byte == b'"')?;
        let mut end = start + 1;
        loop {
            match self.bytes.get(end)? {
                b'"' => break,
                b'\\' => end += 2,
                _ => end += 1,
            }
        }
        self.at = end + 1;
        Some((start, self.at))
    }
}

/// The secrets in a header's value: the whole of it, what follows its scheme, and what `Basic` holds.
fn secrets(value: &str) -> Vec<String> {
    let value = value.trim();
    let mut secrets = vec![value.to_owned()];
    if let Some((scheme, rest)) = value.split_once(' ') {
        secrets.push(rest.trim().to_owned());
        let decoded = STANDARD.decode(rest.trim()).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        if let Some(decoded) = decoded.filter(|_| scheme.eq_ignore_ascii_case("basic")) {
            secrets.extend(decoded.split_once(':').map(|(_, password)| password.to_owned()));
            secrets.push(decoded);
        }
    }
    secrets.retain(|secret| secret.len() >= VALUE_BYTES_MIN);
    secrets
}

/// A secret in the forms in which it is found.
fn forms(secret: &str) -> Vec<String> {
    let mut forms = vec![secret.to_owned(), percent(secret, ""), percent(secret, "-._~"), percent(secret, "-._~/:+=")];
    forms.push(percent(secret, "-._~ ").replace(' ', "+"));
    let escaped = escape(secret);
    forms.push(escape(&escaped));
    forms.push(escaped);
    forms.push(to_hex(secret));
    forms.extend([STANDARD_NO_PAD.encode(secret), URL_SAFE_NO_PAD.encode(secret), STANDARD.encode(secret)]);
    for before in 0..3 {
        forms.extend(inside_base64(secret, before));
    }
    forms
}

/// What base64 shows of a secret inside a longer text, with `before` bytes in front of it (modulo three): the
/// characters at both ends that hold bits of its neighbours are left out.
fn inside_base64(secret: &str, before: usize) -> Vec<String> {
    let padded = [&vec![0; before], secret.as_bytes()].concat();
    let first = (before * 8).div_ceil(6);
    let last = padded.len() * 8 / 6;
    let piece = |encoded: String| encoded.get(first..last).map(str::to_owned);
    let pieces = [STANDARD_NO_PAD.encode(&padded), URL_SAFE_NO_PAD.encode(&padded)].into_iter().filter_map(piece);
    pieces.filter(|piece| piece.len() >= PIECE_BYTES_MIN).collect()
}

/// Escaped for the inside of a JSON string.
fn escape(text: &str) -> String {
    let quoted = serde_json::to_string(text).unwrap_or_default();
    quoted.trim_start_matches('"').strip_suffix('"').unwrap_or_default().to_owned()
}

/// Percent codes for everything but letters, digits and what is kept.
fn percent(text: &str, kept: &str) -> String {
    let keep = |byte: u8| byte.is_ascii_alphanumeric() || kept.as_bytes().contains(&byte);
    text.bytes().map(|byte| if keep(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const TOKEN: &str = "sk+live/7Qx\"9=zz~A";

    fn clean(values: &[&str], json: &str) -> String {
        String::from_utf8(Scrubber::new(values.iter().copied()).clean(json.as_bytes()).into_owned()).unwrap()
    }

    #[test]
    fn a_credential_is_found_in_every_plain_form() {
        let header = format!("Bearer {TOKEN}");
        let in_base64 = STANDARD.encode(format!("authorization: {header}\r\n"));
        for form in [
            header.clone(),
            TOKEN.to_owned(),
            TOKEN.to_lowercase(),
            format!("https://x.example/?token={}", percent(TOKEN, "-._~")),
            percent(TOKEN, "").to_lowercase(),
            STANDARD.encode(TOKEN),
            URL_SAFE_NO_PAD.encode(TOKEN),
            STANDARD.encode(&header),
            TOKEN.bytes().map(|byte| format!("{byte:02X}")).collect(),
            json!({"inner": TOKEN}).to_string(),
            json!({"inner": json!({"twice": TOKEN}).to_string()}).to_string(),
        ] {
            let cleaned = clean(&[&header], &json!({"text": format!("before {form} after")}).to_string());
            let shown: Value = serde_json::from_str(&cleaned).unwrap();
            let shown = shown["text"].as_str().unwrap();
            assert!(
                shown.contains(MARK) && shown.starts_with("before ") && shown.ends_with(" after"),
                "{form}: {shown}"
            );
            assert!(!cleaned.to_lowercase().contains("live"), "{form}: {cleaned}");
        }
        let cleaned = clean(&[&header], &json!({"head": in_base64}).to_string());
        for at in 0..3 {
            for piece in inside_base64(TOKEN, at) {
                assert!(!cleaned.contains(&piece), "{cleaned}");
            }
        }
    }

    #[test]
    fn escapes_hide_nothing_and_keys_of_members_are_looked_at_too() {
        let escaped: String = "secret-token".chars().map(|c| format!("\\u{:04x}", u32::from(c))).collect();
        for json in [
            format!(r#"{{"a":"{escaped}"}}"#),
            r#"{"secret-token":1}"#.to_owned(),
            r#"["secret\u002dtoken"]"#.to_owned(),
        ] {
            assert!(clean(&["secret-token"], &json).contains(MARK), "{json}");
        }
    }

    #[test]
    fn what_holds_no_credential_keeps_its_bytes() {
        let json = r#" {"a": "\u00e9 \/ 1.0", "b":1.50,  "c":["x\"y"] } "#;
        assert_eq!(clean(&["Bearer secret-token"], json), json);
        assert!(matches!(Scrubber::new(["Bearer secret-token"]).clean(json.as_bytes()), Cow::Borrowed(_)));
        let mixed = r#"{"a": "\u00e9",  "b":"secret-token", "c" : 1.0}"#;
        let expected = format!(r#"{{"a": "\u00e9",  "b":"{MARK}", "c" : 1.0}}"#);
        assert_eq!(clean(&["secret-token"], mixed), expected);
    }

    #[test]
    fn a_long_credential_is_replaced_whole_and_one_that_is_cut_as_far_as_it_is_shown() {
        let long: String = (0..8_000).map(|n: u32| char::from(b'a' + (n * n / 7 % 26) as u8)).collect();
        for shown in [&long[..], &long[..100], &long[..24]] {
            let cleaned = clean(&[&long], &json!([format!("x {shown} y")]).to_string());
            assert_eq!(cleaned, format!(r#"["x {MARK} y"]"#));
        }
        let twice = clean(&[&long], &json!([format!("{long}{long}")]).to_string());
        assert_eq!(twice, format!(r#"["{MARK}{MARK}"]"#));
    }

    #[test]
    fn a_basic_credential_is_found_by_its_password() {
        let header = format!("Basic {}", STANDARD.encode("user:open-sesame"));
        for text in ["user:open-sesame", "the password is open-sesame", &header] {
            assert!(clean(&[&header], &json!([text]).to_string()).contains(MARK), "{text}");
        }
        assert!(!clean(&[&header], r#"["user"]"#).contains(MARK));
    }

    #[test]
    fn a_value_of_six_bytes_is_a_credential_and_one_of_five_is_not() {
        assert_eq!(clean(&["abcdef"], r#"["abcdef"]"#), format!(r#"["{MARK}"]"#));
        assert_eq!(clean(&["abcde"], r#"["abcde"]"#), r#"["abcde"]"#);
    }

    #[test]
    fn what_is_no_json_is_left_to_those_who_read_it() {
        for broken in ["", "\"", "\"secret-token", "{\"a\\", "\"\\\"", "\"secret-token\\u00\""] {
            assert_eq!(clean(&["secret-token"], broken), broken);
        }
        assert_eq!(*Scrubber::new(["secret-token"]).clean(b"\"secret-token\xff\""), *b"\"secret-token\xff\"");
    }
}
