//! Uploaded session histories: the acts and their values. What the bytes mean is not known here.

use async_trait::async_trait;
use mnemon_core::{MemberId, ProjectId, SessionId, Timestamp};
use uuid::Uuid;

use super::AuditEntry;
use crate::StoreError;
use crate::rows::{Cells, Row};
use crate::statement::{Change, Sql, Statement, Touches, Transaction, statement};
use crate::tenant::Tenant;

/// The columns that [`read_session`] reads.
macro_rules! session_columns {
    () => {
        "SELECT id, member_id, bytes, kept_bytes, redacted, chain, last_start, last_chain, modified_at, created_at,
            updated_at, client, name
        FROM session
        "
    };
}

#[async_trait]
pub trait Sessions: Sql {
    /// The session of a member with this client and name.
    async fn find_session(
        &self,
        project: ProjectId,
        member: MemberId,
        client: &str,
        name: &str,
    ) -> Result<Option<Session>, StoreError> {
        let row = self.select_one(Tenant::project(project), find_session(project, member, client, name)).await?;
        row.map(|row| read_session(&row, project)).transpose()
    }

    /// The sessions of a project, or of one of its members, by id, after the given one.
    async fn list_sessions(
        &self,
        project: ProjectId,
        member: Option<MemberId>,
        after: Option<SessionId>,
        rows_max: usize,
    ) -> Result<Vec<Session>, StoreError> {
        const SELECT: &str = concat!(
            session_columns!(),
            "WHERE project_id = $1 AND id > $2 AND (member_id = $3 OR $3 IS NULL) ORDER BY id LIMIT $4"
        );
        let after = after.map_or(Uuid::nil(), SessionId::uuid);
        let rows = self.select(Tenant::project(project), statement!(SELECT, project, after, member, rows_max)).await?;
        rows.iter().map(|row| read_session(row, project)).collect()
    }

    /// The sessions of a project, or of one of its members, by the last upload, the latest first, after the given one.
    async fn list_latest_sessions(
        &self,
        project: ProjectId,
        member: Option<MemberId>,
        after: Option<SessionId>,
        rows_max: usize,
    ) -> Result<Vec<Session>, StoreError> {
        const SELECT: &str = concat!(
            session_columns!(),
            "WHERE project_id = $1 AND (member_id = $3 OR $3 IS NULL) AND ((updated_at, id) < (
                SELECT s.updated_at, s.id
                FROM session s
                WHERE s.project_id = $1 AND s.id = $2) OR $2 IS NULL)
            ORDER BY updated_at DESC, id DESC
            LIMIT $4"
        );
        let rows = self.select(Tenant::project(project), statement!(SELECT, project, after, member, rows_max)).await?;
        rows.iter().map(|row| read_session(row, project)).collect()
    }

    /// How many sessions a project or one of its members has, and how many bytes of text are kept of them.
    async fn sum_sessions(&self, project: ProjectId, member: Option<MemberId>) -> Result<(u64, u64), StoreError> {
        const SELECT: &str = "
            SELECT COUNT(*), CAST(COALESCE(SUM(kept_bytes), 0) AS BIGINT)
            FROM session
            WHERE project_id = $1 AND (member_id = $2 OR $2 IS NULL)";
        let rows = self.select(Tenant::project(project), statement!(SELECT, project, member)).await?;
        rows.first().map_or(Ok((0, 0)), |row| read_sum(row, project))
    }

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
    ) -> Result<Option<SessionPart>, StoreError> {
        const SELECT: &str = "
            SELECT start, size, kept_bytes, body
            FROM session_part
            WHERE project_id = $1 AND session_id = $2 AND start + size > $3
            ORDER BY start
            LIMIT 1";
        let rows = self.select(Tenant::project(project), statement!(SELECT, project, session, at)).await?;
        rows.first().map(|row| read_session_part(row, project, session, at)).transpose()
    }

    /// Deletes a session. `false` if there is none.
    async fn delete_session(&self, project: ProjectId, id: SessionId, audit: AuditEntry) -> Result<bool, StoreError> {
        const DELETE: &str = "DELETE FROM session WHERE project_id = $1 AND id = $2 RETURNING 1";
        const DELETE_PARTS: &str = "DELETE FROM session_part WHERE project_id = $1 AND session_id = $2";
        let (tenant, delete) = (Tenant::project_of(project, audit.account), statement!(DELETE, project, id));
        let then = vec![statement!(DELETE_PARTS, project, id)];
        Ok(self.change(Change { then, ..Change::of(tenant, Touches::Purged, delete, audit) }).await? > 0)
    }
}

fn find_session(project: ProjectId, member: MemberId, client: &str, name: &str) -> Statement {
    const SELECT: &str =
        concat!(session_columns!(), "WHERE project_id = $1 AND member_id = $2 AND client = $3 AND name = $4");
    statement!(SELECT, project, member, client, name)
}

/// Appends to a session. What it does not store it has not changed either.
pub(crate) async fn append<T: Transaction>(tx: &mut T, append: &SessionAppend) -> Result<SessionAppended, T::Error> {
    const IS_MEMBER: &str = "
        SELECT 1
        FROM project p
        JOIN member m ON m.account_id = p.account_id AND m.id = $2
        WHERE p.id = $1 AND p.deleted_at IS NULL";
    let &SessionAppend { project, member, ref part, .. } = append;
    let find = || find_session(project, member, &append.client, &append.name);
    let is_member = tx.lock(project, vec![statement!(IS_MEMBER, project, member)]).await?;
    if is_member.is_none_or(|answers| answers.iter().all(Vec::is_empty)) {
        return Err(StoreError::Failed(format!("no project {project} with a member {member}")).into());
    }
    let found = tx.run(find()).await?.first().map(|row| read_session(row, project)).transpose()?;
    if !append.fits(found.as_ref()) {
        return Ok(SessionAppended::Elsewhere(found));
    }
    let replaced = match &found {
        Some(session) => take_part(tx, project, session.id, part.start).await?,
        None => 0,
    };
    let session = append.grown(found, replaced);
    store(tx, project, &session, part).await?;
    if let Some(volume_bytes_max) = append.volume_bytes_max {
        shrink(tx, project, volume_bytes_max).await?;
    }
    let now = tx.run(find()).await?.first().map(|row| read_session(row, project)).transpose()?;
    let broken = || StoreError::Broken { table: "session", column: "id", row: session.id.to_string() };
    Ok(SessionAppended::Done(now.ok_or_else(broken)?))
}

async fn store<T: Transaction>(
    tx: &mut T,
    project: ProjectId,
    session: &Session,
    part: &SessionPart,
) -> Result<(), T::Error> {
    const UPSERT: &str = "
        INSERT INTO session (project_id, id, member_id, bytes, kept_bytes, redacted, chain, last_start, last_chain,
            modified_at, created_at, updated_at, client, name)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
        ON CONFLICT (project_id, id) DO UPDATE
        SET bytes = excluded.bytes, kept_bytes = excluded.kept_bytes, redacted = excluded.redacted,
            chain = excluded.chain, last_start = excluded.last_start, last_chain = excluded.last_chain,
            modified_at = excluded.modified_at, updated_at = excluded.updated_at";
    const INSERT: &str = "
        INSERT INTO session_part (project_id, session_id, start, size, kept_bytes, body)
        VALUES ($1, $2, $3, $4, $5, $6)";
    let upsert = statement!(
        UPSERT,
        project,
        session.id,
        session.member,
        session.bytes,
        session.kept_bytes,
        session.redacted,
        &session.chain,
        session.last_start,
        &session.last_chain,
        session.modified_at,
        session.created_at,
        session.updated_at,
        &session.client,
        &session.name,
    );
    tx.run(upsert).await?;
    tx.run(statement!(INSERT, project, session.id, part.start, part.size, part.kept_bytes, &part.body)).await?;
    Ok(())
}

/// Removes the part that another replaces, and returns how much text was in it.
async fn take_part<T: Transaction>(
    tx: &mut T,
    project: ProjectId,
    session: SessionId,
    start: u64,
) -> Result<u64, T::Error> {
    const DELETE: &str = "
        DELETE FROM session_part
        WHERE project_id = $1 AND session_id = $2 AND start = $3
        RETURNING kept_bytes";
    let rows = tx.run(statement!(DELETE, project, session, start)).await?;
    let key = || format!("{project}/{session}/{start}");
    Ok(rows.first().map_or(Ok(0), |row| Cells::new(row, "session_part", key).count(0, "kept_bytes"))?)
}

/// Drops the oldest parts of the least recently used sessions until the rest fits.
async fn shrink<T: Transaction>(tx: &mut T, project: ProjectId, volume_bytes_max: u64) -> Result<(), T::Error> {
    const KEPT: &str = "SELECT CAST(COALESCE(SUM(kept_bytes), 0) AS BIGINT) FROM session WHERE project_id = $1";
    const OLDEST: &str = "
        SELECT p.session_id, p.start
        FROM session s
        JOIN session_part p ON p.project_id = s.project_id AND p.session_id = s.id
        WHERE s.project_id = $1 AND s.kept_bytes > 0
        ORDER BY s.modified_at, s.id, p.start
        LIMIT 1";
    const UPDATE: &str = "
        UPDATE session
        SET kept_bytes = CASE WHEN kept_bytes > $3 THEN kept_bytes - $3 ELSE 0 END
        WHERE project_id = $1 AND id = $2";
    let key = || project.to_string();
    let rows = tx.run(statement!(KEPT, project)).await?;
    let kept = rows.first().map_or(Ok(0), |row| Cells::new(row, "session", key).count(0, "kept_bytes"))?;
    let mut over = kept.saturating_sub(volume_bytes_max);
    while over > 0 {
        let rows = tx.run(statement!(OLDEST, project)).await?;
        let Some(row) = rows.first() else { return Ok(()) };
        let cells = Cells::new(row, "session_part", key);
        let session: SessionId = cells.id(0, "session_id")?;
        let freed = take_part(tx, project, session, cells.count(1, "start")?).await?;
        tx.run(statement!(UPDATE, project, session, freed)).await?;
        over = over.saturating_sub(freed);
    }
    Ok(())
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
