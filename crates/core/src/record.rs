//! The record: one fact, decision or note, with where it came from and who may see it.

use sha2::{Digest, Sha256};
use unicode_normalization::UnicodeNormalization;

use crate::{
    Audience, DepartmentId, FactKey, KeyId, MemberId, Occurred, ProjectId, RecordId, Seq, Tags, Timestamp,
    WorkspaceName, WorkspaceNo,
};

/// How many bytes of a text's SHA-256 its fingerprint takes.
const CONTENT_HASH_BYTES: usize = 16;

/// A fingerprint of what a record says. Texts with the same one are the same fact: they differ at most in Unicode form,
/// white space, quotes and final punctuation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ContentHash([u8; CONTENT_HASH_BYTES]);

impl ContentHash {
    /// Half of the SHA-256 of the folded text: two texts with the same 128 bits are not found by chance.
    pub fn of(content: &str) -> Self {
        let digest: [u8; 32] = Sha256::digest(folded(content).as_bytes()).into();
        let mut half = [0; CONTENT_HASH_BYTES];
        half.copy_from_slice(&digest[..CONTENT_HASH_BYTES]);
        Self(half)
    }

    /// The hash read from storage.
    pub const fn from_bytes(bytes: [u8; CONTENT_HASH_BYTES]) -> Self {
        Self(bytes)
    }

    /// The bytes that storage keeps.
    pub const fn as_bytes(&self) -> &[u8; CONTENT_HASH_BYTES] {
        &self.0
    }

    /// Half of it: enough to compare the few records of one key.
    pub fn number(&self) -> u64 {
        u64::from_le_bytes(self.0[..8].try_into().expect("it has sixteen bytes"))
    }
}

/// The text without what makes no difference to what it says.
fn folded(content: &str) -> String {
    let plain = |c| if is_quote(c) { '"' } else { c };
    let mut folded = String::with_capacity(content.len());
    if content.is_ascii() {
        // The same as below, without decoding: it is part of every save.
        for byte in content.trim().bytes() {
            match byte {
                b' ' | b'\t'..=b'\r' if folded.ends_with(' ') => {}
                b' ' | b'\t'..=b'\r' => folded.push(' '),
                _ => folded.push(plain(char::from(byte))),
            }
        }
    } else {
        for word in content.split_whitespace() {
            if !folded.is_empty() {
                folded.push(' ');
            }
            // Composing takes a multiple of the rest, and most words have nothing to compose.
            if word.is_ascii() { folded.extend(word.chars().map(plain)) } else { folded.extend(word.nfc().map(plain)) }
        }
    }
    let said = folded.trim_end_matches(|c: char| c == ' ' || is_final(c)).len();
    // A text of nothing but such marks says what it says.
    if said > 0 {
        folded.truncate(said);
    }
    folded
}

/// Quotes and apostrophes of any script. A grave accent marks code, and is none.
const fn is_quote(c: char) -> bool {
    matches!(
        c,
        '"' | '\'' | '\u{2018}'..='\u{201f}' | '«' | '»' | '‹' | '›' | '「' | '」' | '『' | '』' | '＂' | '＇' | '´'
    )
}

/// What may end a sentence.
const fn is_final(c: char) -> bool {
    matches!(
        c,
        '.' | '!'
            | '?'
            | '…'
            | ','
            | ';'
            | ':'
            | '。'
            | '．'
            | '！'
            | '？'
            | '、'
            | '，'
            | '；'
            | '：'
            | '।'
            | '؟'
            | '۔'
    )
}

/// What a caller gives: the text, where it comes from, and how long it holds. A call, a record on its way into storage
/// and a stored one all carry it, and a record's checksum covers it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Fact {
    pub content: String,
    /// A human-readable source.
    pub source: Option<String>,
    /// Freshness is tracked per id.
    pub source_id: Option<String>,
    /// The source's hash when the fact was taken from it.
    pub source_hash: Option<String>,
    /// The source's revision, for people.
    pub source_revision: Option<String>,
    /// How certain the caller is, from 0 to 1.
    pub confidence: Option<f64>,
    /// From then on the record is stale.
    pub valid_until: Option<Timestamp>,
    /// What the caller sorts it by.
    pub tags: Tags,
    /// When what it says happened, or will happen.
    pub occurred_at: Option<Occurred>,
}

impl Fact {
    /// A text, and nothing else about it.
    pub fn new(content: impl Into<String>) -> Self {
        Self { content: content.into(), ..Self::default() }
    }

    /// The source and the hash it had, if both are known: then this fact is a sighting of the source.
    pub fn sighting(&self) -> Option<(&str, &str)> {
        self.source_id.as_deref().zip(self.source_hash.as_deref())
    }
}

/// A record on its way into storage: checked, but without a position in the log yet.
#[derive(Debug, Clone, PartialEq)]
pub struct NewRecord {
    pub id: RecordId,
    pub project: ProjectId,
    /// The workspace; this save may create it.
    pub workspace: WorkspaceName,
    pub audience: Audience,
    pub author: MemberId,
    /// The author's department at the time of saving.
    pub department: Option<DepartmentId>,
    pub fact_key: FactKey,
    pub fact: Fact,
    /// Whether the guard was unsure about one of its texts.
    pub is_cautioned: bool,
    /// The key that it was saved with, if it was a key.
    pub key: Option<KeyId>,
    pub created_at: Timestamp,
    /// For a record that was saved elsewhere before: when it was last refreshed there. Its hash is then no sighting of
    /// its source, because it may be older than what is known here, and an equal record that is here already stays as
    /// it is.
    pub refreshed_elsewhere_at: Option<Timestamp>,
    /// What the ranking derived from the text; opaque here, computed once when saving.
    pub embedding: Vec<u8>,
}

impl NewRecord {
    /// When it was last refreshed.
    pub fn updated_at(&self) -> Timestamp {
        self.refreshed_elsewhere_at.unwrap_or(self.created_at)
    }

    /// The source and the hash that it was seen with now, if this save saw it.
    pub fn sighting(&self) -> Option<(&str, &str)> {
        self.fact.sighting().filter(|_| self.refreshed_elsewhere_at.is_none())
    }
}

/// A stored, live record.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    pub id: RecordId,
    /// Its position in the project's log.
    pub seq: Seq,
    /// The life of the workspace it belongs to.
    pub workspace_no: WorkspaceNo,
    pub workspace: WorkspaceName,
    pub audience: Audience,
    pub author: MemberId,
    pub author_name: Option<String>,
    /// The name of the author's department at the time of saving.
    pub department_name: Option<String>,
    pub fact_key: FactKey,
    pub fact: Fact,
    /// Whether the guard was unsure about one of its texts.
    pub is_cautioned: bool,
    pub created_at: Timestamp,
    /// When a duplicate save last refreshed it.
    pub updated_at: Timestamp,
}

impl Record {
    /// How many bytes its own texts have. The names that it refers to are not its own.
    pub fn text_bytes(&self) -> usize {
        let Fact { content, source, source_id, source_hash, source_revision, tags, .. } = &self.fact;
        let optional = [source, source_id, source_hash, source_revision].into_iter().flatten();
        let labels: usize = optional.chain(tags.as_slice()).map(String::len).sum();
        content.len() + self.fact_key.text.len() + labels
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fact_is_the_same_whatever_its_spaces_quotes_form_and_full_stop_are() {
        for (one, other) in [
            ("The port is 8080.", "The port is 8080"),
            ("The port is 8080.", "  The  port\nis\u{a0}8080 !"),
            ("We call it \"main\"", "We call it “main”."),
            ("We call it \"main\"", "We call it «main»"),
            ("It's Ana's turn", "It’s Ana’s turn…"),
            ("Zoe\u{308} signs", "Zoë signs"),
            ("ポートは8080です。", "ポートは8080です"),
            ("...", " ... "),
        ] {
            assert_eq!(ContentHash::of(one), ContentHash::of(other), "{one:?} {other:?}");
        }
        for (one, other) in [
            ("The port is 8080.", "The port is 8081."),
            ("The port is 8080.", "The Port is 8080."),
            ("version 1.2", "version 12"),
            ("a well-known port", "a well known port"),
            ("10²", "102"),
            ("use `main`", "use \"main\""),
            ("...", "!"),
            ("", "."),
        ] {
            assert_ne!(ContentHash::of(one), ContentHash::of(other), "{one:?} {other:?}");
        }
    }

    #[test]
    fn a_text_in_ascii_is_folded_like_any_other() {
        for c in '\u{1}'..='\u{7f}' {
            let text = format!("{c}a{c} {c}b\t it's {c}{c}\"done\" c");
            let other = folded(&format!("é {text}"));
            assert_eq!(other.strip_prefix("é "), Some(folded(&text).as_str()), "{c:?}");
        }
    }
}
