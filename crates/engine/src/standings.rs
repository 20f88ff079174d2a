//! Every record of a project that a reader sees, with its status, from the search indexes: they know all that decides
//! it, and follow the log.

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use mnemon_core::{Audience, ProjectId, Scope, Seq, Status, Timestamp, Viewer};
use mnemon_recall::Standing;
use mnemon_store::{StoreError, WorkspaceRow};

use crate::Engine;
use crate::indexes::{Slot, status};

/// How many indexes are brought up to date at a time.
const FOLLOWED_AT_ONCE: usize = 8;

/// A record without its text.
#[derive(Clone, Copy)]
pub(crate) struct Stood<'a> {
    record: Standing<'a>,
    /// By number.
    audiences: &'a [Audience],
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
        status(self.record.holding())
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

impl Engine {
    /// Calls `each` for every active workspace, by name, with the records in it that the viewer sees, in no particular
    /// order.
    pub(crate) async fn each_workspace(
        &self,
        project: ProjectId,
        viewer: &Viewer,
        now: Timestamp,
        mut each: impl FnMut(&WorkspaceRow, &mut dyn Iterator<Item = Stood<'_>>),
    ) -> Result<Vec<WorkspaceRow>, StoreError> {
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
            slot.stand(viewer, now, |records| each(&row, records));
            seen.push(row);
        }
        Ok(seen)
    }
}

impl Slot {
    fn stand(&self, viewer: &Viewer, now: Timestamp, take: impl FnOnce(&mut dyn Iterator<Item = Stood<'_>>)) {
        self.read(|index, audiences| {
            let visible: Vec<bool> = audiences.iter().map(|audience| viewer.sees(audience)).collect();
            let standings = index.standings(&visible, now.as_microsecond());
            let mut records = standings.records().map(|record| Stood { record, audiences });
            take(&mut records);
        });
    }
}
