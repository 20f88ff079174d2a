//! Reading what is needed to judge records, without their texts.

use mnemon_core::{ProjectId, RecordId, WorkspaceName, WorkspaceNo};
use rusqlite::Connection;

use super::rows::integer;
use crate::interface::records::read_summary;
use crate::{RecordSummary, StoreError};

/// The living record with this id.
pub(super) fn find_summary(
    conn: &Connection,
    project: ProjectId,
    id: RecordId,
) -> Result<Option<RecordSummary>, StoreError> {
    const SELECT: &str = "
        SELECT r.seq, r.id, r.workspace_no, r.audience, r.is_key_given, r.fact_key, r.content_hash, r.source_id,
            r.source_hash, r.valid_until
        FROM record r
        CROSS JOIN workspace w ON w.project_id = r.project_id AND w.no = r.workspace_no
        WHERE r.project_id = ?1 AND r.id = ?2 AND r.forgotten_at IS NULL AND w.deleted_at IS NULL";
    let mut statement = conn.prepare_cached(SELECT)?;
    let mut rows = statement.query((project.to_bytes(), id.to_bytes()))?;
    rows.next()?.map(|row| read_summary(row, project)).transpose()
}

pub(super) fn list_by_source(
    conn: &Connection,
    project: ProjectId,
    source_id: &str,
    workspace: Option<&WorkspaceName>,
    rows_max: usize,
) -> Result<Vec<RecordSummary>, StoreError> {
    const SELECT: &str = "
        SELECT r.seq, r.id, r.workspace_no, r.audience, r.is_key_given, r.fact_key, r.content_hash, r.source_id,
            r.source_hash, r.valid_until
        FROM record r INDEXED BY record_source
        CROSS JOIN workspace w ON w.project_id = r.project_id AND w.no = r.workspace_no
        WHERE r.project_id = ?1 AND r.source_id = ?2 AND r.forgotten_at IS NULL AND w.deleted_at IS NULL
            AND (?3 IS NULL OR w.name = ?3)
        ORDER BY r.seq
        LIMIT ?4";
    let mut statement = conn.prepare_cached(SELECT)?;
    let name = workspace.map(WorkspaceName::as_str);
    let mut rows = statement.query((project.to_bytes(), source_id, name, integer(rows_max as u64)))?;
    let mut summaries = Vec::new();
    while let Some(row) = rows.next()? {
        summaries.push(read_summary(row, project)?);
    }
    Ok(summaries)
}

/// No source has an empty name, so the empty text sorts before all of them.
pub(super) fn list_after_source(
    conn: &Connection,
    project: ProjectId,
    after: &str,
    sources_max: usize,
) -> Result<Vec<RecordSummary>, StoreError> {
    const SELECT: &str = "
        SELECT r.seq, r.id, r.workspace_no, r.audience, r.is_key_given, r.fact_key, r.content_hash, r.source_id,
            r.source_hash, r.valid_until
        FROM record r INDEXED BY record_source
        CROSS JOIN workspace w ON w.project_id = r.project_id AND w.no = r.workspace_no
        WHERE r.project_id = ?1 AND r.source_id > ?2 AND r.forgotten_at IS NULL AND w.deleted_at IS NULL
        ORDER BY r.source_id, r.seq";
    let mut statement = conn.prepare_cached(SELECT)?;
    let mut rows = statement.query((project.to_bytes(), after))?;
    let mut summaries: Vec<RecordSummary> = Vec::new();
    let mut sources = 0;
    while let Some(row) = rows.next()? {
        let summary = read_summary(row, project)?;
        let is_next = summaries.last().is_none_or(|last| last.source_id != summary.source_id);
        sources += usize::from(is_next);
        if sources > sources_max {
            break;
        }
        summaries.push(summary);
    }
    Ok(summaries)
}

pub(super) fn list_by_fact_key(
    conn: &Connection,
    project: ProjectId,
    no: WorkspaceNo,
    key: &str,
    summaries: &mut Vec<RecordSummary>,
) -> Result<(), StoreError> {
    const SELECT: &str = "
        SELECT r.seq, r.id, r.workspace_no, r.audience, r.is_key_given, r.fact_key, r.content_hash, r.source_id,
            r.source_hash, r.valid_until
        FROM record r INDEXED BY record_fact_key
        CROSS JOIN workspace w ON w.project_id = r.project_id AND w.no = r.workspace_no
        WHERE r.project_id = ?1 AND r.workspace_no = ?2 AND r.fact_key = ?3 AND r.is_key_given = 1
            AND r.forgotten_at IS NULL AND w.deleted_at IS NULL";
    let mut statement = conn.prepare_cached(SELECT)?;
    let mut rows = statement.query((project.to_bytes(), integer(no.0), key))?;
    while let Some(row) = rows.next()? {
        summaries.push(read_summary(row, project)?);
    }
    Ok(())
}
