//! Keys that are known by their first characters. `kinds.rs` lists them.

use super::Finding;
use super::bytes::{Alphabet, run};
use super::plausible::{is_jumbled, is_random_tail, is_varied};
use super::view::View;

/// A prefix, then a tail of one alphabet whose length lies within bounds.
pub(super) struct Prefixed {
    pub(super) kind: &'static str,
    pub(super) prefix: &'static str,
    pub(super) alphabet: Alphabet,
    pub(super) least: usize,
    pub(super) most: usize,
    pub(super) check: Check,
}

/// What a tail has to pass.
#[derive(Clone, Copy)]
pub(super) enum Check {
    /// Enough entropy.
    Random,
    /// Small letters, capitals and digits in a jumble: the prefix also begins words, as in `re_export_types`.
    Jumbled,
    /// Six digits of CRC-32 over everything before them, in base62.
    Mnemon,
    /// No capital words such as `EXAMPLE`, which documentation uses.
    NotExample,
    /// Its last eight digits are the CRC-32 of the rest.
    HexCrc,
}

impl Prefixed {
    /// Is it one of our own, with a checksum at its end?
    pub(super) fn is_mnemon(&self) -> bool {
        matches!(self.check, Check::Mnemon)
    }
}

/// The key that starts at `at`, where the row's prefix was found.
pub(super) fn match_at(row: &Prefixed, text: &View<'_>, at: usize) -> Option<Finding> {
    // A checksum proves a key of ours in any place.
    let is_free = row.is_mnemon() || !text.is_inside_word(at);
    if !is_free || !text[at..].starts_with(row.prefix) {
        return None;
    }
    let tail = run(text, at + row.prefix.len(), row.alphabet, row.most);
    // Signs at the end belong to the sentence or the file name around the key, unless it would be too short without.
    let trimmed = text[tail.clone()].trim_end_matches(['.', '-']).len();
    let length = trimmed.max(tail.len().min(row.least));
    let end = tail.start + length;
    let fits = (row.least..=row.most).contains(&length) && passes(row.check, &text[at..end], row.prefix.len());
    fits.then(|| Finding::new(row.kind, at..end))
}

fn passes(check: Check, key: &str, prefix: usize) -> bool {
    match check {
        Check::Random => is_random_tail(&key[prefix..]),
        Check::Jumbled => is_jumbled(&key[prefix..]),
        // Three in a hundred have no digit.
        Check::NotExample => !key.contains("EXAMPLE") && is_varied(key),
        Check::Mnemon => {
            let (body, checksum) = key.split_at(key.len() - 6);
            checksum.as_bytes() == base62_digits(crc32fast::hash(body.as_bytes()))
        }
        Check::HexCrc => {
            let (body, checksum) = key.split_at(key.len() - 8);
            // Some issuers count the prefix in, some do not; either proves the key.
            let body = body.trim_end_matches('_');
            let sums = [crc32fast::hash(body.as_bytes()), crc32fast::hash(&body.as_bytes()[prefix..])];
            sums.iter().any(|sum| format!("{sum:08x}").eq_ignore_ascii_case(checksum)) || is_random_tail(&key[prefix..])
        }
    }
}

/// A CRC-32 as six digits of base62, most significant first.
pub(super) fn base62_digits(mut number: u32) -> [u8; 6] {
    const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let mut digits = [b'0'; 6];
    for digit in digits.iter_mut().rev() {
        *digit = ALPHABET[(number % 62) as usize];
        number /= 62;
    }
    digits
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redact::kinds::{Form, KINDS};

    fn prefixed() -> Vec<&'static Prefixed> {
        let prefix = |form: &'static Form| if let Form::Prefix(row) = form { Some(row) } else { None };
        KINDS.iter().filter_map(|row| prefix(&row.form)).collect()
    }

    #[test]
    fn a_key_of_ours_with_a_wrong_checksum_is_no_key() {
        let body = format!("mnm_{}", "0123456789abc".repeat(4)[..43].to_owned());
        let checksum = base62_digits(crc32fast::hash(body.as_bytes()));
        let key = format!("{body}{}", String::from_utf8(checksum.to_vec()).unwrap());
        let ours = prefixed()[0];
        assert!(match_at(ours, &View::plain(&key), 0).is_some());
        assert!(match_at(ours, &View::plain(&format!("key{key}")), 3).is_some());
        let broken = key.replace("abc", "abd");
        assert!(match_at(ours, &View::plain(&broken), 0).is_none());
    }

    #[test]
    fn longer_prefixes_come_first() {
        let rows = prefixed();
        for (at, row) in rows.iter().enumerate() {
            for later in &rows[at + 1..] {
                assert!(!later.prefix.starts_with(row.prefix), "{} hides {}", row.prefix, later.prefix);
            }
        }
    }
}
