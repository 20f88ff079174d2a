//! Reading what is needed to judge records, without their texts.

use std::collections::BTreeSet;

use mnemon_core::{ProjectId, RecordId, WorkspaceNo};
use rusqlite::Connection;

use super::rows::integer;
use super::sources::load_parts;
use super::statement::run;
use crate::interface::summaries::{BY_ID, read_summary};
use crate::statement::{Cell, statement};
use crate::{Basis, RecordSummary, Standing, StoreError};

/// The living record with this id.
pub(super) fn find_summary(
    conn: &Connection,
    project: ProjectId,
    id: RecordId,
) -> Result<Option<RecordSummary>, StoreError> {
    run(conn, &statement!(BY_ID, project, Cell::list([id])))?.first().map(|row| read_summary(row, project)).transpose()
}

pub(super) fn find_standing(
    conn: &Connection,
    project: ProjectId,
    bases: &[Basis<'_>],
) -> Result<Standing, StoreError> {
    let mut standing = Standing::default();
    let keys: BTreeSet<_> = bases.iter().filter_map(|basis| Some((basis.workspace_no, basis.given_key?))).collect();
    for (no, key) in keys {
        list_by_fact_key(conn, project, no, key, &mut standing.under_key)?;
    }
    standing.under_key.sort_unstable_by_key(|summary| summary.seq);
    let own = bases.iter().filter_map(|basis| Some((basis.workspace_no, basis.source_id?)));
    let theirs = standing.under_key.iter().filter_map(|rival| Some((rival.workspace_no, rival.source_id.as_deref()?)));
    for (no, source_id) in own.chain(theirs).collect::<BTreeSet<_>>() {
        standing.sources.extend(load_parts(conn, project, source_id, no)?);
    }
    Ok(standing)
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
