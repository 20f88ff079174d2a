//! Session histories on their way from the agent to the service: the lines, the chain over them, and what the service
//! says it has.
//!
//! A history is lines of JSON, each ended by a newline, that only ever grows at its end. The service counts the bytes it
//! was given; whoever sends says at which byte it goes on. The **chain** is a hash over the lines so far, whatever
//! requests they came in: two sides with equal counts and equal chains have the same history.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::hex;

/// Where the agent's routes live.
pub const PREFIX: &str = "/agent/v1";
/// The most bytes of lines in one request.
pub const APPEND_BYTES_MAX: usize = 512 * 1024;
/// The longest name of a history, in characters.
pub const NAME_CHARS_MAX: usize = 128;
/// The programs whose histories are taken.
pub const CLIENTS: [&str; 2] = ["claude-code", "codex"];

/// A hash over lines, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Chain([u8; 32]);

impl Chain {
    /// The chain read back from storage.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The bytes that storage keeps.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The chain after one more line, its newline included.
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

    /// As hexadecimal digits.
    pub fn to_hex(self) -> String {
        hex::to_hex(&self.0)
    }

    /// From hexadecimal digits.
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
    /// The program that the history comes from.
    pub client: String,
    /// Its name, unique for member and client.
    pub name: String,
    /// How many bytes were received: where to go on.
    pub bytes: u64,
    /// The chain over everything received.
    pub chain: String,
    /// How many bytes of text are still kept; the oldest ones go when the plan's volume is full.
    pub kept_bytes: u64,
    /// How many secrets the service itself had to replace.
    pub redacted: u64,
}

/// A piece of a history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryText {
    /// The byte that the piece begins with, as it was received.
    pub offset: u64,
    /// Where the next piece begins; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
    /// The lines.
    pub text: String,
}

/// A list of histories.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryList {
    /// The histories, oldest first.
    pub sessions: Vec<HistoryState>,
    /// Where the next page begins, if there is one.
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
    /// The client, in the first line.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub client: Option<String>,
    /// The session's own id, in the first line.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub session: Option<String>,
    /// The name of the folder that was worked in, in the first line.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub project: Option<String>,
    /// The tool called.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tool: Option<String>,
    /// Which call, and which call a result belongs to.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub call: Option<String>,
    /// What was said, the arguments of a call as JSON, or a tool's result.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub text: Option<String>,
    /// Whether a tool failed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub is_error: Option<bool>,
    /// The number of this piece, where a text was too long for one line.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub part: Option<u32>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_does_not_depend_on_how_lines_are_packed() {
        let whole = Chain::default().after_all(b"one\ntwo\nthree\n");
        assert_eq!(Chain::default().after_all(b"one\n").after_all(b"two\nthree\n"), whole);
        assert_eq!(Chain::default().after(b"one\n").after(b"two\n").after(b"three\n"), whole);
        assert_ne!(Chain::default().after_all(b"one\nthree\ntwo\n"), whole);
        assert_ne!(Chain::default().after_all(b"onetwo\nthree\n"), whole);
    }

    #[test]
    fn a_chain_comes_back_from_its_digits() {
        let chain = Chain::default().after(b"x\n");
        assert_eq!(Chain::from_hex(&chain.to_hex()), Some(chain));
        for wrong in ["", "00", &"0".repeat(63), &"0".repeat(65), &"g".repeat(64), &"é".repeat(32)] {
            assert_eq!(Chain::from_hex(wrong), None, "{wrong}");
        }
    }
}
