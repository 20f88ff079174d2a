//! Uploaded session histories: a row with counts, and parts with the text. An append holds the project's lock, so that
//! of several at one position only one succeeds, and the volume is kept.

use std::sync::Arc;

use async_trait::async_trait;
use mnemon_core::{MemberId, ProjectId, SessionId};
use tokio_postgres::types::ToSql;

use super::PostgresStore;
use super::audit::commit_if_changed;
use super::connect::Pool;
use super::error::Fault;
use super::project;
use super::rows::{Cells, integer, micros};
use super::transaction::{Tenant, Tx, ask};
use crate::interface::sessions::{read_session, read_session_part, read_sum};
use crate::{AuditEntry, Session, SessionAppend, SessionAppended, SessionPart, Sessions, StoreError};

const FIND: &str = "
    SELECT id, member_id, bytes, kept_bytes, redacted, chain, last_start, last_chain, modified_at, created_at,
        updated_at, client, name
    FROM session
    WHERE project_id = $1 AND member_id = $2 AND client = $3 AND name = $4";

#[async_trait]
impl Sessions for PostgresStore {
    async fn find_session(
        &self,
        project: ProjectId,
        member: MemberId,
        client: &str,
        name: &str,
    ) -> Result<Option<Session>, StoreError> {
        let values: [&(dyn ToSql + Sync); 4] = [&project.uuid(), &member.uuid(), &client, &name];
        let rows = self.ask(Tenant::project(project), FIND, &values).await?;
        rows.first().map(|row| read_session(row, project)).transpose()
    }

    async fn list_sessions(
        &self,
        project: ProjectId,
        member: Option<MemberId>,
        after: Option<SessionId>,
        rows_max: usize,
    ) -> Result<Vec<Session>, StoreError> {
        const SELECT: &str = "
            SELECT id, member_id, bytes, kept_bytes, redacted, chain, last_start, last_chain, modified_at, created_at,
                updated_at, client, name
            FROM session
            WHERE project_id = $1 AND ($2::uuid IS NULL OR id > $2) AND ($3::uuid IS NULL OR member_id = $3)
            ORDER BY id
            LIMIT $4";
        let (after, member) = (after.map(SessionId::uuid), member.map(MemberId::uuid));
        let values: [&(dyn ToSql + Sync); 4] = [&project.uuid(), &after, &member, &integer(rows_max as u64)];
        let rows = self.ask(Tenant::project(project), SELECT, &values).await?;
        rows.iter().map(|row| read_session(row, project)).collect()
    }

    async fn list_latest_sessions(
        &self,
        project: ProjectId,
        member: Option<MemberId>,
        after: Option<SessionId>,
        rows_max: usize,
    ) -> Result<Vec<Session>, StoreError> {
        const SELECT: &str = "
            SELECT id, member_id, bytes, kept_bytes, redacted, chain, last_start, last_chain, modified_at, created_at,
                updated_at, client, name
            FROM session
            WHERE project_id = $1 AND ($3::uuid IS NULL OR member_id = $3) AND ($2::uuid IS NULL OR (updated_at, id) < (
                SELECT updated_at, id
                FROM session
                WHERE project_id = $1 AND id = $2))
            ORDER BY updated_at DESC, id DESC
            LIMIT $4";
        let (after, member) = (after.map(SessionId::uuid), member.map(MemberId::uuid));
        let values: [&(dyn ToSql + Sync); 4] = [&project.uuid(), &after, &member, &integer(rows_max as u64)];
        let rows = self.ask(Tenant::project(project), SELECT, &values).await?;
        rows.iter().map(|row| read_session(row, project)).collect()
    }

    async fn sum_sessions(&self, project: ProjectId, member: Option<MemberId>) -> Result<(u64, u64), StoreError> {
        const SELECT: &str = "
            SELECT COUNT(*), COALESCE(SUM(kept_bytes), 0)::bigint
            FROM session
            WHERE project_id = $1 AND ($2::uuid IS NULL OR member_id = $2)";
        let member = member.map(MemberId::uuid);
        let rows = self.ask(Tenant::project(project), SELECT, &[&project.uuid(), &member]).await?;
        rows.first().map_or(Ok((0, 0)), |row| read_sum(row, project))
    }

    async fn append_session(&self, append: SessionAppend) -> Result<SessionAppended, StoreError> {
        self.attempt(|| append_session(&self.pool, &append)).await
    }

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
        let values: [&(dyn ToSql + Sync); 3] = [&project.uuid(), &session.uuid(), &integer(at)];
        let rows = self.ask(Tenant::project(project), SELECT, &values).await?;
        rows.first().map(|row| read_session_part(row, project, session, at)).transpose()
    }

    async fn delete_session(&self, project: ProjectId, id: SessionId, audit: AuditEntry) -> Result<bool, StoreError> {
        const DELETE_PARTS: &str = "DELETE FROM session_part WHERE project_id = $1 AND session_id = $2";
        const DELETE: &str = "DELETE FROM session WHERE project_id = $1 AND id = $2 RETURNING 1";
        self.attempt(|| async {
            let tx = Tx::write(&self.pool, Tenant::project_of(project, audit.account)).await?;
            tx.rows(project::LOCK, &[&project.uuid()]).await?;
            let deleted = tx.count(DELETE, &[&project.uuid(), &id.uuid()]).await?;
            tx.rows(DELETE_PARTS, &[&project.uuid(), &id.uuid()]).await?;
            commit_if_changed(tx, deleted, &audit).await
        })
        .await
    }
}

async fn append_session(pool: &Arc<Pool>, append: &SessionAppend) -> Result<SessionAppended, Fault> {
    const IS_MEMBER: &str = "
        SELECT 1
        FROM project p
        JOIN member m ON m.account_id = p.account_id AND m.id = $2
        WHERE p.id = $1";
    let tx = Tx::write(pool, Tenant::project_and_people(append.project)).await?;
    project::lock(&tx, append.project).await?;
    let (project, member) = (append.project, append.member);
    if tx.row(IS_MEMBER, &[&project.uuid(), &member.uuid()]).await?.is_none() {
        return Err(StoreError::Failed(format!("no project {project} with a member {member}")).into());
    }
    let found = find_session(&tx, append).await?;
    if !append.fits(found.as_ref()) {
        return Ok(SessionAppended::Elsewhere(found));
    }
    let replaced = match &found {
        Some(session) => take_part(&tx, project, session.id, append.part.start).await?,
        None => 0,
    };
    let session = append.grown(found, replaced);
    store(&tx, project, &session, &append.part).await?;
    if let Some(volume_bytes_max) = append.volume_bytes_max {
        shrink(&tx, project, volume_bytes_max).await?;
    }
    let now = find_session(&tx, append).await?;
    let broken = || StoreError::Broken { table: "session", column: "id", row: session.id.to_string() };
    let now = now.ok_or_else(broken)?;
    tx.commit().await?;
    Ok(SessionAppended::Done(now))
}

async fn find_session(tx: &Tx, append: &SessionAppend) -> Result<Option<Session>, Fault> {
    let values: [&(dyn ToSql + Sync); 4] =
        [&append.project.uuid(), &append.member.uuid(), &append.client, &append.name];
    let row = tx.row(FIND, &values).await?;
    Ok(row.as_ref().map(|row| read_session(row, append.project)).transpose()?)
}

async fn store(tx: &Tx, project: ProjectId, session: &Session, part: &SessionPart) -> Result<(), Fault> {
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
    let (project, id) = (project.uuid(), session.id.uuid());
    let session_values: [&(dyn ToSql + Sync); 14] = [
        &project,
        &id,
        &session.member.uuid(),
        &integer(session.bytes),
        &integer(session.kept_bytes),
        &integer(session.redacted),
        &session.chain.as_slice(),
        &integer(session.last_start),
        &session.last_chain.as_slice(),
        &micros(session.modified_at),
        &micros(session.created_at),
        &micros(session.updated_at),
        &session.client,
        &session.name,
    ];
    let part_values: [&(dyn ToSql + Sync); 6] =
        [&project, &id, &integer(part.start), &integer(part.size), &integer(part.kept_bytes), &part.body];
    tx.ask_all(vec![ask(UPSERT, &session_values), ask(INSERT, &part_values)]).await?;
    Ok(())
}

/// Removes the part that another replaces, and returns how much text was in it.
async fn take_part(tx: &Tx, project: ProjectId, session: SessionId, start: u64) -> Result<u64, Fault> {
    const DELETE: &str = "
        DELETE FROM session_part
        WHERE project_id = $1 AND session_id = $2 AND start = $3
        RETURNING kept_bytes";
    let row = tx.row(DELETE, &[&project.uuid(), &session.uuid(), &integer(start)]).await?;
    let key = || format!("{project}/{session}/{start}");
    Ok(row.map_or(Ok(0), |row| Cells::new(&row, "session_part", key).count(0, "kept_bytes"))?)
}

/// Drops the oldest parts of the least recently used sessions until the rest fits.
async fn shrink(tx: &Tx, project: ProjectId, volume_bytes_max: u64) -> Result<(), Fault> {
    const KEPT: &str = "SELECT COALESCE(SUM(kept_bytes), 0)::bigint FROM session WHERE project_id = $1";
    const OLDEST: &str = "
        SELECT p.session_id, p.start
        FROM session s
        JOIN session_part p ON p.project_id = s.project_id AND p.session_id = s.id
        WHERE s.project_id = $1 AND s.kept_bytes > 0
        ORDER BY s.modified_at, s.id, p.start
        LIMIT 1";
    const UPDATE: &str = "
        UPDATE session
        SET kept_bytes = GREATEST(kept_bytes - $3, 0)
        WHERE project_id = $1 AND id = $2";
    let key = || project.to_string();
    let row = tx.row(KEPT, &[&project.uuid()]).await?;
    let kept = row.map_or(Ok(0), |row| Cells::new(&row, "session", key).count(0, "kept_bytes"))?;
    let mut over = kept.saturating_sub(volume_bytes_max);
    while over > 0 {
        let Some(row) = tx.row(OLDEST, &[&project.uuid()]).await? else { return Ok(()) };
        let cells = Cells::new(&row, "session_part", key);
        let session = cells.id(0, "session_id")?;
        let freed = take_part(tx, project, session, cells.count(1, "start")?).await?;
        tx.rows(UPDATE, &[&project.uuid(), &session.uuid(), &integer(freed)]).await?;
        over = over.saturating_sub(freed);
    }
    Ok(())
}

/// Removes all sessions of a member who leaves.
pub(super) async fn drop_sessions(tx: &Tx, project: ProjectId, member: MemberId) -> Result<(), Fault> {
    const DELETE_PARTS: &str = "
        DELETE FROM session_part
        WHERE project_id = $1 AND session_id IN (SELECT id FROM session WHERE project_id = $1 AND member_id = $2)";
    const DELETE: &str = "DELETE FROM session WHERE project_id = $1 AND member_id = $2";
    let (project, member) = (project.uuid(), member.uuid());
    tx.ask_all(vec![ask(DELETE_PARTS, &[&project, &member]), ask(DELETE, &[&project, &member])]).await?;
    Ok(())
}
