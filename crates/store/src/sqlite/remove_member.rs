//! How a member leaves: in one transaction its keys are revoked, its session histories deleted, and its records handed
//! over to an heir.

use mnemon_core::{AccountId, Audience, MemberId, ProjectId, Seq, Timestamp, WorkspaceNo};
use rusqlite::{Connection, OptionalExtension, params};

use super::account_version::bump_account_version;
use super::audit::insert_audit;
use super::batch::Tx;
use super::bodies::Bodies;
use super::log::insert_change;
use super::projects::list_projects;
use super::rows::{AudienceBytes, Cells, integer, micros};
use super::sessions::drop_sessions;
use super::sources::joined_by_newest;
use crate::interface::stored::{Changed, broken};
use crate::{AuditEntry, MemberDeleted, StoreError};

pub(super) fn delete_member(
    tx: &mut Tx<'_>,
    account: AccountId,
    id: MemberId,
    heir: Option<MemberId>,
    audit: &AuditEntry,
) -> Result<MemberDeleted, StoreError> {
    const DELETE: &str = "DELETE FROM member WHERE account_id = ?1 AND id = ?2";
    let is_heir_absent = match heir {
        Some(heir) => heir == id || !has_member(tx.conn, account, heir)?,
        None => false,
    };
    if is_heir_absent || !has_member(tx.conn, account, id)? {
        return Ok(MemberDeleted::Absent);
    }
    let projects: Vec<ProjectId> = list_projects(tx.conn, account)?.into_iter().map(|project| project.id).collect();
    let mut owned = Vec::new();
    for project in &projects {
        list_owned(tx.conn, *project, id, &mut owned)?;
    }
    let records = owned.len() as u64;
    if heir.is_none() && records > 0 {
        return Ok(MemberDeleted::NeedsHeir { records });
    }
    if let Some(heir) = heir {
        hand_over(tx, &owned, id, heir, audit.at)?;
    }
    for project in projects {
        move_audience(tx, project, id, heir)?;
        move_sources(tx, project, id, heir)?;
        drop_idempotency(tx.conn, project, id)?;
        drop_sessions(tx, project, id)?;
    }
    let keys = revoke_keys(tx.conn, account, id, audit.at)?;
    tx.conn.prepare_cached(DELETE)?.execute((account.to_bytes(), id.to_bytes()))?;
    tx.drop_author(id);
    bump_account_version(tx, account)?;
    insert_audit(tx.conn, audit, records)?;
    Ok(MemberDeleted::Done { keys, records })
}

fn has_member(conn: &Connection, account: AccountId, id: MemberId) -> Result<bool, StoreError> {
    const SELECT: &str = "SELECT 1 FROM member WHERE account_id = ?1 AND id = ?2";
    let values = (account.to_bytes(), id.to_bytes());
    Ok(conn.prepare_cached(SELECT)?.query_row(values, |_| Ok(())).optional()?.is_some())
}

/// The records of a member that can still be read or restored. Scans the whole project, at 0.4 µs a record: an index by
/// author would slow every save, and members leave rarely.
fn list_owned(
    conn: &Connection,
    project: ProjectId,
    member: MemberId,
    owned: &mut Vec<(ProjectId, Seq)>,
) -> Result<(), StoreError> {
    const SELECT: &str = "
        SELECT r.seq
        FROM record r
        WHERE r.project_id = ?1 AND (r.author_id = ?2 OR r.audience = ?3)
        ORDER BY r.seq";
    let audience = AudienceBytes::of(Audience::Author(member));
    let mut statement = conn.prepare_cached(SELECT)?;
    let mut rows = statement.query((project.to_bytes(), member.to_bytes(), audience.as_slice()))?;
    while let Some(row) = rows.next()? {
        owned.push((project, Seq(Cells::new(row, "record", || project.to_string()).count(0, "seq")?)));
    }
    Ok(())
}

fn hand_over(
    tx: &mut Tx<'_>,
    owned: &[(ProjectId, Seq)],
    from: MemberId,
    to: MemberId,
    at: Timestamp,
) -> Result<(), StoreError> {
    for (project, seq) in owned {
        let absent = || broken(*project, *seq, "seq");
        let stored = Bodies::new(tx.conn, *project).find(*seq)?.ok_or_else(absent)?;
        let embedding = find_embedding(tx.conn, *project, *seq)?.ok_or_else(absent)?;
        let fresh = stored.handed_over(*project, from, to, &embedding)?;
        update_owner(tx.conn, *project, &fresh)?;
        if fresh.record.audience != stored.record.audience {
            insert_change(tx, *project, fresh.record.workspace_no, "visibility", Some(*seq), at)?;
        }
    }
    Ok(())
}

fn find_embedding(conn: &Connection, project: ProjectId, seq: Seq) -> Result<Option<Vec<u8>>, StoreError> {
    const SELECT: &str = "SELECT embedding FROM record WHERE project_id = ?1 AND seq = ?2";
    let mut statement = conn.prepare_cached(SELECT)?;
    let mut rows = statement.query((project.to_bytes(), integer(seq.0)))?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let cells = Cells::new(row, "record", || format!("{project}/{seq}"));
    Ok(Some(cells.blob(0, "embedding")?.to_vec()))
}

fn update_owner(conn: &Connection, project: ProjectId, fresh: &Changed) -> Result<(), StoreError> {
    const UPDATE: &str = "
        UPDATE record
        SET author_id = ?3, audience = ?4, checksum = ?5
        WHERE project_id = ?1 AND seq = ?2";
    let Changed { record, checksum } = fresh;
    conn.prepare_cached(UPDATE)?.execute(params![
        project.to_bytes(),
        integer(record.seq.0),
        record.author.to_bytes(),
        AudienceBytes::of(record.audience).as_slice(),
        checksum,
    ])?;
    Ok(())
}

/// Every workspace with drafts of the member gets the heir as an audience instead.
fn move_audience(tx: &mut Tx<'_>, project: ProjectId, from: MemberId, to: Option<MemberId>) -> Result<(), StoreError> {
    for no in list_drafting(tx.conn, project, from)? {
        if let Some(to) = to {
            tx.note_audience(project, no, Audience::Author(to))?;
        }
        tx.drop_audience(project, no, Audience::Author(from))?;
    }
    Ok(())
}

fn list_drafting(conn: &Connection, project: ProjectId, member: MemberId) -> Result<Vec<WorkspaceNo>, StoreError> {
    const SELECT: &str = "SELECT workspace_no FROM workspace_audience WHERE project_id = ?1 AND audience = ?2";
    let audience = AudienceBytes::of(Audience::Author(member));
    let mut statement = conn.prepare_cached(SELECT)?;
    let mut rows = statement.query((project.to_bytes(), audience.as_slice()))?;
    let mut workspaces = Vec::new();
    while let Some(row) = rows.next()? {
        let cells = Cells::new(row, "workspace_audience", || project.to_string());
        workspaces.push(WorkspaceNo(cells.count(0, "workspace_no")?));
    }
    Ok(workspaces)
}

/// Merges what only the member knew about sources into what only the heir knows; of two sightings the later one counts.
/// They get a new position in the log, so that every index notices.
fn move_sources(tx: &mut Tx<'_>, project: ProjectId, from: MemberId, to: Option<MemberId>) -> Result<(), StoreError> {
    const UPSERT: &str = joined_by_newest!(
        "
        INSERT INTO source (project_id, source_id, workspace_no, audience, known_seq, confirmed_seq, handed_seq,
            known_at, confirmed_at, confirmed_by, known_hash, confirmed_hash, moved_to)
        SELECT project_id, source_id, workspace_no, ?3, known_seq, confirmed_seq, ?4, known_at, confirmed_at,
            confirmed_by, known_hash, confirmed_hash, moved_to
        FROM source
        WHERE project_id = ?1 AND audience = ?2"
    );
    const DELETE: &str = "DELETE FROM source WHERE project_id = ?1 AND audience = ?2";
    let old = AudienceBytes::of(Audience::Author(from));
    if let Some(to) = to {
        let new = AudienceBytes::of(Audience::Author(to));
        if knows_sources(tx.conn, project, from)? {
            let seq = tx.take_seq(project)?;
            let values = (project.to_bytes(), old.as_slice(), new.as_slice(), integer(seq.0));
            tx.conn.prepare_cached(UPSERT)?.execute(values)?;
        }
    }
    tx.conn.prepare_cached(DELETE)?.execute((project.to_bytes(), old.as_slice()))?;
    Ok(())
}

fn knows_sources(conn: &Connection, project: ProjectId, member: MemberId) -> Result<bool, StoreError> {
    const SELECT: &str = "SELECT EXISTS (SELECT 1 FROM source WHERE project_id = ?1 AND audience = ?2)";
    let audience = AudienceBytes::of(Audience::Author(member));
    Ok(conn.prepare_cached(SELECT)?.query_row((project.to_bytes(), audience.as_slice()), |row| row.get(0))?)
}

fn drop_idempotency(conn: &Connection, project: ProjectId, member: MemberId) -> Result<(), StoreError> {
    const DELETE: &str = "DELETE FROM idempotency WHERE project_id = ?1 AND member_id = ?2";
    conn.prepare_cached(DELETE)?.execute((project.to_bytes(), member.to_bytes()))?;
    Ok(())
}

fn revoke_keys(conn: &Connection, account: AccountId, member: MemberId, at: Timestamp) -> Result<u64, StoreError> {
    const UPDATE: &str = "
        UPDATE api_key INDEXED BY api_key_project
        SET revoked_at = ?3
        WHERE project_id IN (SELECT id FROM project WHERE account_id = ?1) AND member_id = ?2 AND revoked_at IS NULL";
    let values = (account.to_bytes(), member.to_bytes(), micros(at));
    Ok(conn.prepare_cached(UPDATE)?.execute(values)? as u64)
}
