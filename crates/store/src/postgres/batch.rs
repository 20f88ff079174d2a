//! Stores waiting saves of many projects together, in one transaction, two round trips and two statements: one locks the
//! projects and asks what the saves would conflict with, one writes. The commit goes out with the second.
//!
//! No two saves of a batch could meet each other (`line.rs` sees to it), so what each meets can be asked before any is
//! written. The few that meet an earlier record or key, or supersede others, go the long way (`insert.rs`), in the
//! same transaction.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use mnemon_core::{ContentHash, ProjectId, WorkspaceNo};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::connect::Pool;
use super::error::{Fault, no_such_project};
use super::insert::insert;
use super::new_rows::NewRows;
use super::project::Locked;
use super::rows::Cells;
use super::transaction::{Tenant, Tx, open_people};
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
pub(super) async fn store(pool: &Arc<Pool>, saves: &[&Save]) -> Result<Vec<Outcome>, Fault> {
    if saves.is_empty() {
        return Ok(Vec::new());
    }
    let mut groups = group(saves);
    let projects: Vec<Uuid> = groups.keys().map(|id| id.uuid()).collect();
    let tx = Tx::write(pool, Tenant::saves(&projects)).await?.of_a_call();
    let facts = look(&tx, &projects, saves, &mut groups).await?;
    let mut outcomes: Vec<Option<Outcome>> = saves.iter().map(|_| None).collect();
    let mut rows = NewRows::default();
    for group in groups.values_mut() {
        group.decide(&facts, &mut rows, &mut outcomes);
    }
    if groups.values().any(|group| !group.meeting.is_empty()) {
        tx.flight(std::mem::take(&mut rows).asks()).await?;
        for group in groups.values_mut() {
            group.store_one_by_one(&tx, &mut outcomes).await?;
        }
    }
    groups.values().filter_map(|group| group.locked.as_ref()).for_each(|locked| rows.end(locked));
    tx.finish(rows.asks()).await?;
    let lost = || Err(StoreError::Failed("a save was left out of its batch".to_owned()));
    Ok(outcomes.into_iter().map(|outcome| outcome.unwrap_or_else(lost)).collect())
}

/// The saves into one project.
struct Group<'a> {
    id: ProjectId,
    saves: Vec<(usize, &'a Save)>,
    /// `None` if there is no such project.
    locked: Option<Locked>,
    appearance: Option<u64>,
    /// The active workspaces, also those that the batch itself brings into being.
    workspaces: HashMap<&'a str, WorkspaceNo>,
    /// Saves that meet an earlier record or key.
    meeting: Vec<(usize, &'a Save)>,
}

/// What decides about a save.
#[derive(Default)]
struct Facts {
    has_author: bool,
    /// Whether it meets an earlier record or key.
    meets: bool,
}

/// The saves by project. Projects are locked in the order of their ids, here and on other nodes.
fn group<'a>(saves: &[&'a Save]) -> BTreeMap<ProjectId, Group<'a>> {
    let mut groups: BTreeMap<ProjectId, Group<'a>> = BTreeMap::new();
    for (nth, save) in saves.iter().enumerate() {
        let id = save.insert.record.project;
        groups.entry(id).or_insert_with(|| Group::new(id)).saves.push((nth, save));
    }
    groups
}

/// Locks the projects and reads everything that decides about the saves, by one statement.
async fn look<'a>(
    tx: &Tx,
    projects: &[Uuid],
    saves: &[&'a Save],
    groups: &mut BTreeMap<ProjectId, Group<'a>>,
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
fn read<'a>(
    row: &Row,
    saves: &[&'a Save],
    groups: &mut BTreeMap<ProjectId, Group<'a>>,
    facts: &mut [Facts],
) -> Result<(), StoreError> {
    let id: ProjectId = Cells::new(row, "project", String::new).id(1, "id")?;
    let cells = Cells::new(row, "project", || id.to_string());
    let Some(group) = groups.get_mut(&id) else { return Err(cells.broken("id")) };
    // SQL counts from one.
    let nth = row.get::<_, Option<i64>>(0).and_then(|nth| usize::try_from(nth - 1).ok());
    let Some(nth) = nth else {
        group.locked = Some(Locked::new(id, cells.count(2, "seq")?, cells.count(3, "live_records")?));
        let is_shown = row.get::<_, Option<i64>>(4).is_some();
        group.appearance = is_shown.then(|| cells.count(4, "appearance")).transpose()?;
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

impl<'a> Group<'a> {
    fn new(id: ProjectId) -> Self {
        let (saves, meeting, workspaces) = (Vec::new(), Vec::new(), HashMap::new());
        Self { id, saves, locked: None, appearance: None, workspaces, meeting }
    }

    /// Decides about every save that meets nothing, and sets the others aside.
    fn decide(&mut self, facts: &[Facts], rows: &mut NewRows<'a>, outcomes: &mut [Option<Outcome>]) {
        for (nth, save) in std::mem::take(&mut self.saves) {
            let Save { insert, content_hash, appearance } = save;
            if appearance.is_some() && *appearance != self.appearance {
                outcomes[nth] = Some(Ok(None));
                continue;
            }
            let Some(locked) = &mut self.locked else {
                outcomes[nth] = Some(Err(no_such_project(self.id)));
                continue;
            };
            if appearance.is_none() && !facts[nth].has_author {
                outcomes[nth] = Some(Err(StoreError::Failed(format!("no member {}", insert.record.author))));
                continue;
            }
            if facts[nth].meets || insert.supersede.is_some() {
                self.meeting.push((nth, save));
                continue;
            }
            if insert.records_max.is_some_and(|max| locked.live_records >= max) {
                outcomes[nth] = Some(Ok(Some(Inserted::LimitReached)));
                continue;
            }
            let name = insert.record.workspace.as_str();
            let workspace = self.workspaces.get(name).copied();
            let (seq, workspace_no) = rows.add(locked, workspace, insert, *content_hash);
            rows.add_key(insert, seq);
            self.workspaces.insert(name, workspace_no);
            outcomes[nth] = Some(Ok(Some(Inserted::New { seq, workspace_no, superseded: Vec::new() })));
        }
    }

    /// Handles the saves that meet an earlier record or key, after what is new was written.
    async fn store_one_by_one(&mut self, tx: &Tx, outcomes: &mut [Option<Outcome>]) -> Result<(), Fault> {
        let Some(locked) = self.locked.as_mut().filter(|_| !self.meeting.is_empty()) else { return Ok(()) };
        let tenant = Tenant::project(self.id);
        tx.flight(vec![tenant.turn(), open_people()]).await?;
        for (nth, save) in std::mem::take(&mut self.meeting) {
            outcomes[nth] = Some(Ok(Some(insert(tx, locked, &save.insert, save.content_hash).await?)));
        }
        Ok(())
    }
}
