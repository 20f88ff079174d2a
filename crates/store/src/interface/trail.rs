//! What histories tell of a record: with which keys it was saved, what happened to it, and who looked at its source.
//! And what changes a record without another text: its tags.

use async_trait::async_trait;
use mnemon_core::{AccountId, Audience, KeyId, Occurred, ProjectId, Seq, Tags, Timestamp, WorkspaceNo};

use super::audit::{insert_audit, read_audit};
use super::stored::{Changed, load_stored};
use super::{AuditEntry, Look, Seen};
use crate::StoreError;
use crate::encoding::{integer, micros};
use crate::rows::{Cells, Row};
use crate::statement::{Cell, Sql, Statement, Transaction, statement};
use crate::tenant::Tenant;

/// How many looks at a source of a workspace are kept.
const LOOKS_MAX: usize = 20;
/// How much of what happened to one record is read, the latest first.
const DEEDS_MAX: i64 = 100;
/// How many audit rows of one thing are read, the latest first.
const ACTS_MAX: i64 = 100;

/// Reads what happened, and changes tags.
#[async_trait]
pub trait Trails: Sql {
    /// What happened to a record, oldest first, beginning with its save. Of very many deeds the latest are told.
    async fn list_deeds(&self, project: ProjectId, no: WorkspaceNo, record: Seq) -> Result<Vec<Deed>, StoreError> {
        const SELECT: &str = "
            SELECT created_at AS at, 'save' AS kind, key_id, CAST(NULL AS TEXT) AS hash_before, seq
            FROM record
            WHERE project_id = $1 AND seq = $3
            UNION ALL
            SELECT at, kind, key_id, hash_before, seq
            FROM change
            WHERE project_id = $1 AND workspace_no = $2 AND seq > $3 AND record_seq = $3
                AND kind IN ('update', 'forget', 'restore')
            ORDER BY seq DESC
            LIMIT $4";
        let rows = self.select(Tenant::project(project), statement!(SELECT, project, no, record, DEEDS_MAX)).await?;
        rows.iter().rev().map(|row| read_deed(row, project)).collect()
    }

    /// Who looked at a source of a workspace and saw something else than the look before, oldest first.
    async fn list_looks(
        &self,
        project: ProjectId,
        no: WorkspaceNo,
        source_id: &str,
    ) -> Result<Vec<SourceLook>, StoreError> {
        const SELECT: &str = "
            SELECT at, key_id, hash
            FROM source_look
            WHERE project_id = $1 AND source_id = $2 AND workspace_no = $3
            ORDER BY at";
        let rows = self.select_few(Tenant::project(project), statement!(SELECT, project, source_id, no)).await?;
        rows.iter().map(|row| read_look(row, project)).collect()
    }

    /// The audit rows of a project that name this subject, or that are of one of these moments, the latest first.
    async fn list_acts(
        &self,
        account: AccountId,
        project: ProjectId,
        subject: &str,
        moments: &[Timestamp],
    ) -> Result<Vec<AuditEntry>, StoreError> {
        const SELECT: &str = "
            SELECT at, id, project_id, actor, member_id, affected, action, subject, actor_name, subject_name, key_id
            FROM audit
            WHERE account_id = $1 AND subject = $3 AND project_id = $2
            UNION
            SELECT at, id, project_id, actor, member_id, affected, action, subject, actor_name, subject_name, key_id
            FROM audit
            WHERE account_id = $1 AND at = ANY($4) AND project_id = $2
            ORDER BY at DESC
            LIMIT $5";
        let moments = Cell::list(moments.iter().copied());
        let select = statement!(SELECT, account, project, subject, moments, ACTS_MAX);
        let rows = self.select_few(Tenant::account(account), select).await?;
        rows.iter().map(|row| Ok(read_audit(row, account)?.0)).collect()
    }

    /// The places of the records that one of these audiences may see and that were forgotten, or ended with their
    /// workspace, with when that was: the latest first, from before a moment and place on.
    async fn list_gone(
        &self,
        project: ProjectId,
        audiences: &[Audience],
        before: Option<(Timestamp, Seq)>,
        rows_max: usize,
    ) -> Result<Vec<(Timestamp, Seq)>, StoreError> {
        const SELECT: &str = "
            SELECT at, seq
            FROM (
                SELECT r.forgotten_at AS at, r.seq, r.audience
                FROM record r /* INDEXED BY record_forgotten */
                WHERE r.project_id = $1 AND r.forgotten_at IS NOT NULL
                UNION ALL
                SELECT w.deleted_at, r.seq, r.audience
                FROM workspace w
                CROSS JOIN record r /* INDEXED BY record_workspace */
                WHERE w.project_id = $1 AND w.deleted_at IS NOT NULL AND r.project_id = w.project_id
                    AND r.workspace_no = w.no AND r.forgotten_at IS NULL) AS g
            WHERE (at, seq) < ($2, $3) AND audience = ANY($4)
            ORDER BY at DESC, seq DESC
            LIMIT $5";
        let (at, seq) = before.map_or((i64::MAX, i64::MAX), |(at, seq)| (micros(at), integer(seq.0)));
        let select = statement!(SELECT, project, at, seq, Cell::list(audiences.iter().copied()), rows_max);
        let rows = self.select(Tenant::project(project), select).await?;
        rows.iter().map(|row| read_gone(row, project)).collect()
    }

    /// Gives live records the tags that stand beside their places, and returns the places of those that changed. Writes
    /// the audit row, with their count, if any did.
    async fn retag(
        &self,
        project: ProjectId,
        tags: Vec<(Seq, Tags)>,
        audit: AuditEntry,
    ) -> Result<Vec<Seq>, StoreError>;
}

pub(crate) async fn retag<T: Transaction>(
    tx: &mut T,
    project: ProjectId,
    tags: &[(Seq, Tags)],
    audit: &AuditEntry,
) -> Result<Vec<Seq>, T::Error> {
    let mut changed = Vec::new();
    if tx.lock(project, Vec::new()).await?.is_none() {
        return Ok(changed);
    }
    let seqs: Vec<Seq> = tags.iter().map(|(seq, _)| *seq).collect();
    for stored in load_stored(tx, project, &seqs).await? {
        let seq = stored.record.seq;
        let given = tags.iter().find(|(tagged, _)| *tagged == seq).filter(|_| stored.is_alive());
        let Some(fresh) = given.and_then(|(_, tags)| stored.tagged(project, tags, audit.at)) else { continue };
        let place = tx.take_seq(project)?;
        tx.put(update_given_values(project, &fresh)).await?;
        tx.put(insert_update(project, place, &fresh, audit.at, (audit.key, None))).await?;
        changed.push(seq);
    }
    if !changed.is_empty() {
        tx.put(insert_audit(audit, changed.len() as u64)).await?;
    }
    Ok(changed)
}

/// The earlier looks at a source in all workspaces, of each workspace the newest first.
pub(crate) const LOOKS: &str = "
    SELECT at, key_id, hash, workspace_no
    FROM source_look
    WHERE project_id = $1 AND source_id = $2
    ORDER BY workspace_no, at DESC";

pub(crate) fn read_earlier_look<R: Row>(row: &R, project: ProjectId) -> Result<(WorkspaceNo, SourceLook), StoreError> {
    let no = Cells::new(row, "source_look", || project.to_string()).count(3, "workspace_no")?;
    Ok((WorkspaceNo(no), read_look(row, project)?))
}

/// Keeps who looked, if this is not what was seen the time before, and drops what is too much.
pub(crate) fn note_look(
    (project, no, source_id): (ProjectId, WorkspaceNo, &str),
    seen: &Seen,
    look: Look,
    earlier: &[(WorkspaceNo, SourceLook)],
) -> Vec<Statement> {
    const INSERT: &str = "
        INSERT INTO source_look (project_id, source_id, workspace_no, at, key_id, hash)
        VALUES ($1, $2, $3, $4, $5, $6)
        ON CONFLICT DO NOTHING";
    const DELETE: &str = "
        DELETE FROM source_look
        WHERE project_id = $1 AND source_id = $2 AND workspace_no = $3 AND at <= $4";
    let mut own = earlier.iter().filter(|(of, _)| *of == no).map(|(_, look)| look).peekable();
    if own.peek().is_some_and(|last| last.hash.as_deref() == seen.hash()) {
        return Vec::new();
    }
    let mut notes = vec![statement!(INSERT, project, source_id, no, look.at, look.key, seen.hash())];
    notes.extend(own.nth(LOOKS_MAX - 1).map(|outdated| statement!(DELETE, project, source_id, no, outdated.at)));
    notes
}

/// Notes at a place of the log that a record was saved again.
pub(crate) fn insert_update(
    project: ProjectId,
    place: Seq,
    Changed { record, .. }: &Changed,
    at: Timestamp,
    (key, hash_before): (Option<KeyId>, Option<&str>),
) -> Statement {
    const INSERT: &str = "
        INSERT INTO change (project_id, seq, workspace_no, kind, record_seq, at, key_id, hash_before)
        VALUES ($1, $2, $3, 'update', $4, $5, $6, $7)";
    statement!(INSERT, project, place, record.workspace_no, record.seq, at, key, hash_before)
}

pub(crate) fn update_given_values(project: ProjectId, Changed { record, checksum }: &Changed) -> Statement {
    const UPDATE: &str = "
        UPDATE record
        SET source_hash = $3, source_revision = $4, confidence = $5, valid_until = $6, updated_at = $7, checksum = $8,
            tags = $9, occurred_at = $10
        WHERE project_id = $1 AND seq = $2";
    let fact = &record.fact;
    statement!(
        UPDATE,
        project,
        record.seq,
        fact.source_hash.as_ref(),
        fact.source_revision.as_ref(),
        fact.confidence,
        fact.valid_until,
        record.updated_at,
        *checksum,
        fact.tags.to_lines(),
        fact.occurred_at.as_ref().map(Occurred::as_str)
    )
}

/// Something that was done to a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deed {
    pub at: Timestamp,
    pub kind: DeedKind,
    /// With which key it was saved. The audit log knows who forgot or restored it.
    pub key: Option<KeyId>,
    /// The source's hash that it had before, where saving it again brought another one.
    pub hash_before: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeedKind {
    Saved,
    SavedAgain,
    Forgotten,
    Restored,
}

impl DeedKind {
    fn parse(word: &str) -> Option<Self> {
        Some(match word {
            "save" => Self::Saved,
            "update" => Self::SavedAgain,
            "forget" => Self::Forgotten,
            "restore" => Self::Restored,
            _ => return None,
        })
    }
}

/// Somebody looked at a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceLook {
    pub at: Timestamp,
    pub key: Option<KeyId>,
    /// What it had, as storage keeps hashes; nothing where it was gone.
    pub hash: Option<String>,
}

/// Reads at and seq.
fn read_gone<R: Row>(row: &R, project: ProjectId) -> Result<(Timestamp, Seq), StoreError> {
    let cells = Cells::new(row, "record", || project.to_string());
    Ok((cells.time(0, "forgotten_at")?, Seq(cells.count(1, "seq")?)))
}

/// Reads at, kind, key and hash_before.
fn read_deed<R: Row>(row: &R, project: ProjectId) -> Result<Deed, StoreError> {
    let cells = Cells::new(row, "change", || project.to_string());
    Ok(Deed {
        at: cells.time(0, "at")?,
        kind: cells.word(1, "kind", DeedKind::parse)?,
        key: cells.id_opt(2, "key_id")?,
        hash_before: cells.text_opt(3, "hash_before")?,
    })
}

/// Reads at, key and hash.
fn read_look<R: Row>(row: &R, project: ProjectId) -> Result<SourceLook, StoreError> {
    let cells = Cells::new(row, "source_look", || project.to_string());
    Ok(SourceLook { at: cells.time(0, "at")?, key: cells.id_opt(1, "key_id")?, hash: cells.text_opt(2, "hash")? })
}
