//! Locks the projects of a batch and reads everything that decides about its saves, by one statement.

use mnemon_core::{ProjectId, Seq, WorkspaceNo};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::error::Fault;
use super::project::Locked;
use super::rows::{AudienceBytes, Cells, micros};
use super::save::{Lock, Save};
use super::transaction::Tx;
use crate::StoreError;
use crate::interface::records::EarlierUse;

/// What was found.
pub(super) struct LookedOver {
    /// The projects that are locked now.
    pub(super) projects: Vec<Locked>,
    /// In the order of the saves.
    pub(super) facts: Vec<Facts>,
}

/// What decides about one save. All empty if its project is not locked.
#[derive(Default)]
pub(super) struct Facts {
    pub(super) has_author: bool,
    /// The active workspace of its name.
    pub(super) workspace: Option<WorkspaceNo>,
    /// How many workspaces are active; not counted if its own is one of them.
    pub(super) workspaces: u64,
    /// The oldest live record that it would only repeat.
    pub(super) duplicate: Option<Seq>,
    /// Where the save itself is, if an earlier attempt has stored it.
    pub(super) itself: Option<(Seq, WorkspaceNo)>,
    /// The use of its idempotency key that still counts.
    pub(super) earlier: Option<EarlierUse>,
}

/// `may_be_stored`: whether an earlier attempt may have stored the saves.
pub(super) async fn look_over(
    tx: &Tx,
    projects: &[Uuid],
    saves: &[&Save],
    lock: Lock,
    may_be_stored: bool,
) -> Result<LookedOver, Fault> {
    const LOOK: &str = "SELECT * FROM look_over_saves($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)";
    let records = || saves.iter().map(|save| &save.insert.record);
    let keys = || saves.iter().map(|save| save.insert.idempotency.as_ref());
    let of_projects: Vec<Uuid> = records().map(|record| record.project.uuid()).collect();
    let ids: Vec<Uuid> = records().filter(|_| may_be_stored).map(|record| record.id.uuid()).collect();
    let authors: Vec<Uuid> = records().map(|record| record.author.uuid()).collect();
    let workspaces: Vec<&str> = records().map(|record| record.workspace.as_str()).collect();
    let hashes: Vec<&[u8]> = saves.iter().map(|save| save.content_hash.as_bytes().as_slice()).collect();
    let audiences: Vec<AudienceBytes> = records().map(|record| AudienceBytes::of(record.audience)).collect();
    let audiences: Vec<&[u8]> = audiences.iter().map(AudienceBytes::as_slice).collect();
    let sources: Vec<Option<&str>> = records().map(|record| record.fact.source.as_deref()).collect();
    let source_ids: Vec<Option<&str>> = records().map(|record| record.fact.source_id.as_deref()).collect();
    let key_members: Vec<Option<Uuid>> = keys().map(|key| key.map(|key| key.member.uuid())).collect();
    let key_texts: Vec<Option<&str>> = keys().map(|key| key.map(|key| key.key.as_str())).collect();
    let valid_since: Vec<Option<i64>> = keys().map(|key| key.map(|key| micros(key.valid_since))).collect();
    let values: [&(dyn ToSql + Sync); 13] = [
        &projects,
        &(lock == Lock::Wait),
        &of_projects,
        &ids,
        &authors,
        &workspaces,
        &hashes,
        &audiences,
        &sources,
        &source_ids,
        &key_members,
        &key_texts,
        &valid_since,
    ];
    let facts = saves.iter().map(|_| Facts::default()).collect();
    let mut looked = LookedOver { projects: Vec::new(), facts };
    for row in tx.rows(LOOK, &values).await? {
        looked.read(&row, saves)?;
    }
    Ok(looked)
}

impl LookedOver {
    /// Reads a project that is locked now, or what was found about a save.
    fn read(&mut self, row: &Row, saves: &[&Save]) -> Result<(), StoreError> {
        let id: ProjectId = Cells::new(row, "project", String::new).id(1, "id")?;
        let cells = Cells::new(row, "project", || id.to_string());
        let Some(nth) = row.get::<_, Option<i64>>(0) else {
            self.projects.push(Locked::new(id, cells.count(2, "seq")?, cells.count(3, "live_records")?));
            return Ok(());
        };
        // SQL counts from one.
        let nth = usize::try_from(nth - 1).unwrap_or(usize::MAX);
        let (Some(save), Some(facts)) = (saves.get(nth), self.facts.get_mut(nth)) else {
            return Err(cells.broken("nth"));
        };
        let count = |at: usize, column| {
            let is_there = row.get::<_, Option<i64>>(at).is_some();
            is_there.then(|| cells.count(at, column)).transpose()
        };
        let itself = count(8, "seq")?.zip(count(9, "workspace_no")?);
        let earlier = match &save.insert.idempotency {
            Some(key) if row.get::<_, Option<i64>>(11).is_some() => Some(EarlierUse::read(row, 10, id, key)?),
            _ => None,
        };
        *facts = Facts {
            has_author: cells.flag(4, "has_author")?,
            workspace: count(5, "no")?.map(WorkspaceNo),
            workspaces: cells.count(6, "workspaces")?,
            duplicate: count(7, "duplicate")?.map(Seq),
            itself: itself.map(|(seq, no)| (Seq(seq), WorkspaceNo(no))),
            earlier,
        };
        Ok(())
    }
}
