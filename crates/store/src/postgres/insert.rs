//! The save of one record that may concern an earlier one: idempotency key, what it supersedes, duplicate, limit, record, in
//! this order, with the project locked. All other saves go through `batch.rs`, many at a time.

use mnemon_core::{ContentHash, NewRecord, ProjectId, Record, RecordId, Seq, WorkspaceNo};
use tokio_postgres::types::ToSql;

use super::bodies;
use super::briefs::{find_brief, list_by_fact_key};
use super::error::Fault;
use super::new_rows::NewRows;
use super::oversight::insert_audit;
use super::project::Locked;
use super::rows::{AudienceBytes, Cells, integer, micros, micros_opt};
use super::sources::note_known_hash;
use super::transaction::Tx;
use super::workspaces::{find_living, has_room_for_workspace};
use crate::acts::records::{EarlierUse, to_supersede};
use crate::acts::stored::{Changed, broken};
use crate::{Brief, Idempotency, Insert, Inserted, Replay, StoreError};

/// Saves one record, unless it `is_repeated` and finds itself. The caller has checked that its author exists.
pub(super) async fn insert(
    tx: &Tx,
    project: &mut Locked,
    insert: &Insert,
    content_hash: ContentHash,
    is_repeated: bool,
) -> Result<Inserted, Fault> {
    let record = &insert.record;
    if let Some(key) = &insert.idempotency
        && let Some(earlier) = find_earlier(tx, record, key).await?
    {
        return Ok(earlier);
    }
    let workspace = find_living(tx, record.project, &record.workspace).await?;
    let superseded = match find_superseded(tx, insert, workspace).await? {
        Ok(found) => found,
        Err(id) => return Ok(Inserted::NotFound(id)),
    };
    if let Some(no) = workspace
        && let Some((seq, id)) = find_duplicate(tx, record, no, content_hash).await?
    {
        if is_repeated && id == record.id {
            return Ok(Inserted::New { seq, workspace_no: no, superseded: Vec::new() });
        }
        let existing = refresh_duplicate(tx, project, record, seq).await?;
        let superseded = supersede(tx, project, insert, existing.id, &to_supersede(superseded, Some(seq))).await?;
        note_key(tx, insert, seq, true).await?;
        return Ok(Inserted::Duplicate { record: Box::new(existing), superseded });
    }
    let superseded = to_supersede(superseded, None);
    let staying = project.live_records.saturating_sub(superseded.len() as u64);
    if insert.records_max.is_some_and(|max| staying >= max) {
        return Ok(Inserted::LimitReached);
    }
    if workspace.is_none() && !has_room_for_workspace(tx, record.project, insert.workspaces_max).await? {
        return Ok(Inserted::TooManyWorkspaces);
    }
    let mut rows = NewRows::default();
    let (seq, workspace_no) = rows.add(project, workspace, insert, content_hash);
    tx.flight(rows.asks()).await?;
    let superseded = supersede(tx, project, insert, record.id, &superseded).await?;
    note_key(tx, insert, seq, false).await?;
    Ok(Inserted::New { seq, workspace_no, superseded })
}

/// The records that the save replaces, or the id of one that is not there.
async fn find_superseded(
    tx: &Tx,
    insert: &Insert,
    workspace: Option<WorkspaceNo>,
) -> Result<Result<Vec<Brief>, RecordId>, Fault> {
    let Some(wanted) = &insert.supersede else { return Ok(Ok(Vec::new())) };
    let record = &insert.record;
    let mut found = Vec::new();
    if let (true, true, Some(no)) = (wanted.same_key, record.fact_key.is_given, workspace) {
        found = list_by_fact_key(tx, record.project, no, &record.fact_key.text).await?;
        wanted.retain_seen(&mut found);
    }
    for id in &wanted.ids {
        match wanted.find_seen(*id, find_brief(tx, record.project, *id).await?) {
            Ok(brief) => found.push(brief),
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
    superseded: &[Brief],
) -> Result<Vec<RecordId>, Fault> {
    const UPDATE: &str =
        "UPDATE record SET forgotten_at = $3, superseded_by = $4 WHERE project_id = $1 AND seq = ANY($2)";
    let Some(wanted) = insert.supersede.as_ref().filter(|_| !superseded.is_empty()) else { return Ok(Vec::new()) };
    let seqs: Vec<i64> = superseded.iter().map(|brief| integer(brief.seq.0)).collect();
    let touched: Vec<_> = superseded.iter().map(|brief| (brief.workspace_no, Some(brief.seq))).collect();
    let (at, count) = (wanted.audit.at, superseded.len() as u64);
    tx.rows(UPDATE, &[&project.id.uuid(), &seqs, &micros(at), &by.uuid()]).await?;
    project.insert_changes(tx, &touched, "forget", at).await?;
    project.live_records = project.live_records.saturating_sub(count);
    insert_audit(tx, &wanted.audit_of(by, insert.record.audience), count).await?;
    Ok(superseded.iter().map(|brief| brief.id).collect())
}

/// The records that this one replaced.
async fn list_superseded(tx: &Tx, project: ProjectId, by: RecordId) -> Result<Vec<RecordId>, Fault> {
    const SELECT: &str = "SELECT id FROM record WHERE project_id = $1 AND superseded_by = $2 ORDER BY seq";
    let rows = tx.rows(SELECT, &[&project.uuid(), &by.uuid()]).await?;
    let read = |row| Cells::new(row, "record", || project.to_string()).id(0, "id");
    Ok(rows.iter().map(read).collect::<Result<_, StoreError>>()?)
}

/// The outcome of an earlier use of the key, if it still counts.
async fn find_earlier(tx: &Tx, record: &NewRecord, key: &Idempotency) -> Result<Option<Inserted>, Fault> {
    const SELECT: &str = "
        SELECT arguments_hash, record_seq, was_duplicate, answer
        FROM idempotency
        WHERE project_id = $1 AND member_id = $2 AND key = $3 AND created_at >= $4";
    let project = record.project;
    let values: [&(dyn ToSql + Sync); 4] = [&project.uuid(), &key.member.uuid(), &key.key, &micros(key.valid_since)];
    let Some(row) = tx.row(SELECT, &values).await? else { return Ok(None) };
    let EarlierUse { is_same, seq, was_duplicate, answer } = EarlierUse::read(&row, project, key)?;
    if !is_same {
        return Ok(Some(Inserted::KeyReused));
    }
    let record = bodies::find(tx, project, seq).await?.map(|stored| stored.record);
    let superseded = match &record {
        Some(record) => list_superseded(tx, project, record.id).await?,
        None => Vec::new(),
    };
    Ok(Some(Inserted::Replayed(Box::new(Replay { record, was_duplicate, superseded, answer }))))
}

/// The oldest live record that this one would only repeat.
async fn find_duplicate(
    tx: &Tx,
    record: &NewRecord,
    no: WorkspaceNo,
    content_hash: ContentHash,
) -> Result<Option<(Seq, RecordId)>, Fault> {
    const SELECT: &str = "
        SELECT seq, id
        FROM record
        WHERE project_id = $1 AND workspace_no = $2 AND content_hash = $3 AND forgotten_at IS NULL
            AND audience = $4 AND source IS NOT DISTINCT FROM $5 AND source_id IS NOT DISTINCT FROM $6
        ORDER BY seq
        LIMIT 1";
    let audience = AudienceBytes::of(record.audience);
    let (hash, audience) = (content_hash.as_bytes().as_slice(), audience.as_slice());
    let values: [&(dyn ToSql + Sync); 6] =
        [&record.project.uuid(), &integer(no.0), &hash, &audience, &record.fact.source, &record.fact.source_id];
    let Some(row) = tx.row(SELECT, &values).await? else { return Ok(None) };
    let cells = Cells::new(&row, "record", || record.project.to_string());
    Ok(Some((Seq(cells.count(0, "seq")?), cells.id(1, "id")?)))
}

/// Refreshes the existing record with the values of this save. A save that says nothing new writes nothing, unless it shows
/// that the source has changed.
async fn refresh_duplicate(tx: &Tx, project: &mut Locked, given: &NewRecord, seq: Seq) -> Result<Record, Fault> {
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
    let no = record.workspace_no;
    note_known_hash(tx, given, no, || updated_at.unwrap_or_else(|| project.take_seq())).await?;
    Ok(record)
}

async fn update_given_values(tx: &Tx, project: ProjectId, fresh: &Changed) -> Result<(), Fault> {
    const UPDATE: &str = "
        UPDATE record
        SET source_hash = $3, source_revision = $4, confidence = $5, valid_until = $6, updated_at = $7, checksum = $8
        WHERE project_id = $1 AND seq = $2";
    let Changed { record, checksum } = fresh;
    let values: [&(dyn ToSql + Sync); 8] = [
        &project.uuid(),
        &integer(record.seq.0),
        &record.fact.source_hash,
        &record.fact.source_revision,
        &record.fact.confidence,
        &micros_opt(record.fact.valid_until),
        &micros(record.updated_at),
        checksum,
    ];
    tx.rows(UPDATE, &values).await?;
    Ok(())
}

/// Stores the key of this save, replacing an outdated use of it.
async fn note_key(tx: &Tx, insert: &Insert, seq: Seq, was_duplicate: bool) -> Result<(), Fault> {
    const UPSERT: &str = "
        INSERT INTO idempotency
            (project_id, member_id, key, arguments_hash, record_seq, was_duplicate, created_at, answer)
        VALUES ($1, $2, $3, $4, $5, $6, $7, NULL)
        ON CONFLICT (project_id, member_id, key) DO UPDATE
        SET arguments_hash = excluded.arguments_hash, record_seq = excluded.record_seq,
            was_duplicate = excluded.was_duplicate, created_at = excluded.created_at, answer = NULL";
    let Some(key) = &insert.idempotency else { return Ok(()) };
    let arguments_hash = key.arguments_hash.as_slice();
    let values: [&(dyn ToSql + Sync); 7] = [
        &insert.record.project.uuid(),
        &key.member.uuid(),
        &key.key,
        &arguments_hash,
        &integer(seq.0),
        &was_duplicate,
        &micros(insert.record.created_at),
    ];
    tx.rows(UPSERT, &values).await?;
    Ok(())
}
