//! Reads whole records, with the names of the people and places in them.

use mnemon_core::{ProjectId, RecordId, Seq, WorkspaceName};
use tokio_postgres::Row;

use super::error::Fault;
use super::rows::{Cells, integer};
use super::transaction::Tx;
use crate::StoreError;
use crate::interface::stored::{Names, Stored};

/// The records at some log positions, live or not. The people of the project's account must be opened.
pub(super) const BY_SEQ: &str = "
    SELECT r.seq, r.id, r.workspace_no, r.audience, r.author_id, r.department_id, r.is_key_given, r.confidence,
        r.valid_until, r.created_at, r.updated_at, r.fact_key, r.source, r.source_id, r.source_hash,
        r.source_revision, r.content, r.checksum, r.is_cautioned, r.tags, r.occurred_at, r.forgotten_at,
        r.superseded_by,
        w.name, w.deleted_at, m.name, d.name
    FROM record r
    LEFT JOIN workspace w ON w.project_id = r.project_id AND w.no = r.workspace_no
    LEFT JOIN project p ON p.id = r.project_id
    LEFT JOIN member m ON m.account_id = p.account_id AND m.id = r.author_id
    LEFT JOIN department d ON d.account_id = p.account_id AND d.id = r.department_id
    WHERE r.project_id = $1 AND r.seq = ANY($2)";

/// The record with an id, live or not, of a project that was not deleted.
pub(super) const BY_ID: &str = "
    SELECT r.seq, r.id, r.workspace_no, r.audience, r.author_id, r.department_id, r.is_key_given, r.confidence,
        r.valid_until, r.created_at, r.updated_at, r.fact_key, r.source, r.source_id, r.source_hash,
        r.source_revision, r.content, r.checksum, r.is_cautioned, r.tags, r.occurred_at, r.forgotten_at,
        r.superseded_by,
        w.name, w.deleted_at, m.name, d.name
    FROM record r
    LEFT JOIN workspace w ON w.project_id = r.project_id AND w.no = r.workspace_no
    LEFT JOIN project p ON p.id = r.project_id
    LEFT JOIN member m ON m.account_id = p.account_id AND m.id = r.author_id
    LEFT JOIN department d ON d.account_id = p.account_id AND d.id = r.department_id
    WHERE r.project_id = $1 AND r.id = $2 AND p.deleted_at IS NULL";

pub(super) fn read_stored(row: &Row, project: ProjectId) -> Result<Stored, StoreError> {
    Stored::read(row, project, |record, _| {
        let cells = Cells::new(row, "workspace", || format!("{project}/{}", record.workspace_no.0));
        let workspace = cells.word_opt(23, "name", |name| WorkspaceName::parse(name).ok())?;
        Ok(Names {
            workspace: workspace.ok_or_else(|| cells.broken("no"))?,
            ended_at: cells.time_opt(24, "deleted_at")?,
            author: cells.text_opt(25, "name")?,
            department: cells.text_opt(26, "name")?,
        })
    })
}

/// The record at a log position, live or not.
pub(super) async fn find(tx: &Tx, project: ProjectId, seq: Seq) -> Result<Option<Stored>, Fault> {
    let row = tx.row(BY_SEQ, &[&project.uuid(), &vec![integer(seq.0)]]).await?;
    Ok(row.map(|row| read_stored(&row, project)).transpose()?)
}

/// The record with an id, live or not.
pub(super) async fn find_by_id(tx: &Tx, project: ProjectId, id: RecordId) -> Result<Option<Stored>, Fault> {
    let row = tx.row(BY_ID, &[&project.uuid(), &id.uuid()]).await?;
    Ok(row.map(|row| read_stored(&row, project)).transpose()?)
}
