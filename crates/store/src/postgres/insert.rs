//! The save of one record that concerns an earlier one: it repeats a record or an idempotency key, or replaces
//! others. It takes statements of its own. All other saves are written many at a time (`batch.rs`).

use mnemon_core::{NewRecord, Occurred, ProjectId, Record, RecordId, Seq, WorkspaceNo};
use tokio_postgres::types::ToSql;

use super::audit::insert_audit;
use super::bodies;
use super::error::Fault;
use super::look_over::Facts;
use super::new_rows::NewRows;
use super::project::Locked;
use super::rows::{Cells, integer, micros, micros_opt};
use super::save::Save;
use super::sources::is_news_of_source;
use super::summaries::{list_by_fact_key, list_summaries};
use super::transaction::Tx;
use crate::interface::records::EarlierUse;
use crate::interface::saving::{Decision, Found, decide};
use crate::interface::stored::{Changed, broken};
use crate::{Insert, Inserted, RecordSummary, Replay, StoreError};

/// Saves one record of a locked project by what was found about it. The people of its account must be opened.
pub(super) async fn insert(tx: &Tx, project: &mut Locked, save: &Save, facts: Facts) -> Result<Inserted, Fault> {
    let (insert, record) = (&save.insert, &save.insert.record);
    if let Some((seq, workspace_no)) = facts.itself {
        let superseded = list_superseded(tx, record.project, record.id).await?;
        return Ok(Inserted::New { seq, workspace_no, superseded });
    }
    let Facts { earlier, duplicate, workspace, workspaces, .. } = facts;
    let superseded = find_superseded(tx, insert, workspace).await?;
    let live_records = project.live_records;
    match decide(insert, Found { earlier, superseded, duplicate, live_records, workspace, workspaces }) {
        Decision::Replay(earlier) => replay(tx, record.project, earlier).await,
        Decision::Refuse(inserted) => Ok(inserted),
        Decision::Refresh { duplicate, superseded } => {
            let existing = refresh_duplicate(tx, project, insert, duplicate).await?;
            let superseded = supersede(tx, project, insert, existing.id, &superseded).await?;
            Ok(Inserted::Duplicate { record: Box::new(existing), superseded })
        }
        Decision::Write { superseded } => {
            let mut rows = NewRows::default();
            let (seq, workspace_no) = rows.add(project, workspace, insert, save.content_hash);
            rows.add_key(insert, seq, false);
            tx.ask_all(rows.asks()).await?;
            let superseded = supersede(tx, project, insert, record.id, &superseded).await?;
            Ok(Inserted::New { seq, workspace_no, superseded })
        }
    }
}

/// The records that the save replaces, or the id of one that its viewer can't see.
async fn find_superseded(
    tx: &Tx,
    insert: &Insert,
    workspace: Option<WorkspaceNo>,
) -> Result<Result<Vec<RecordSummary>, RecordId>, Fault> {
    let Some(wanted) = &insert.supersede else { return Ok(Ok(Vec::new())) };
    let record = &insert.record;
    let mut found = Vec::new();
    if let (true, true, Some(no)) = (wanted.same_key, record.fact_key.is_given, workspace) {
        found = list_by_fact_key(tx, record.project, no, &record.fact_key.text).await?;
        wanted.retain_seen(&mut found);
    }
    if wanted.ids.is_empty() {
        return Ok(Ok(found));
    }
    let named = list_summaries(tx, record.project, &wanted.ids).await?;
    for id in &wanted.ids {
        match wanted.find_seen(*id, named.iter().find(|summary| summary.id == *id).cloned()) {
            Ok(summary) => found.push(summary),
            Err(id) => return Ok(Err(id)),
        }
    }
    Ok(Ok(found))
}

/// Forgets the records that another one replaces, and returns their ids.
async fn supersede(
    tx: &Tx,
    project: &mut Locked,
    insert: &Insert,
    by: RecordId,
    superseded: &[RecordSummary],
) -> Result<Vec<RecordId>, Fault> {
    const UPDATE: &str =
        "UPDATE record SET forgotten_at = $3, superseded_by = $4 WHERE project_id = $1 AND seq = ANY($2)";
    let Some(wanted) = insert.supersede.as_ref().filter(|_| !superseded.is_empty()) else { return Ok(Vec::new()) };
    let seqs: Vec<i64> = superseded.iter().map(|summary| integer(summary.seq.0)).collect();
    let touched: Vec<_> = superseded.iter().map(|summary| (summary.workspace_no, Some(summary.seq))).collect();
    let (at, count) = (wanted.audit.at, superseded.len() as u64);
    tx.rows(UPDATE, &[&project.id.uuid(), &seqs, &micros(at), &by.uuid()]).await?;
    project.insert_changes(tx, &touched, "forget", at).await?;
    project.live_records = project.live_records.saturating_sub(count);
    insert_audit(tx, &wanted.audit_of(by, insert.record.audience), count).await?;
    Ok(superseded.iter().map(|summary| summary.id).collect())
}

/// The records that this one replaced.
async fn list_superseded(tx: &Tx, project: ProjectId, by: RecordId) -> Result<Vec<RecordId>, Fault> {
    const SELECT: &str = "SELECT id FROM record WHERE project_id = $1 AND superseded_by = $2 ORDER BY seq";
    let rows = tx.rows(SELECT, &[&project.uuid(), &by.uuid()]).await?;
    let read = |row| Cells::new(row, "record", || project.to_string()).id(0, "id");
    Ok(rows.iter().map(read).collect::<Result<_, StoreError>>()?)
}

/// What the first call with the key led to.
async fn replay(tx: &Tx, project: ProjectId, earlier: EarlierUse) -> Result<Inserted, Fault> {
    let EarlierUse { seq, was_duplicate, answer, .. } = earlier;
    let record = bodies::find(tx, project, seq).await?.map(|stored| stored.record);
    let superseded = match &record {
        Some(record) => list_superseded(tx, project, record.id).await?,
        None => Vec::new(),
    };
    Ok(Inserted::Replayed(Box::new(Replay { record, was_duplicate, superseded, answer })))
}

/// Refreshes the existing record with the values of this save, and remembers the save's idempotency key. A save that
/// says nothing new writes nothing else, unless it shows that the source has changed.
async fn refresh_duplicate(tx: &Tx, project: &mut Locked, insert: &Insert, seq: Seq) -> Result<Record, Fault> {
    let given: &NewRecord = &insert.record;
    let stored = bodies::find(tx, given.project, seq).await?;
    let stored = stored.ok_or_else(|| broken(given.project, seq, "seq"))?;
    let mut updated_at = None;
    let record = match stored.brought_up_to_date(given) {
        Some(fresh) => {
            update_given_values(tx, given.project, &fresh).await?;
            let no = fresh.record.workspace_no;
            updated_at = Some(project.insert_change(tx, no, "update", Some(seq), given.created_at).await?);
            fresh.record
        }
        None => stored.record,
    };
    let mut rows = NewRows::default();
    if is_news_of_source(tx, given, record.workspace_no).await? {
        let place = updated_at.unwrap_or_else(|| project.take_seq());
        rows.add_source(given, record.workspace_no, place);
    }
    rows.add_key(insert, seq, true);
    if !rows.is_empty() {
        tx.ask_all(rows.asks()).await?;
    }
    Ok(record)
}

async fn update_given_values(tx: &Tx, project: ProjectId, fresh: &Changed) -> Result<(), Fault> {
    const UPDATE: &str = "
        UPDATE record
        SET source_hash = $3, source_revision = $4, confidence = $5, valid_until = $6, updated_at = $7, checksum = $8,
            tags = $9, occurred_at = $10
        WHERE project_id = $1 AND seq = $2";
    let Changed { record, checksum } = fresh;
    let values: [&(dyn ToSql + Sync); 10] = [
        &project.uuid(),
        &integer(record.seq.0),
        &record.fact.source_hash,
        &record.fact.source_revision,
        &record.fact.confidence,
        &micros_opt(record.fact.valid_until),
        &micros(record.updated_at),
        checksum,
        &record.fact.tags.to_lines(),
        &record.fact.occurred_at.as_ref().map(Occurred::as_str),
    ];
    tx.rows(UPDATE, &values).await?;
    Ok(())
}
