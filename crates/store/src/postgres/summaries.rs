//! Reading what is needed to judge records, without their texts.

use mnemon_core::{ProjectId, RecordId, WorkspaceNo};

use super::error::Fault;
use super::rows::integer;
use super::transaction::Tx;
use crate::RecordSummary;
use crate::interface::records::read_summary;

/// The living records of a source, of one workspace or of all.
pub(super) const BY_SOURCE: &str = "
    SELECT r.seq, r.id, r.workspace_no, r.audience, r.is_key_given, r.fact_key, r.content_hash, r.source_id,
        r.source_hash, r.valid_until
    FROM record r
    JOIN workspace w ON w.project_id = r.project_id AND w.no = r.workspace_no
    WHERE r.project_id = $1 AND r.source_id = $2 AND r.forgotten_at IS NULL AND w.deleted_at IS NULL
        AND ($3::text IS NULL OR w.name = $3)
    ORDER BY r.seq";

/// The living records of the next sources after one, each source complete.
pub(super) const AFTER_SOURCE: &str = "
    WITH next AS (
        SELECT DISTINCT r.source_id
        FROM record r
        JOIN workspace w ON w.project_id = r.project_id AND w.no = r.workspace_no
        WHERE r.project_id = $1 AND r.source_id > $2 AND r.forgotten_at IS NULL AND w.deleted_at IS NULL
        ORDER BY r.source_id
        LIMIT $3)
    SELECT r.seq, r.id, r.workspace_no, r.audience, r.is_key_given, r.fact_key, r.content_hash, r.source_id,
        r.source_hash, r.valid_until
    FROM next n
    JOIN record r ON r.project_id = $1 AND r.source_id = n.source_id AND r.forgotten_at IS NULL
    JOIN workspace w ON w.project_id = r.project_id AND w.no = r.workspace_no AND w.deleted_at IS NULL
    ORDER BY r.source_id, r.seq";

/// The living records under caller-given keys, each in its workspace.
pub(super) const BY_FACT_KEY: &str = "
    SELECT r.seq, r.id, r.workspace_no, r.audience, r.is_key_given, r.fact_key, r.content_hash, r.source_id,
        r.source_hash, r.valid_until
    FROM (SELECT DISTINCT workspace_no, fact_key FROM unnest($2::bigint[], $3::text[]) AS t (workspace_no, fact_key))
        AS g
    JOIN record r ON r.project_id = $1 AND r.workspace_no = g.workspace_no AND r.fact_key = g.fact_key
        AND r.is_key_given AND r.forgotten_at IS NULL
    JOIN workspace w ON w.project_id = r.project_id AND w.no = r.workspace_no AND w.deleted_at IS NULL
    ORDER BY r.seq";

/// The living ones of these records.
pub(super) async fn list_summaries(tx: &Tx, project: ProjectId, ids: &[RecordId]) -> Result<Vec<RecordSummary>, Fault> {
    const SELECT: &str = "
        SELECT r.seq, r.id, r.workspace_no, r.audience, r.is_key_given, r.fact_key, r.content_hash, r.source_id,
            r.source_hash, r.valid_until
        FROM record r
        JOIN workspace w ON w.project_id = r.project_id AND w.no = r.workspace_no
        WHERE r.project_id = $1 AND r.id = ANY($2) AND r.forgotten_at IS NULL AND w.deleted_at IS NULL";
    let ids: Vec<uuid::Uuid> = ids.iter().map(|id| id.uuid()).collect();
    let rows = tx.rows(SELECT, &[&project.uuid(), &ids]).await?;
    Ok(rows.iter().map(|row| read_summary(row, project)).collect::<Result<_, _>>()?)
}

/// The living records under one caller-given key of a workspace.
pub(super) async fn list_by_fact_key(
    tx: &Tx,
    project: ProjectId,
    no: WorkspaceNo,
    key: &str,
) -> Result<Vec<RecordSummary>, Fault> {
    let rows = tx.rows(BY_FACT_KEY, &[&project.uuid(), &vec![integer(no.0)], &vec![key]]).await?;
    Ok(rows.iter().map(|row| read_summary(row, project)).collect::<Result<_, _>>()?)
}
