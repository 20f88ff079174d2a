//! Uploaded session histories: the acts and their values. What the bytes mean is not known here.

use async_trait::async_trait;
use mnemon_core::{MemberId, ProjectId, SessionId, Timestamp};

use super::AuditEntry;
use crate::StoreError;
use crate::rows::{Cells, Row};

#[async_trait]
pub trait Sessions: Send + Sync {
    /// The session of a member with this client and name.
    async fn find_session(
        &self,
        project: ProjectId,
        member: MemberId,
        client: &str,
        name: &str,
    ) -> Result<Option<Session>, StoreError>;

    /// The sessions of a project, or of one of its members, by id, after the given one.
    async fn list_sessions(
        &self,
        project: ProjectId,
        member: Option<MemberId>,
        after: Option<SessionId>,
        rows_max: usize,
    ) -> Result<Vec<Session>, StoreError>;

    /// The sessions of a project, or of one of its members, by the last upload, the latest first, after the given one.
    async fn list_latest_sessions(
        &self,
        project: ProjectId,
        member: Option<MemberId>,
        after: Option<SessionId>,
        rows_max: usize,
    ) -> Result<Vec<Session>, StoreError>;

    /// How many sessions a project or one of its members has, and how many bytes of text are kept of them.
    async fn sum_sessions(&self, project: ProjectId, member: Option<MemberId>) -> Result<(u64, u64), StoreError>;

    /// Appends to a session; the first part creates it. Returns only once it is durable.
    ///
    /// Inside one transaction: the session must be as long as the append says, else nothing is changed. Then the part
    /// is stored, and while the project exceeds its volume, the oldest parts of the least recently used session are
    /// dropped; the count of received bytes stays.
    async fn append_session(&self, append: SessionAppend) -> Result<SessionAppended, StoreError>;

    /// The kept part of a session that contains this byte, or the first one after it.
    async fn find_session_part(
        &self,
        project: ProjectId,
        session: SessionId,
        at: u64,
    ) -> Result<Option<SessionPart>, StoreError>;

    /// Deletes a session. `false` if there is none.
    async fn delete_session(&self, project: ProjectId, id: SessionId, audit: AuditEntry) -> Result<bool, StoreError>;
}

/// A session, without its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    pub id: SessionId,
    pub member: MemberId,
    pub client: String,
    /// Unique per member and client.
    pub name: String,
    pub bytes: u64,
    /// Bytes of text still kept.
    pub kept_bytes: u64,
    /// Secrets redacted on arrival.
    pub redacted: u64,
    /// A hash over everything received.
    pub chain: [u8; 32],
    /// Where the last append started.
    pub last_start: u64,
    /// The chain before the last append.
    pub last_chain: [u8; 32],
    /// When it was last written, according to the member's machine.
    pub modified_at: Timestamp,
    /// When its first part arrived.
    pub created_at: Timestamp,
    /// When its last part arrived.
    pub updated_at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionAppend {
    pub project: ProjectId,
    pub member: MemberId,
    pub client: String,
    pub name: String,
    /// The id if it is new.
    pub id: SessionId,
    /// Where it must end now, and where this starts.
    pub start: u64,
    /// The chain it must have now.
    pub chain: [u8; 32],
    pub size: u64,
    /// The chain it has afterwards.
    pub chain_after: [u8; 32],
    pub redacted: u64,
    /// What to store. A part that starts before `start` replaces the part that starts there, which it contains.
    pub part: SessionPart,
    /// When the session was last written.
    pub modified_at: Timestamp,
    pub at: Timestamp,
    /// How many bytes of text the project may keep.
    pub volume_bytes_max: Option<u64>,
}

impl SessionAppend {
    /// Whether the session is as long as the append says.
    pub(crate) fn fits(&self, found: Option<&Session>) -> bool {
        let stands = found.map_or((0, [0; 32]), |session| (session.bytes, session.chain));
        stands == (self.start, self.chain)
    }

    /// The session after the append, which replaces a part with this many bytes of text.
    pub(crate) fn grown(&self, before: Option<Session>, replaced_bytes: u64) -> Session {
        let (id, created_at) = before.as_ref().map_or((self.id, self.at), |session| (session.id, session.created_at));
        let kept_before = before.as_ref().map_or(0, |session| session.kept_bytes.saturating_sub(replaced_bytes));
        Session {
            id,
            member: self.member,
            client: self.client.clone(),
            name: self.name.clone(),
            bytes: self.start + self.size,
            kept_bytes: kept_before + self.part.kept_bytes,
            redacted: before.as_ref().map_or(0, |session| session.redacted) + self.redacted,
            chain: self.chain_after,
            last_start: self.start,
            last_chain: self.chain,
            modified_at: self.modified_at,
            created_at,
            updated_at: self.at,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionPart {
    /// The first byte, as received.
    pub start: u64,
    /// How many bytes of the file it holds, as received.
    pub size: u64,
    pub kept_bytes: u64,
    /// The text, in whatever form the caller keeps it.
    pub body: Vec<u8>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionAppended {
    /// Stored; this is the session now.
    Done(Session),
    /// The session has another length, or does not exist though the append continues one. Nothing was changed.
    Elsewhere(Option<Session>),
}

pub(crate) fn read_sum<R: Row>(row: &R, project: ProjectId) -> Result<(u64, u64), StoreError> {
    let cells = Cells::new(row, "session", || project.to_string());
    Ok((cells.count(0, "id")?, cells.count(1, "kept_bytes")?))
}

pub(crate) fn read_session<R: Row>(row: &R, project: ProjectId) -> Result<Session, StoreError> {
    let id: SessionId = Cells::new(row, "session", || project.to_string()).id(0, "id")?;
    let cells = Cells::new(row, "session", || format!("{project}/{id}"));
    Ok(Session {
        id,
        member: cells.id(1, "member_id")?,
        client: cells.text(11, "client")?,
        name: cells.text(12, "name")?,
        bytes: cells.count(2, "bytes")?,
        kept_bytes: cells.count(3, "kept_bytes")?,
        redacted: cells.count(4, "redacted")?,
        chain: cells.bytes(5, "chain")?,
        last_start: cells.count(6, "last_start")?,
        last_chain: cells.bytes(7, "last_chain")?,
        modified_at: cells.time(8, "modified_at")?,
        created_at: cells.time(9, "created_at")?,
        updated_at: cells.time(10, "updated_at")?,
    })
}

pub(crate) fn read_session_part<R: Row>(
    row: &R,
    project: ProjectId,
    session: SessionId,
    at: u64,
) -> Result<SessionPart, StoreError> {
    let cells = Cells::new(row, "session_part", || format!("{project}/{session}/{at}"));
    Ok(SessionPart {
        start: cells.count(0, "start")?,
        size: cells.count(1, "size")?,
        kept_bytes: cells.count(2, "kept_bytes")?,
        body: cells.blob(3, "body")?.to_vec(),
    })
}
