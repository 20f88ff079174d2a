//! How records are forgotten and restored.

use mnemon_core::{ProjectId, Record, RecordId, Seq, Timestamp};

use super::AuditEntry;
use super::audit::insert_audit;
use super::log::{changes, take_places};
use super::stored::load_stored;
use super::workspaces::bring_back;
use crate::StoreError;
use crate::rows::Cells;
use crate::statement::{Cell, Transaction, Values, statement};

pub(crate) async fn forget<T: Transaction>(
    tx: &mut T,
    project: ProjectId,
    seqs: &[Seq],
    audit: &AuditEntry,
) -> Result<Vec<RecordId>, T::Error> {
    const UPDATE: &str = "
        UPDATE record
        SET forgotten_at = $3
        WHERE project_id = $1 AND seq = ANY($2) AND forgotten_at IS NULL AND EXISTS (
            SELECT 1
            FROM workspace w
            WHERE w.project_id = $1 AND w.no = record.workspace_no AND w.deleted_at IS NULL)
        RETURNING seq, id";
    let update = statement!(UPDATE, project, Cell::list(seqs.iter().copied()), audit.at);
    // Nothing is live in a deleted project.
    let rows = tx.lock(project, vec![update]).await?.and_then(|mut answers| answers.pop()).unwrap_or_default();
    let read = |row: &Values| {
        let cells = Cells::new(row, "record", || project.to_string());
        Ok((Seq(cells.count(0, "seq")?), cells.id(1, "id")?))
    };
    let mut forgotten = rows.iter().map(read).collect::<Result<Vec<(Seq, RecordId)>, StoreError>>()?;
    forgotten.sort_unstable();
    let Some(first) = take_places(tx, project, forgotten.len())? else { return Ok(Vec::new()) };
    let (seqs, ids): (Vec<Seq>, Vec<RecordId>) = forgotten.into_iter().unzip();
    tx.put(changes(project, first, "forget", &seqs, audit.at)).await?;
    let (live_records, count) = (tx.live_records(project)?, ids.len() as u64);
    *live_records = live_records.saturating_sub(count);
    tx.put(insert_audit(audit, count)).await?;
    Ok(ids)
}

pub(crate) async fn restore<T: Transaction>(
    tx: &mut T,
    project: ProjectId,
    id: RecordId,
    forgotten_since: Timestamp,
    records_max: Option<u64>,
    audit: &AuditEntry,
) -> Result<Option<Record>, T::Error> {
    const FIND: &str = "SELECT seq FROM record WHERE project_id = $1 AND id = $2";
    let found = tx.lock(project, vec![statement!(FIND, project, id)]).await?;
    let Some(row) = found.and_then(|mut answers| answers.pop()?.pop()) else { return Ok(None) };
    let seq = Seq(Cells::new(&row, "record", || id.to_string()).count(0, "seq")?);
    let mut stored = load_stored(tx, project, &[seq]).await?;
    stored.retain(|stored| stored.gone_at().is_some_and(|gone_at| gone_at >= forgotten_since));
    let live_records = *tx.live_records(project)?;
    if records_max.is_some_and(|max| live_records >= max) {
        return Ok(None);
    }
    let Some(workspace_no) = bring_back(tx, project, &stored, audit.at).await? else { return Ok(None) };
    *tx.live_records(project)? += 1;
    tx.put(insert_audit(audit, 1)).await?;
    Ok(stored.pop().map(|stored| Record { workspace_no, ..stored.record }))
}
