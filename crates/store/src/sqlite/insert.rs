//! The save, in one transaction: what it depends on is looked up, `interface/saving.rs` decides, and that is done.

use mnemon_core::{ContentHash, NewRecord, Occurred, ProjectId, Record, RecordId, Seq, WorkspaceNo};
use rusqlite::{Connection, params};

use super::batch::Tx;
use super::bodies::Bodies;
use super::rows::{AudienceBytes, Cells, find, integer, list, micros, micros_opt};
use super::sources::note_known_hash;
use super::statement::run;
use super::summaries::{find_summary, list_by_fact_key};
use crate::checksum::Covered;
use crate::interface::records::{EarlierUse, OUTDATED_PER_KEY};
use crate::interface::saving::{self, Decision, Found, decide};
use crate::interface::stored::broken;
use crate::interface::trail::{insert_update, update_given_values};
use crate::{Idempotency, Insert, Inserted, RecordSummary, Replay, StoreError};

pub(super) fn insert(tx: &mut Tx<'_>, insert: &Insert, content_hash: ContentHash) -> Result<Inserted, StoreError> {
    let record = &insert.record;
    tx.check_author(record.project, record.author)?;
    let workspace = tx.find_workspace(record.project, &record.workspace)?;
    match decide(insert, look(tx, insert, workspace, content_hash)?) {
        Decision::Replay(earlier) => replay(tx, record.project, earlier),
        Decision::Refuse(inserted) => Ok(inserted),
        Decision::Refresh { duplicate, superseded } => {
            let existing = refresh_duplicate(tx, record, duplicate)?;
            let superseded = supersede(tx, insert, existing.id, &superseded)?;
            note_key(tx, insert, duplicate, true)?;
            Ok(Inserted::Duplicate { record: Box::new(existing), superseded })
        }
        Decision::Write { superseded } => {
            let (seq, workspace_no) = insert_new(tx, record, workspace, content_hash)?;
            let superseded = supersede(tx, insert, record.id, &superseded)?;
            note_key(tx, insert, seq, false)?;
            Ok(Inserted::New { seq, workspace_no, superseded })
        }
    }
}

/// Everything that decides about the save.
fn look(
    tx: &mut Tx<'_>,
    insert: &Insert,
    workspace: Option<WorkspaceNo>,
    content_hash: ContentHash,
) -> Result<Found, StoreError> {
    let record = &insert.record;
    let earlier = insert.idempotency.as_ref().map(|key| find_earlier(tx, record.project, key)).transpose()?.flatten();
    let superseded = find_superseded(tx.conn, insert, workspace)?;
    let duplicate = workspace.map(|no| find_duplicate(tx, record, no, content_hash)).transpose()?.flatten();
    let live_records = tx.project(record.project)?.live_records;
    let counts_workspaces = workspace.is_none() && insert.workspaces_max.is_some();
    let workspaces = if counts_workspaces { tx.count_workspaces(record.project)? } else { 0 };
    Ok(Found { earlier, superseded, duplicate, live_records, workspace, workspaces })
}

/// The records that the save replaces, or the id of one that is not there.
fn find_superseded(
    conn: &Connection,
    insert: &Insert,
    workspace: Option<WorkspaceNo>,
) -> Result<Result<Vec<RecordSummary>, RecordId>, StoreError> {
    let Some(wanted) = &insert.supersede else { return Ok(Ok(Vec::new())) };
    let record = &insert.record;
    let mut found = Vec::new();
    if let (true, true, Some(no)) = (wanted.same_key, record.fact_key.is_given, workspace) {
        list_by_fact_key(conn, record.project, no, &record.fact_key.text, &mut found)?;
        wanted.retain_seen(&mut found);
    }
    for id in &wanted.ids {
        match wanted.find_seen(*id, find_summary(conn, record.project, *id)?) {
            Ok(summary) => found.push(summary),
            Err(id) => return Ok(Err(id)),
        }
    }
    Ok(Ok(found))
}

/// Forgets the records that another one replaces, and returns their ids.
fn supersede(
    tx: &mut Tx<'_>,
    insert: &Insert,
    by: RecordId,
    superseded: &[RecordSummary],
) -> Result<Vec<RecordId>, StoreError> {
    let project = insert.record.project;
    let mut first = None;
    for _ in superseded {
        first = first.or(Some(tx.take_seq(project)?));
    }
    let Some(first) = first else { return Ok(Vec::new()) };
    for statement in saving::supersede(insert, by, superseded, first) {
        run(tx.conn, &statement)?;
    }
    let state = tx.project(project)?;
    state.live_records = state.live_records.saturating_sub(superseded.len() as u64);
    Ok(superseded.iter().map(|summary| summary.id).collect())
}

/// The records that this one replaced.
fn list_superseded(conn: &Connection, project: ProjectId, by: RecordId) -> Result<Vec<RecordId>, StoreError> {
    const SELECT: &str = "
        SELECT id
        FROM record INDEXED BY record_superseded
        WHERE project_id = ?1 AND superseded_by = ?2
        ORDER BY seq";
    list(conn, SELECT, (project.to_bytes(), by.to_bytes()), |row| {
        Cells::new(row, "record", || project.to_string()).id(0, "id")
    })
}

/// The earlier use of the key, if it still counts.
fn find_earlier(tx: &Tx<'_>, project: ProjectId, key: &Idempotency) -> Result<Option<EarlierUse>, StoreError> {
    const SELECT: &str = "
        SELECT arguments_hash, record_seq, was_duplicate, answer
        FROM idempotency
        WHERE project_id = ?1 AND member_id = ?2 AND key = ?3 AND created_at >= ?4";
    find(tx.conn, SELECT, (project.to_bytes(), key.member.to_bytes(), &key.key, micros(key.valid_since)), |row| {
        EarlierUse::read(row, 0, project, key)
    })
}

/// What the first call with the key led to.
fn replay(tx: &Tx<'_>, project: ProjectId, earlier: EarlierUse) -> Result<Inserted, StoreError> {
    let EarlierUse { seq, was_duplicate, answer, .. } = earlier;
    let record = Bodies::new(tx.conn, project).find(seq)?.map(|stored| stored.record);
    let superseded = record.as_ref().map(|record| list_superseded(tx.conn, project, record.id)).transpose()?;
    let superseded = superseded.unwrap_or_default();
    Ok(Inserted::Replayed(Box::new(Replay { record, was_duplicate, superseded, answer })))
}

/// The oldest live record that this one would only repeat.
fn find_duplicate(
    tx: &Tx<'_>,
    record: &NewRecord,
    no: WorkspaceNo,
    content_hash: ContentHash,
) -> Result<Option<Seq>, StoreError> {
    const SELECT: &str = "
        SELECT seq
        FROM record INDEXED BY record_duplicate
        WHERE project_id = ?1 AND workspace_no = ?2 AND content_hash = ?3 AND forgotten_at IS NULL
            AND audience = ?4 AND source IS ?5 AND source_id IS ?6
        ORDER BY seq
        LIMIT 1";
    let mut statement = tx.conn.prepare_cached(SELECT)?;
    let mut rows = statement.query(params![
        record.project.to_bytes(),
        integer(no.0),
        content_hash.as_bytes(),
        AudienceBytes::of(record.audience).as_slice(),
        record.fact.source,
        record.fact.source_id,
    ])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    Ok(Some(Seq(Cells::new(row, "record", || record.project.to_string()).count(0, "seq")?)))
}

/// Refreshes the existing record with the values of this save. A save that says nothing new writes nothing, unless it
/// shows that the source has changed.
fn refresh_duplicate(tx: &mut Tx<'_>, given: &NewRecord, seq: Seq) -> Result<Record, StoreError> {
    let stored = Bodies::new(tx.conn, given.project).find(seq)?;
    let stored = stored.ok_or_else(|| broken(given.project, seq, "seq"))?;
    let mut updated_at = None;
    let record = match stored.brought_up_to_date(given) {
        Some(fresh) => {
            run(tx.conn, &update_given_values(given.project, &fresh))?;
            let before = &stored.record.fact.source_hash;
            let before = before.as_deref().filter(|before| fresh.record.fact.source_hash.as_deref() != Some(before));
            let by = (given.key, before);
            let place = tx.take_seq(given.project)?;
            run(tx.conn, &insert_update(given.project, place, &fresh, given.created_at, by))?;
            updated_at = Some(place);
            fresh.record
        }
        None => stored.record,
    };
    let no = record.workspace_no;
    note_known_hash(tx, given, no, |tx| updated_at.map_or_else(|| tx.take_seq(given.project), Ok))?;
    Ok(record)
}

fn insert_new(
    tx: &mut Tx<'_>,
    record: &NewRecord,
    workspace: Option<WorkspaceNo>,
    content_hash: ContentHash,
) -> Result<(Seq, WorkspaceNo), StoreError> {
    let seq = tx.take_seq(record.project)?;
    let no = match workspace {
        Some(no) => no,
        None => {
            let no = WorkspaceNo(seq.0);
            tx.insert_workspace(record.project, &record.workspace, no, record.created_at)?;
            no
        }
    };
    tx.note_audience(record.project, no, record.audience)?;
    insert_row(tx, record, seq, no, content_hash)?;
    note_known_hash(tx, record, no, |_| Ok(seq))?;
    tx.project(record.project)?.live_records += 1;
    Ok((seq, no))
}

fn insert_row(
    tx: &Tx<'_>,
    record: &NewRecord,
    seq: Seq,
    no: WorkspaceNo,
    content_hash: ContentHash,
) -> Result<(), StoreError> {
    const INSERT: &str = "
        INSERT INTO record (project_id, seq, id, workspace_no, audience, author_id, department_id, content_hash,
            checksum, is_key_given, confidence, valid_until, created_at, updated_at, forgotten_at, fact_key, source,
            source_id, source_hash, source_revision, content, embedding, is_cautioned, tags, occurred_at,
            key_id)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?22, NULL, ?14, ?15, ?16, ?17, ?18, ?19, ?20,
            ?21, ?23, ?24, ?25)";
    tx.conn.prepare_cached(INSERT)?.execute(params![
        record.project.to_bytes(),
        integer(seq.0),
        record.id.to_bytes(),
        integer(no.0),
        AudienceBytes::of(record.audience).as_slice(),
        record.author.to_bytes(),
        record.department.map(|department| department.to_bytes()),
        content_hash.as_bytes(),
        Covered::of_new(record, seq, no).checksum(&record.embedding),
        record.fact_key.is_given,
        record.fact.confidence,
        micros_opt(record.fact.valid_until),
        micros(record.created_at),
        record.fact_key.text,
        record.fact.source,
        record.fact.source_id,
        record.fact.source_hash,
        record.fact.source_revision,
        record.fact.content,
        record.embedding,
        record.is_cautioned,
        micros(record.updated_at()),
        record.fact.tags.to_lines(),
        record.fact.occurred_at.as_ref().map(Occurred::as_str),
        record.key.map(|key| key.to_bytes()),
    ])?;
    Ok(())
}

/// Stores the key of this save, replacing an outdated use of it, and removes a few other outdated keys.
fn note_key(tx: &Tx<'_>, insert: &Insert, seq: Seq, was_duplicate: bool) -> Result<(), StoreError> {
    const INSERT: &str = "
        INSERT OR REPLACE INTO idempotency
            (project_id, member_id, key, arguments_hash, record_seq, was_duplicate, created_at, answer)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, NULL)";
    const DELETE: &str = "
        DELETE FROM idempotency
        WHERE project_id = ?1 AND (member_id, key) IN (
            SELECT member_id, key
            FROM idempotency
            WHERE project_id = ?1 AND created_at < ?2
            ORDER BY created_at
            LIMIT ?3)";
    let Some(key) = &insert.idempotency else { return Ok(()) };
    let project = insert.record.project.to_bytes();
    tx.conn.prepare_cached(DELETE)?.execute((project, micros(key.valid_since), OUTDATED_PER_KEY))?;
    tx.conn.prepare_cached(INSERT)?.execute(params![
        project,
        key.member.to_bytes(),
        key.key,
        key.arguments_hash,
        integer(seq.0),
        was_duplicate,
        micros(insert.record.created_at),
    ])?;
    Ok(())
}
