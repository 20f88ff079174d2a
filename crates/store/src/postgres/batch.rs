//! Stores waiting saves of many projects together, in one transaction and two statements: one locks the projects and asks what
//! the saves would conflict with, one writes. The commit goes out with the second. Where this node was the last to write, it
//! knows what the answer will be, and sends everything at once (`as_known.rs`).
//!
//! No two saves of a batch could meet each other (`line.rs` sees to it), so what each meets can be asked before any is
//! written. The few that meet an earlier record or key, or supersede others, go the long way (`insert.rs`), in the
//! same transaction.

use std::sync::Arc;

use mnemon_core::{ContentHash, ProjectId, WorkspaceNo};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::as_known;
use super::connect::Pool;
use super::error::{Again, Fault};
use super::group::{Facts, Group, Groups};
use super::known_projects::KnownProjects;
use super::new_rows::NewRows;
use super::rows::Cells;
use super::transaction::{Tenant, Tx};
use crate::{Insert, Inserted, StoreError};

/// A save, with the hash that its duplicates have.
pub(super) struct Save {
    pub(super) insert: Insert,
    pub(super) content_hash: ContentHash,
    /// What `account.appearance` must be. Then its author is who it was, and need not be looked up.
    pub(super) appearance: Option<u64>,
}

/// What became of a save; nothing, if its account does not look as it should.
pub(super) type Outcome = Result<Option<Inserted>, StoreError>;

/// Stores all of the saves, or none and says why. The outcomes are in the order of the saves.
pub(super) async fn store(pool: &Arc<Pool>, known: &KnownProjects, saves: &[&Save]) -> Result<Vec<Outcome>, Fault> {
    if saves.is_empty() {
        return Ok(Vec::new());
    }
    let mut groups = group(saves, known);
    let outcomes = match as_known::store(pool, known, saves, &mut groups).await {
        Ok(Some(outcomes)) => outcomes,
        Ok(None) => store_as_found(pool, saves, &mut groups).await?,
        Err(Fault { again: Again::Lost, .. }) => store_again(pool, known, saves, &mut groups).await?,
        Err(fault) => return Err(fault),
    };
    groups.into_values().for_each(|group| group.note(known));
    let lost = || Err(StoreError::Failed("a save was left out of its batch".to_owned()));
    Ok(outcomes.into_iter().map(|outcome| outcome.unwrap_or_else(lost)).collect())
}

/// The saves by project. Projects are locked in the order of their ids, here and on other nodes.
fn group<'a>(saves: &[&'a Save], known: &KnownProjects) -> Groups<'a> {
    let mut groups = Groups::new();
    for (nth, save) in saves.iter().enumerate() {
        let id = save.insert.record.project;
        groups.entry(id).or_insert_with(|| Group::new(id, known.take(id))).saves.push((nth, save));
    }
    groups
}

/// Stores saves that a lost connection may have stored already. The lock waits for whoever still stores them, and a save that
/// finds itself is done (`insert.rs`).
async fn store_again<'a>(
    pool: &Arc<Pool>,
    known: &KnownProjects,
    saves: &[&'a Save],
    groups: &mut Groups<'a>,
) -> Result<Vec<Option<Outcome>>, Fault> {
    *groups = group(saves, known);
    groups.values_mut().for_each(|group| group.is_repeated = true);
    let stored = store_as_found(pool, saves, groups).await;
    // Whatever fails now, the first attempt may have worked.
    stored.map_err(|fault| Fault { again: Again::Lost, ..fault }.while_committing())
}

/// Asks, and writes when the answer is there.
async fn store_as_found<'a>(
    pool: &Arc<Pool>,
    saves: &[&'a Save],
    groups: &mut Groups<'a>,
) -> Result<Vec<Option<Outcome>>, Fault> {
    let projects: Vec<Uuid> = groups.keys().map(|id| id.uuid()).collect();
    let tx = Tx::write(pool, Tenant::saves(&projects)).await?.of_a_call();
    let facts = look(&tx, &projects, saves, groups).await?;
    let mut outcomes: Vec<Option<Outcome>> = saves.iter().map(|_| None).collect();
    let mut rows = NewRows::default();
    for group in groups.values_mut() {
        group.decide(|nth| &facts[nth], &mut rows, &mut outcomes);
    }
    if groups.values().any(Group::meets) {
        tx.flight(std::mem::take(&mut rows).asks()).await?;
        for group in groups.values_mut() {
            group.store_one_by_one(&tx, &mut outcomes).await?;
        }
    }
    groups.values().filter_map(|group| group.locked.as_ref()).for_each(|locked| rows.end(locked));
    tx.finish(rows.asks()).await?;
    Ok(outcomes)
}

/// Locks the projects and reads everything that decides about the saves, by one statement.
async fn look<'a>(
    tx: &Tx,
    projects: &[Uuid],
    saves: &[&'a Save],
    groups: &mut Groups<'a>,
) -> Result<Vec<Facts>, Fault> {
    const LOOK: &str = "SELECT * FROM look_over_saves($1, $2, $3, $4, $5, $6, $7)";
    let records = || saves.iter().map(|save| &save.insert.record);
    let keys = || saves.iter().map(|save| save.insert.idempotency.as_ref());
    let of_projects: Vec<Uuid> = records().map(|record| record.project.uuid()).collect();
    let author = |save: &&Save| save.appearance.is_none().then(|| save.insert.record.author.uuid());
    let authors = unless_none(saves.iter().map(author).collect());
    let workspaces: Vec<&str> = saves.iter().map(|save| save.insert.record.workspace.as_str()).collect();
    let hashes: Vec<&[u8]> = saves.iter().map(|save| save.content_hash.as_bytes().as_slice()).collect();
    let key_members = unless_none(keys().map(|key| key.map(|key| key.member.uuid())).collect());
    let keys = unless_none(keys().map(|key| key.map(|key| key.key.as_str())).collect());
    let values: [&(dyn ToSql + Sync); 7] =
        [&projects, &of_projects, &authors, &workspaces, &hashes, &key_members, &keys];
    let mut facts: Vec<Facts> = saves.iter().map(|_| Facts::default()).collect();
    for row in tx.rows(LOOK, &values).await? {
        read(&row, saves, groups, &mut facts)?;
    }
    Ok(facts)
}

/// A column, or nothing of it where no save has a value there: then nobody asks for it.
fn unless_none<T>(column: Vec<Option<T>>) -> Vec<Option<T>> {
    if column.iter().all(Option::is_none) { Vec::new() } else { column }
}

/// Reads a project that is locked now, or what is known of a save.
fn read<'a>(row: &Row, saves: &[&'a Save], groups: &mut Groups<'a>, facts: &mut [Facts]) -> Result<(), StoreError> {
    let id: ProjectId = Cells::new(row, "project", String::new).id(1, "id")?;
    let cells = Cells::new(row, "project", || id.to_string());
    let Some(group) = groups.get_mut(&id) else { return Err(cells.broken("id")) };
    // SQL counts from one.
    let nth = row.get::<_, Option<i64>>(0).and_then(|nth| usize::try_from(nth - 1).ok());
    let Some(nth) = nth else {
        let is_shown = row.get::<_, Option<i64>>(4).is_some();
        let appearance = is_shown.then(|| cells.count(4, "appearance")).transpose()?;
        group.lock(cells.count(2, "seq")?, cells.count(3, "live_records")?, appearance);
        return Ok(());
    };
    let (Some(save), Some(facts)) = (saves.get(nth), facts.get_mut(nth)) else { return Err(cells.broken("nth")) };
    let has_author = row.get::<_, Option<bool>>(7).unwrap_or_default();
    *facts = Facts { meets: cells.flag(6, "meets")?, has_author };
    if row.get::<_, Option<i64>>(5).is_some() {
        group.workspaces.insert(save.insert.record.workspace.as_str(), WorkspaceNo(cells.count(5, "no")?));
    }
    Ok(())
}
