//! The record: one fact, decision or note, with where it came from and who may see it.

use sha2::{Digest, Sha256};

use crate::{
    Audience, DepartmentId, FactKey, MemberId, ProjectId, RecordId, Seq, Timestamp, WorkspaceName, WorkspaceNo,
};

/// How many bytes of a text's SHA-256 its fingerprint takes.
pub const CONTENT_HASH_BYTES: usize = 16;

/// A fingerprint of a record's content, used to find an equal text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ContentHash([u8; CONTENT_HASH_BYTES]);

impl ContentHash {
    /// Half of the SHA-256 of the text: 128 bits are enough to find it, and the text itself is compared afterwards.
    pub fn of(content: &str) -> Self {
        let digest: [u8; 32] = Sha256::digest(content.as_bytes()).into();
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
}

/// What a caller tells: the text, where it comes from, and how long it holds. A call, a record on its way into storage and a
/// stored one all carry it, and a record's checksum covers it.
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
    pub created_at: Timestamp,
    /// For a record that was saved elsewhere before: when it was last refreshed there. Its hash is then no sighting of its
    /// source, because it may be older than what is known here, and an equal record that is here already stays as it is.
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
