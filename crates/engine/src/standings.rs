//! Every record of a project that a reader sees, with its status. The search indexes know each record's source, hash,
//! key and end, and follow the log; storage adds which sources were confirmed, because confirming what is known takes
//! no place there.

use std::cell::Cell;
use std::collections::HashMap;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use mnemon_core::{Audience, ProjectId, Scope, Seq, Status, Timestamp, Viewer, WorkspaceNo, confirms_hash};
use mnemon_recall::{Standing, WorkspaceIndex};
use mnemon_store::{Confirmation, StoreError, WorkspaceRow};

use crate::Engine;
use crate::indexes::Slot;

/// How many indexes are brought up to date at a time.
const FOLLOWED_AT_ONCE: usize = 8;

/// A record without its text.
#[derive(Clone, Copy)]
pub(crate) struct Stood<'a> {
    record: Standing<'a>,
    /// By number.
    audiences: &'a [Audience],
    confirmed: &'a Confirmed<'a>,
}

impl<'a> Stood<'a> {
    pub(crate) fn seq(&self) -> Seq {
        Seq(self.record.seq())
    }

    /// Whether its status is that it is stale, which takes the least to tell.
    pub(crate) fn is_stale(&self) -> bool {
        self.record.is_stale()
    }

    pub(crate) fn status(&self) -> Status {
        match self.record {
            record if record.is_stale() => Status::Stale,
            record if record.is_disputed() => Status::Conflict,
            record if self.confirmed.holds(record) => Status::Verified,
            _ => Status::Unverified,
        }
    }

    /// The number of its source among those of its workspace.
    pub(crate) fn source_no(&self) -> Option<u32> {
        self.record.source_no()
    }

    pub(crate) fn source_id(&self) -> Option<&'a str> {
        self.record.source_id()
    }

    /// The number of its hash among those of its workspace.
    pub(crate) fn source_hash_no(&self) -> Option<u32> {
        self.record.source_hash_no()
    }

    pub(crate) fn source_hash(&self) -> Option<&'a str> {
        self.record.source_hash()
    }

    pub(crate) fn fact_key(&self) -> Option<&'a str> {
        self.record.fact_key()
    }

    pub(crate) fn saved_at(&self) -> Timestamp {
        Timestamp::from_second(i64::from(self.record.updated_at())).unwrap_or(Timestamp::MIN)
    }

    pub(crate) fn scope(&self) -> Scope {
        self.audiences[self.record.audience().0 as usize].scope()
    }
}

/// What every audience knows to be confirmed of a project's sources.
pub(crate) struct Confirmations(Vec<Confirmation>);

/// The latest of a workspace, by source.
pub(crate) type BySource<'a> = HashMap<&'a str, &'a Confirmation>;

impl Confirmations {
    /// For questions to which verified and unverified records are the same.
    pub(crate) const fn unknown() -> Self {
        Self(Vec::new())
    }

    /// The latest of each source that the viewer knows, by workspace.
    pub(crate) fn visible_to(&self, viewer: &Viewer) -> HashMap<WorkspaceNo, BySource<'_>> {
        let mut visible: HashMap<WorkspaceNo, BySource<'_>> = HashMap::new();
        for own in self.0.iter().filter(|own| viewer.sees(&own.audience)) {
            let latest = visible.entry(own.workspace_no).or_default().entry(&own.source_id).or_insert(own);
            if own.seq > latest.seq {
                *latest = own;
            }
        }
        visible
    }
}

/// The confirmed hashes of a workspace's sources, by number of source.
struct Confirmed<'a>(Vec<Option<ConfirmedHash<'a>>>);

#[derive(Clone)]
struct ConfirmedHash<'a> {
    hash: &'a str,
    /// The number of the hash that was last compared, and whether it is this one. The records of a source have few
    /// hashes, and numbers are compared in a tenth of the time.
    compared: Cell<Option<(u32, bool)>>,
}

impl<'a> Confirmed<'a> {
    fn of(index: &WorkspaceIndex, confirmed: &BySource<'a>) -> Self {
        let mut by_source = Vec::new();
        for Confirmation { source_id, hash, .. } in confirmed.values() {
            let Some(source) = index.source_no(source_id).map(|source| source as usize) else { continue };
            by_source.resize(by_source.len().max(source + 1), None);
            by_source[source] = Some(ConfirmedHash { hash, compared: Cell::new(None) });
        }
        Self(by_source)
    }

    fn holds(&self, record: Standing<'_>) -> bool {
        let known = record.source_no().and_then(|source| self.0.get(source as usize)?.as_ref());
        let (Some(known), Some(number)) = (known, record.source_hash_no()) else { return false };
        if let Some((compared, holds)) = known.compared.get()
            && compared == number
        {
            return holds;
        }
        let holds = record.source_hash().is_some_and(|own| confirms_hash(known.hash, own));
        known.compared.set(Some((number, holds)));
        holds
    }
}

impl Engine {
    pub(crate) async fn confirmations(&self, project: ProjectId) -> Result<Confirmations, StoreError> {
        Ok(Confirmations(self.store.list_confirmations(project).await?))
    }

    /// Calls `each` for every active workspace, by name, with the records in it that the viewer sees, in no particular
    /// order. The confirmations have to be read before: an index that is newer than they are says at most that a
    /// record is stale by now.
    pub(crate) async fn each_workspace(
        &self,
        project: ProjectId,
        viewer: &Viewer,
        now: Timestamp,
        confirmations: &Confirmations,
        mut each: impl FnMut(&WorkspaceRow, &mut dyn Iterator<Item = Stood<'_>>),
    ) -> Result<Vec<WorkspaceRow>, StoreError> {
        let mut confirmed = confirmations.visible_to(viewer);
        let seq = self.store.last_seq(project).await?.unwrap_or_default();
        let rows = self.store.list_workspaces(project).await?;
        let followed = async |row: WorkspaceRow| {
            let slot = self.indexes.current(project, &row.name, seq).await?;
            Ok::<_, StoreError>((row, slot))
        };
        // One after the other, so that the indexes of a large project need not be in memory together.
        let mut indexes = stream::iter(rows).map(followed).buffered(FOLLOWED_AT_ONCE);
        let mut seen = Vec::new();
        while let Some((row, slot)) = indexes.try_next().await? {
            // Gone since the list was read.
            let Some(slot) = slot else { continue };
            let confirmed = confirmed.remove(&row.no).unwrap_or_default();
            slot.stand(viewer, now, &confirmed, |records| each(&row, records));
            seen.push(row);
        }
        Ok(seen)
    }
}

impl Slot {
    fn stand(
        &self,
        viewer: &Viewer,
        now: Timestamp,
        confirmed: &BySource<'_>,
        take: impl FnOnce(&mut dyn Iterator<Item = Stood<'_>>),
    ) {
        self.read(|index, audiences| {
            let visible: Vec<bool> = audiences.iter().map(|audience| viewer.sees(audience)).collect();
            let (confirmed, standings) =
                (Confirmed::of(index, confirmed), index.standings(&visible, now.as_microsecond()));
            let mut records = standings.records().map(|record| Stood { record, audiences, confirmed: &confirmed });
            take(&mut records);
        });
    }
}
