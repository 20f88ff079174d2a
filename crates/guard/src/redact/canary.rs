//! A false secret of every kind, made at run time: for tests that watch where secrets may surface. No source file
//! holds one, so redacting our own sources changes nothing.

use super::bytes::Alphabet;
use super::kinds::{Form, KINDS, SecretKind};
use super::prefixed::{Prefixed, base62_digits};

/// A text with a false secret in it.
#[derive(Debug, Clone)]
pub struct Canary {
    /// The whole text, as somebody might write it.
    pub text: String,
    /// The part that must never be seen again.
    pub hidden: String,
}

/// One canary of every example in the table of kinds, by the kind's name.
pub fn all() -> Vec<(&'static str, Canary)> {
    drawn(0)
}

/// The same with other letters for each seed.
pub fn drawn(seed: u64) -> Vec<(&'static str, Canary)> {
    let of_row = |row: &'static SecretKind| -> Vec<(&'static str, Canary)> {
        let made = match &row.form {
            Form::Prefix(prefixed) => vec![bare(prefixed.example(seed))],
            _ => row.examples.iter().map(|example| filled(example, seed)).collect(),
        };
        made.into_iter().map(|canary| (row.kind, canary)).collect()
    };
    KINDS.iter().flat_map(of_row).collect()
}

/// What real texts put right before a key. None of them is part of it, though many end in a letter or a digit.
pub const BOUNDARIES: &[&str] = &[
    "\t",
    " ",
    "\n",
    "\"",
    "'",
    "(",
    "=",
    ":",
    ",",
    "/",
    "-",
    "_",
    "7",
    "é",
    "中",
    // Escapes of JSON and of languages, once and twice.
    "\\n",
    "\\t",
    "\\r",
    "\\\\n",
    "\\\\t",
    "\\\\\\\\n",
    "\\\"",
    "\\\\\\\"",
    "\\u003d",
    "\\\\u003d",
    "\\u0022",
    "\\x3d",
    "\\u{3d}",
    // Percent codes, mails, markup.
    "%3D",
    "%20",
    "%0A",
    "%22",
    "%253D",
    "=3D",
    "&quot;",
    "&#61;",
    "&amp;quot;",
    // Colours of terminals, whole, escaped, and without their escape character.
    "\u{1b}[32m",
    "\u{1b}[0;1m",
    "\\u001b[32m",
    "\\x1b[32m",
    "\\033[32m",
    "\\e[1m",
    "[32m",
    "^[[32m",
    // Invisible characters.
    "x\u{ad}",
    "x\u{200b}",
    "x\u{2060}",
    "x\u{feff}",
];

/// The secret of the first canary of a kind; empty for an unknown kind.
pub fn of(kind: &str) -> String {
    all().into_iter().find(|(name, _)| *name == kind).map(|(_, canary)| canary.hidden).unwrap_or_default()
}

fn bare(secret: String) -> Canary {
    Canary { text: secret.clone(), hidden: secret }
}

const BASE62: &[u8] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const BASE64: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const HEX: &[u8] = b"0123456789abcdef";
const BASE32: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// `length` letters that look random and are always the same for a seed.
fn letters(alphabet: &[u8], length: usize, seed: u64) -> String {
    let mut state = 0x2545_f491_4f6c_dd1d_u64 ^ length as u64 ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (0..length)
        .map(|_| {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            char::from(alphabet[(state >> 33) as usize % alphabet.len()])
        })
        .collect()
}

impl Prefixed {
    fn example(&self, seed: u64) -> String {
        let alphabet = match self.alphabet {
            Alphabet::Hex => HEX,
            Alphabet::Base32 => BASE32,
            _ => BASE62,
        };
        let mut key = format!("{}{}", self.prefix, letters(alphabet, self.least, seed));
        if self.is_mnemon() {
            key.truncate(key.len() - 6);
            let checksum = base62_digits(crc32fast::hash(key.as_bytes()));
            key.extend(checksum.map(char::from));
        }
        key
    }
}

/// An example of the table with its slots filled; the part between the marks is hidden, or all of it.
fn filled(example: &str, seed: u64) -> Canary {
    let mut text = String::new();
    let mut rest = example;
    while let Some((start, end, slot)) = next_slot(rest) {
        text.push_str(&rest[..start]);
        // No two slots of one example are filled alike.
        text.push_str(&slot.fill(seed.wrapping_add(text.len() as u64)));
        rest = &rest[end..];
    }
    text.push_str(rest);
    let hidden = text.split_once('‹').and_then(|(_, rest)| rest.split_once('›')).map(|(hidden, _)| hidden.to_owned());
    let text = text.replace(['‹', '›'], "");
    Canary { hidden: hidden.unwrap_or_else(|| text.clone()), text }
}

/// `{a33}`: what to fill in, and how many of it.
struct Slot<'t> {
    sort: &'t str,
    count: usize,
}

fn next_slot(text: &str) -> Option<(usize, usize, Slot<'_>)> {
    text.match_indices('{').find_map(|(start, _)| {
        let end = start + text[start..].find('}')?;
        let inner = &text[start + 1..end];
        let sort = inner.trim_end_matches(|c: char| c.is_ascii_digit());
        let count = inner[sort.len()..].parse().ok()?;
        let is_slot = sort.bytes().all(|b| b.is_ascii_lowercase());
        is_slot.then_some((start, end + 1, Slot { sort, count }))
    })
}

impl Slot<'_> {
    fn fill(&self, seed: u64) -> String {
        match self.sort {
            "h" => letters(HEX, self.count, seed),
            "d" => letters(b"123456789", self.count, seed),
            "u" => letters(b"BCDEFGHJKLMNQRSTUVWXYZ", self.count, seed),
            "s" => letters(BASE64, self.count, seed),
            // A password has a letter of both sorts and a digit.
            "p" => format!("Zq4{}", letters(BASE62, self.count - 3, seed)),
            "login" => login(&letters(BASE62, self.count, seed)),
            _ => letters(BASE62, self.count, seed),
        }
    }
}

/// The base64 of `anna:` and a password; three bytes at a time, so no padding is needed.
fn login(password: &str) -> String {
    let login = format!("anna:{password}0");
    let digits = |three: &[u8]| {
        let bits = three.iter().fold(0_u32, |bits, byte| (bits << 8) | u32::from(*byte));
        [18, 12, 6, 0].map(|shift| char::from(BASE64[(bits >> shift) as usize & 63]))
    };
    login.as_bytes().chunks_exact(3).flat_map(digits).collect()
}
