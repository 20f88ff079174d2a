//! Session histories on their way from the agent to the service: the lines, the chain over them, and what the service
//! says it has.
//!
//! A history is a sequence of JSON lines, each ended by a newline, that only grows at its end. The service counts the
//! bytes it received; the sender says at which byte it continues. The **chain** is a hash over the lines so far,
//! independent of how they were split into requests: two sides with equal counts and equal chains have the same
//! history.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::hex;

pub const PREFIX: &str = "/agent/v1";
/// Maximum number of bytes of lines in one request.
pub const APPEND_BYTES_MAX: usize = 512 * 1024;
/// The longest name of a history, in characters.
pub const NAME_CHARS_MAX: usize = 128;
/// The clients whose histories are accepted.
pub const CLIENTS: [&str; 2] = ["claude-code", "codex"];

/// A hash over lines, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Chain([u8; 32]);

impl Chain {
    /// The chain read from storage.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The bytes that storage keeps.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The chain after one more line, including its newline.
    #[must_use]
    pub fn after(self, line: &[u8]) -> Self {
        let mut hash = Sha256::new();
        hash.update(self.0);
        hash.update(line);
        Self(hash.finalize().into())
    }

    /// The chain after all lines of a text, each with its newline.
    #[must_use]
    pub fn after_all(self, text: &[u8]) -> Self {
        text.split_inclusive(|byte| *byte == b'\n').fold(self, Self::after)
    }

    pub fn to_hex(self) -> String {
        hex::to_hex(&self.0)
    }

    pub fn from_hex(text: &str) -> Option<Self> {
        let digits: Vec<u8> =
            text.chars().map(|digit| digit.to_digit(16).map(|value| value as u8)).collect::<Option<_>>()?;
        let bytes: Vec<u8> = digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect();
        if digits.len() == 64 { bytes.try_into().ok().map(Self) } else { None }
    }
}

/// What the service has of a history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryState {
    pub client: String,
    /// Unique per member and client.
    pub name: String,
    /// Bytes received: where to continue.
    pub bytes: u64,
    /// The chain over everything received.
    pub chain: String,
    /// Bytes of text still kept; the oldest are dropped when the plan's volume is full.
    pub kept_bytes: u64,
    /// Secrets that the service itself redacted.
    pub redacted: u64,
}

/// A piece of a history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryText {
    /// The byte at which the piece starts, as received.
    pub offset: u64,
    /// Where the next piece starts; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
    pub text: String,
}

/// A list of histories.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryList {
    /// The histories, oldest first.
    pub sessions: Vec<HistoryState>,
    /// Where the next page starts, if there is one.
    pub next: Option<String>,
}

/// A line of a history, as the agent writes it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct HistoryLine {
    /// `session` (the first line), `text`, `tool_call` or `tool_result`.
    pub kind: String,
    /// When it was said, as the client wrote it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub at: Option<String>,
    /// `user` or `assistant`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub role: Option<String>,
    /// Only in the first line.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub client: Option<String>,
    /// The session's own id; only in the first line.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub session: Option<String>,
    /// The name of the session's folder; only in the first line.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub project: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tool: Option<String>,
    /// The id of a call, or the call that a result belongs to.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub call: Option<String>,
    /// What was said, a call's arguments as JSON, or a tool's result.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub is_error: Option<bool>,
    /// The number of this piece, if a text was too long for one line.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub part: Option<u32>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_does_not_depend_on_how_lines_are_split() {
        let whole = Chain::default().after_all(b"one\ntwo\nthree\n");
        assert_eq!(Chain::default().after_all(b"one\n").after_all(b"two\nthree\n"), whole);
        assert_eq!(Chain::default().after(b"one\n").after(b"two\n").after(b"three\n"), whole);
        assert_ne!(Chain::default().after_all(b"one\nthree\ntwo\n"), whole);
        assert_ne!(Chain::default().after_all(b"onetwo\nthree\n"), whole);
    }

    #[test]
    fn a_chain_is_restored_from_its_hexadecimal_form() {
        let chain = Chain::default().after(b"x\n");
        assert_eq!(Chain::from_hex(&chain.to_hex()), Some(chain));
        for wrong in ["", "00", &"0".repeat(63), &"0".repeat(65), &"g".repeat(64), &"é".repeat(32)] {
            assert_eq!(Chain::from_hex(wrong), None, "{wrong}");
        }
    }
}
