//! How a member leaves: in one transaction its keys are revoked, its session histories deleted, and its records handed
//! over to an heir.

use mnemon_core::{AccountId, Audience, MemberId, ProjectId, Seq, Timestamp};

use super::audit::{bump_account_version, insert_audit};
use super::deletions::{list_in_lock_order, lock_account};
use super::log::{changes, take_places};
use super::observing;
use super::stored::{Stored, load_stored};
use super::{AuditEntry, MemberDeleted};
use crate::StoreError;
use crate::rows::Cells;
use crate::statement::{Cell, Touches, Transaction, Values, statement};
use crate::tenant::Tenant;

/// How many records are handed over at a time.
const PIECE: usize = 500;

pub(crate) async fn delete_member<T: Transaction>(
    tx: &mut T,
    account: AccountId,
    id: MemberId,
    heir: Option<MemberId>,
    audit: &AuditEntry,
) -> Result<MemberDeleted, T::Error> {
    const DELETE: &str = "DELETE FROM member WHERE account_id = $1 AND id = $2";
    const REVOKE_KEYS: &str = "
        UPDATE api_key
        SET revoked_at = $3
        WHERE account_id = $1 AND member_id = $2 AND revoked_at IS NULL
        RETURNING 1";
    lock_account(tx, account).await?;
    let is_heir_absent = match heir {
        Some(heir) => heir == id || !has_member(tx, account, heir).await?,
        None => false,
    };
    if is_heir_absent || !has_member(tx, account, id).await? {
        return Ok(MemberDeleted::Absent);
    }
    let mut owned = Vec::new();
    for project in list_in_lock_order(tx, account).await? {
        owned.extend(lock_owned(tx, account, project, id).await?);
    }
    let records = owned.iter().map(|(_, seqs)| seqs.len() as u64).sum();
    if heir.is_none() && records > 0 {
        return Ok(MemberDeleted::NeedsHeir { records });
    }
    for (project, seqs) in owned {
        tx.turn(Tenant::project_of(project, account)).await?;
        if let Some(heir) = heir {
            hand_over(tx, project, &seqs, id, heir, audit.at).await?;
        }
        move_audience(tx, project, id, heir).await?;
        observing::hand_over(tx, project, id, heir).await?;
        drop_possessions(tx, project, id).await?;
        tx.renew(project)?;
    }
    let keys = tx.run(statement!(REVOKE_KEYS, account, id, audit.at)).await?.len() as u64;
    tx.put(statement!(DELETE, account, id)).await?;
    tx.put(bump_account_version(account)).await?;
    tx.touch(Touches::Shown);
    tx.put(insert_audit(audit, records)).await?;
    Ok(MemberDeleted::Done { keys, records })
}

async fn has_member<T: Transaction>(tx: &mut T, account: AccountId, id: MemberId) -> Result<bool, T::Error> {
    const SELECT: &str = "SELECT 1 FROM member WHERE account_id = $1 AND id = $2";
    Ok(!tx.run(statement!(SELECT, account, id)).await?.is_empty())
}

/// Locks a project, unless it was deleted meanwhile, and finds the member's records in it that can still be read or
/// restored. Scans the whole project: an index by author would slow every save, and members leave rarely.
async fn lock_owned<T: Transaction>(
    tx: &mut T,
    account: AccountId,
    project: ProjectId,
    member: MemberId,
) -> Result<Option<(ProjectId, Vec<Seq>)>, T::Error> {
    const SELECT: &str = "
        SELECT r.seq
        FROM record r
        WHERE r.project_id = $1 AND (r.author_id = $2 OR r.audience = $3)
        ORDER BY r.seq";
    tx.turn(Tenant::project_of(project, account)).await?;
    let select = statement!(SELECT, project, member, Audience::Author(member));
    let Some(answers) = tx.lock(project, vec![select]).await? else { return Ok(None) };
    let read = |row: &Values| Cells::new(row, "record", || project.to_string()).count(0, "seq").map(Seq);
    Ok(Some((project, answers.iter().flatten().map(read).collect::<Result<_, _>>()?)))
}

async fn hand_over<T: Transaction>(
    tx: &mut T,
    project: ProjectId,
    seqs: &[Seq],
    from: MemberId,
    to: MemberId,
    at: Timestamp,
) -> Result<(), T::Error> {
    const EMBEDDINGS: &str = "SELECT seq, embedding FROM record WHERE project_id = $1 AND seq = ANY($2) ORDER BY seq";
    const UPDATE: &str = "
        UPDATE record
        SET author_id = $3, audience = $4, checksum = $5
        WHERE project_id = $1 AND seq = $2";
    for piece in seqs.chunks(PIECE) {
        let stored = load_stored(tx, project, piece).await?;
        let embeddings = tx.run(statement!(EMBEDDINGS, project, Cell::list(piece.iter().copied()))).await?;
        let mut drafts = Vec::new();
        for (stored, row) in stored.iter().zip(&embeddings) {
            let fresh = stored.handed_over(project, from, to, read_embedding(row, project, stored)?)?;
            if fresh.record.audience != stored.record.audience {
                drafts.push(fresh.record.seq);
            }
            let (record, checksum) = (fresh.record, fresh.checksum);
            tx.put(statement!(UPDATE, project, record.seq, record.author, record.audience, checksum)).await?;
        }
        if let Some(first) = take_places(tx, project, drafts.len())? {
            tx.put(changes(project, first, "visibility", &drafts, at)).await?;
        }
    }
    Ok(())
}

/// Reads a row of seq and embedding, which must be the row of this record.
fn read_embedding<'a>(row: &'a Values, project: ProjectId, stored: &Stored) -> Result<&'a [u8], StoreError> {
    let seq = stored.record.seq;
    let cells = Cells::new(row, "record", || format!("{project}/{seq}"));
    if cells.count(0, "seq")? == seq.0 { cells.blob(1, "embedding") } else { Err(cells.broken("seq")) }
}

/// Every workspace with drafts of the member gets the heir as an audience instead.
async fn move_audience<T: Transaction>(
    tx: &mut T,
    project: ProjectId,
    from: MemberId,
    to: Option<MemberId>,
) -> Result<(), T::Error> {
    const INSERT: &str = "
        INSERT INTO workspace_audience (project_id, workspace_no, audience)
        SELECT project_id, workspace_no, $3
        FROM workspace_audience
        WHERE project_id = $1 AND audience = $2
        ON CONFLICT DO NOTHING";
    const DELETE: &str = "DELETE FROM workspace_audience WHERE project_id = $1 AND audience = $2";
    let old = Audience::Author(from);
    if let Some(to) = to {
        tx.put(statement!(INSERT, project, old, Audience::Author(to))).await?;
    }
    tx.put(statement!(DELETE, project, old)).await
}

/// Drops what only the member could use: its session histories, and its idempotency keys.
async fn drop_possessions<T: Transaction>(tx: &mut T, project: ProjectId, member: MemberId) -> Result<(), T::Error> {
    const IDEMPOTENCY: &str = "DELETE FROM idempotency WHERE project_id = $1 AND member_id = $2";
    const PARTS: &str = "
        DELETE FROM session_part
        WHERE project_id = $1 AND session_id IN (
            SELECT id
            FROM session /* INDEXED BY session_name */
            WHERE project_id = $1 AND member_id = $2)";
    const SESSIONS: &str = "DELETE FROM session WHERE project_id = $1 AND member_id = $2 RETURNING 1";
    tx.put(statement!(IDEMPOTENCY, project, member)).await?;
    tx.put(statement!(PARTS, project, member)).await?;
    if !tx.run(statement!(SESSIONS, project, member)).await?.is_empty() {
        tx.touch(Touches::Purged);
    }
    Ok(())
}
