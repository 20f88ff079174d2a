//! The record: one fact, decision or note, with where it came from and who may see it.

use sha2::{Digest, Sha256};

use crate::{
    Audience, DepartmentId, FactKey, MemberId, ProjectId, RecordId, Seq, Timestamp, WorkspaceName, WorkspaceNo,
};

/// A fingerprint of a record's content, by which an equal text is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ContentHash([u8; 16]);

impl ContentHash {
    /// Half of the SHA-256 of the text: 128 bits are enough to find, and the text itself is compared afterwards.
    pub fn of(content: &str) -> Self {
        let digest: [u8; 32] = Sha256::digest(content.as_bytes()).into();
        let mut half = [0; 16];
        half.copy_from_slice(&digest[..16]);
        Self(half)
    }

    /// The hash read back from storage.
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// The bytes that storage keeps.
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

/// A record on its way into storage: checked, but without a place in the log yet.
#[derive(Debug, Clone, PartialEq)]
pub struct NewRecord {
    /// Its id.
    pub id: RecordId,
    /// The project whose memory it joins.
    pub project: ProjectId,
    /// The workspace it joins, which may come into being by this save.
    pub workspace: WorkspaceName,
    /// Who may see it.
    pub audience: Audience,
    /// Who saved it.
    pub author: MemberId,
    /// The author's department at the time of saving.
    pub department: Option<DepartmentId>,
    /// The text.
    pub content: String,
    /// The key that names the fact.
    pub fact_key: FactKey,
    /// A human-readable source.
    pub source: Option<String>,
    /// The source's id; freshness is kept per id.
    pub source_id: Option<String>,
    /// The hash of the source when the fact was taken from it.
    pub source_hash: Option<String>,
    /// The revision of the source, for people.
    pub source_revision: Option<String>,
    /// How sure the caller is, from 0 to 1.
    pub confidence: Option<f64>,
    /// From this moment on the record is stale.
    pub valid_until: Option<Timestamp>,
    /// When it is saved.
    pub created_at: Timestamp,
    /// What the ranking derived from the text, opaque here: computed once, at save time.
    pub embedding: Vec<u8>,
}

/// A stored record, alive.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// Its id.
    pub id: RecordId,
    /// Its place in the project's log.
    pub seq: Seq,
    /// The life of the workspace it belongs to.
    pub workspace_no: WorkspaceNo,
    /// The workspace's name.
    pub workspace: WorkspaceName,
    /// Who may see it.
    pub audience: Audience,
    /// Who saved it.
    pub author: MemberId,
    /// That member's name.
    pub author_name: Option<String>,
    /// The name of the author's department at the time of saving.
    pub department_name: Option<String>,
    /// The text.
    pub content: String,
    /// The key that names the fact.
    pub fact_key: FactKey,
    /// A human-readable source.
    pub source: Option<String>,
    /// The source's id.
    pub source_id: Option<String>,
    /// The hash of the source when the fact was taken from it.
    pub source_hash: Option<String>,
    /// The revision of the source, for people.
    pub source_revision: Option<String>,
    /// How sure the caller is, from 0 to 1.
    pub confidence: Option<f64>,
    /// From this moment on the record is stale.
    pub valid_until: Option<Timestamp>,
    /// When it was saved.
    pub created_at: Timestamp,
    /// When it was last brought up to date.
    pub updated_at: Timestamp,
}
