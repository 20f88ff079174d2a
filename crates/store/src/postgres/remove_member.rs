//! How a member leaves: in one transaction its keys are revoked, its session histories deleted, and its records handed
//! over to an heir.

use std::sync::Arc;

use mnemon_core::{AccountId, Audience, MemberId, ProjectId, Seq, Timestamp};
use tokio_postgres::Row;
use uuid::Uuid;

use super::account_version::bump_account_version;
use super::audit::insert_audit;
use super::bodies::{BY_SEQ, read_stored};
use super::connect::Pool;
use super::error::Fault;
use super::project::{self, Locked, lock_account};
use super::projects::list_in_lock_order;
use super::rows::{AudienceBytes, Cells, integer, micros, places};
use super::sessions::drop_sessions;
use super::sources::joined_by_newest;
use super::transaction::{Tenant, Tx, ask};
use crate::interface::stored::Changed;
use crate::{AuditEntry, MemberDeleted, StoreError};

/// How many records one statement hands over.
const PIECE: usize = 500;

/// A locked project, and the positions of the member's records in it.
struct Owned {
    project: Locked,
    seqs: Vec<Seq>,
}

pub(super) async fn delete_member(
    pool: &Arc<Pool>,
    account: AccountId,
    id: MemberId,
    heir: Option<MemberId>,
    audit: &AuditEntry,
) -> Result<MemberDeleted, Fault> {
    const DELETE: &str = "DELETE FROM member WHERE account_id = $1 AND id = $2";
    let tx = Tx::write(pool, Tenant::account(account)).await?;
    lock_account(&tx, account).await?;
    let is_heir_absent = match heir {
        Some(heir) => heir == id || !has_member(&tx, account, heir).await?,
        None => false,
    };
    if is_heir_absent || !has_member(&tx, account, id).await? {
        return Ok(MemberDeleted::Absent);
    }
    let mut owned = Vec::new();
    for project in list_in_lock_order(&tx, account).await? {
        owned.extend(list_owned(&tx, account, project, id).await?);
    }
    let records = owned.iter().map(|owned| owned.seqs.len() as u64).sum();
    if heir.is_none() && records > 0 {
        return Ok(MemberDeleted::NeedsHeir { records });
    }
    for Owned { project, seqs } in &mut owned {
        let tenant = Tenant::project_of(project.id, account);
        tx.ask_all(vec![tenant.turn()]).await?;
        if let Some(heir) = heir {
            hand_over(&tx, project, seqs, id, heir, audit.at).await?;
        }
        move_audience(&tx, project.id, id, heir).await?;
        move_sources(&tx, project, id, heir).await?;
        drop_idempotency(&tx, project.id, id).await?;
        drop_sessions(&tx, project.id, id).await?;
        tx.ask_all(vec![project.flush()]).await?;
    }
    let keys = revoke_keys(&tx, account, id, audit.at).await?;
    tx.rows(DELETE, &[&account.uuid(), &id.uuid()]).await?;
    bump_account_version(&tx, account).await?;
    insert_audit(&tx, audit, records).await?;
    tx.commit().await?;
    Ok(MemberDeleted::Done { keys, records })
}

async fn has_member(tx: &Tx, account: AccountId, id: MemberId) -> Result<bool, Fault> {
    const SELECT: &str = "SELECT 1 FROM member WHERE account_id = $1 AND id = $2";
    Ok(tx.row(SELECT, &[&account.uuid(), &id.uuid()]).await?.is_some())
}

/// Locks a project, unless it was deleted meanwhile, and finds the member's records in it that can still be read or
/// restored. Scans the whole project: an index by author would slow every save, and members leave rarely.
async fn list_owned(tx: &Tx, account: AccountId, project: ProjectId, member: MemberId) -> Result<Option<Owned>, Fault> {
    const SELECT: &str = "
        SELECT r.seq
        FROM record r
        WHERE r.project_id = $1 AND (r.author_id = $2 OR r.audience = $3)
        ORDER BY r.seq";
    let tenant = Tenant::project_of(project, account);
    let audience = AudienceBytes::of(Audience::Author(member));
    let (id, member, audience) = (project.uuid(), member.uuid(), audience.as_slice());
    let asks = vec![tenant.turn(), ask(project::LOCK, &[&id]), ask(SELECT, &[&id, &member, &audience])];
    let answers = tx.ask_all(asks).await?;
    let [_, locked, rows] = answers.as_slice() else { return Ok(None) };
    let Some(locked) = project::read(locked.first(), project)? else { return Ok(None) };
    let read = |row| Ok(Seq(Cells::new(row, "record", || project.to_string()).count(0, "seq")?));
    let seqs = rows.iter().map(read).collect::<Result<_, StoreError>>()?;
    Ok(Some(Owned { project: locked, seqs }))
}

async fn hand_over(
    tx: &Tx,
    project: &mut Locked,
    seqs: &[Seq],
    from: MemberId,
    to: MemberId,
    at: Timestamp,
) -> Result<(), Fault> {
    const EMBEDDINGS: &str = "SELECT seq, embedding FROM record WHERE project_id = $1 AND seq = ANY($2) ORDER BY seq";
    for piece in seqs.chunks(PIECE) {
        let (id, piece) = (project.id.uuid(), places(piece));
        let answers = tx.ask_all(vec![ask(BY_SEQ, &[&id, &piece]), ask(EMBEDDINGS, &[&id, &piece])]).await?;
        let [bodies, embeddings] = answers.as_slice() else { return Err(Fault::away("PostgreSQL left an answer out")) };
        let mut stored =
            bodies.iter().map(|row| read_stored(row, project.id)).collect::<Result<Vec<_>, StoreError>>()?;
        stored.sort_unstable_by_key(|stored| stored.record.seq);
        let (mut fresh, mut drafts) = (Vec::with_capacity(stored.len()), Vec::new());
        for (stored, row) in stored.iter().zip(embeddings) {
            let changed =
                stored.handed_over(project.id, from, to, read_embedding(row, project.id, stored.record.seq)?)?;
            if changed.record.audience != stored.record.audience {
                drafts.push((changed.record.workspace_no, Some(changed.record.seq)));
            }
            fresh.push(changed);
        }
        update_owners(tx, project.id, &fresh).await?;
        if !drafts.is_empty() {
            project.insert_changes(tx, &drafts, "visibility", at).await?;
        }
    }
    Ok(())
}

/// Reads a row of seq and embedding, which must be the row of this record.
fn read_embedding(row: &Row, project: ProjectId, seq: Seq) -> Result<&[u8], StoreError> {
    let cells = Cells::new(row, "record", || format!("{project}/{seq}"));
    if cells.count(0, "seq")? == seq.0 { cells.blob(1, "embedding") } else { Err(cells.broken("seq")) }
}

async fn update_owners(tx: &Tx, project: ProjectId, fresh: &[Changed]) -> Result<(), Fault> {
    const UPDATE: &str = "
        UPDATE record r
        SET author_id = g.author_id, audience = g.audience, checksum = g.checksum
        FROM unnest($2::bigint[], $3::uuid[], $4::bytea[], $5::bigint[]) AS g (seq, author_id, audience, checksum)
        WHERE r.project_id = $1 AND r.seq = g.seq";
    let seqs: Vec<i64> = fresh.iter().map(|fresh| integer(fresh.record.seq.0)).collect();
    let authors: Vec<Uuid> = fresh.iter().map(|fresh| fresh.record.author.uuid()).collect();
    let audiences: Vec<AudienceBytes> = fresh.iter().map(|fresh| AudienceBytes::of(fresh.record.audience)).collect();
    let audiences: Vec<&[u8]> = audiences.iter().map(AudienceBytes::as_slice).collect();
    let checksums: Vec<i64> = fresh.iter().map(|fresh| fresh.checksum).collect();
    tx.rows(UPDATE, &[&project.uuid(), &seqs, &authors, &audiences, &checksums]).await?;
    Ok(())
}

/// Every workspace with drafts of the member gets the heir as an audience instead.
async fn move_audience(tx: &Tx, project: ProjectId, from: MemberId, to: Option<MemberId>) -> Result<(), Fault> {
    const INSERT: &str = "
        INSERT INTO workspace_audience (project_id, workspace_no, audience)
        SELECT project_id, workspace_no, $3
        FROM workspace_audience
        WHERE project_id = $1 AND audience = $2
        ON CONFLICT DO NOTHING";
    const DELETE: &str = "DELETE FROM workspace_audience WHERE project_id = $1 AND audience = $2";
    let old = AudienceBytes::of(Audience::Author(from));
    let (project, old) = (project.uuid(), old.as_slice());
    if let Some(to) = to {
        let new = AudienceBytes::of(Audience::Author(to));
        tx.rows(INSERT, &[&project, &old, &new.as_slice()]).await?;
    }
    tx.rows(DELETE, &[&project, &old]).await?;
    Ok(())
}

/// Merges what only the member knew about sources into what only the heir knows; of two sightings the later one counts.
/// They get a new position in the log, so that every index notices.
async fn move_sources(tx: &Tx, project: &mut Locked, from: MemberId, to: Option<MemberId>) -> Result<(), Fault> {
    const KNOWS: &str = "SELECT 1 FROM source WHERE project_id = $1 AND audience = $2 LIMIT 1";
    const UPSERT: &str = joined_by_newest!(
        "
        INSERT INTO source (project_id, source_id, workspace_no, audience, known_seq, confirmed_seq, handed_seq,
            known_at, confirmed_at, confirmed_by, known_hash, confirmed_hash, moved_to)
        SELECT project_id, source_id, workspace_no, $3, known_seq, confirmed_seq, $4, known_at, confirmed_at,
            confirmed_by, known_hash, confirmed_hash, moved_to
        FROM source
        WHERE project_id = $1 AND audience = $2"
    );
    const DELETE: &str = "DELETE FROM source WHERE project_id = $1 AND audience = $2";
    let old = AudienceBytes::of(Audience::Author(from));
    let (id, old) = (project.id.uuid(), old.as_slice());
    if let Some(to) = to
        && tx.row(KNOWS, &[&id, &old]).await?.is_some()
    {
        let (new, seq) = (AudienceBytes::of(Audience::Author(to)), integer(project.take_seq().0));
        tx.rows(UPSERT, &[&id, &old, &new.as_slice(), &seq]).await?;
    }
    tx.rows(DELETE, &[&id, &old]).await?;
    Ok(())
}

async fn drop_idempotency(tx: &Tx, project: ProjectId, member: MemberId) -> Result<(), Fault> {
    const DELETE: &str = "DELETE FROM idempotency WHERE project_id = $1 AND member_id = $2";
    tx.rows(DELETE, &[&project.uuid(), &member.uuid()]).await?;
    Ok(())
}

async fn revoke_keys(tx: &Tx, account: AccountId, member: MemberId, at: Timestamp) -> Result<u64, Fault> {
    const UPDATE: &str = "
        UPDATE api_key
        SET revoked_at = $3
        WHERE account_id = $1 AND member_id = $2 AND revoked_at IS NULL
        RETURNING 1";
    tx.count(UPDATE, &[&account.uuid(), &member.uuid(), &micros(at)]).await
}
