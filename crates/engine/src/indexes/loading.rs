//! How an index comes back: from its snapshot, if there is one that can be trusted, else from the log.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use mnemon_core::{ProjectId, Seq, WorkspaceNo};
use mnemon_recall::{Model, WorkspaceIndex};
use mnemon_store::{KeptImage, Snapshot, StoreError, Workspace};
use parking_lot::Mutex;

use super::{Indexes, Key, Slot};
use crate::snapshots;

/// Snapshots that are damaged, as was found out after their first use.
pub(super) type Refused = Arc<Mutex<HashSet<(ProjectId, WorkspaceNo, Seq)>>>;

impl Indexes {
    /// Loads an index for a workspace.
    pub(super) async fn adopt(
        &self,
        key: &Key,
        workspace: Workspace,
        epoch: u64,
        seq: Seq,
    ) -> Result<Arc<Slot>, StoreError> {
        let mut slot = Slot::new(workspace, self.model, epoch, &self.bodies, self.clock.now());
        if let Some(snapshot) = self.find_snapshot(key.0, slot.workspace, seq).await? {
            slot = self.start_from(key.0, slot, snapshot).await?;
        }
        let is_from_log = *slot.applied.get_mut() == 0;
        if is_from_log { &self.counts.loads_from_log } else { &self.counts.loads_from_snapshot }.add(1);
        let slot = Arc::clone(self.held.lock().slots.get_or_insert(key.clone(), || Arc::new(slot)));
        // One that needs nothing of the log is not counted by following it.
        self.recount(key, &slot);
        Ok(slot)
    }

    async fn find_snapshot(
        &self,
        project: ProjectId,
        workspace: WorkspaceNo,
        seq: Seq,
    ) -> Result<Option<Snapshot<KeptImage>>, StoreError> {
        let Some(snapshot) = self.store.find_snapshot_at_least(project, workspace, seq).await? else { return Ok(None) };
        // A snapshot that is ahead of the log belongs to another history, for example to one before a backup was
        // restored.
        let is_of_this_log = self.store.last_seq(project).await?.is_some_and(|last| snapshot.seq <= last);
        let is_refused = self.refused.lock().contains(&(project, workspace, snapshot.seq));
        Ok(Some(snapshot).filter(|_| is_of_this_log && !is_refused))
    }

    /// Loads a snapshot on a thread of its own: a large one takes a tenth of a second.
    async fn start_from(
        &self,
        project: ProjectId,
        mut slot: Slot,
        snapshot: Snapshot<KeptImage>,
    ) -> Result<Slot, StoreError> {
        let (model, refused) = (self.model, Arc::clone(&self.refused));
        let load = move || {
            if slot.start_from(&snapshot, model) {
                slot.check_later(project, snapshot, model, refused);
            }
            slot
        };
        let loaded = tokio::task::spawn_blocking(load).await;
        loaded.map_err(|error| StoreError::Failed(format!("loading a snapshot ended early: {error}")))
    }
}

impl Slot {
    /// Loads a snapshot, if it can be read.
    fn start_from(&mut self, snapshot: &Snapshot<KeptImage>, model: &'static Model) -> bool {
        let Some((audiences, index)) = snapshots::read(&snapshot.image, model) else {
            // A file that is cut while it is mapped ends the process, so the next start is the first chance to report
            // it.
            tracing::warn!(
                "could not read a snapshot; building the index from the log instead. If the service ended with SIGBUS before, \
                 the snapshot was cut while it was in use"
            );
            return false;
        };
        let state = self.state.get_mut();
        state.index = index;
        for audience in audiences {
            state.audiences.number(audience);
        }
        *self.applied.get_mut() = snapshot.seq.0;
        *self.snapshot.get_mut() = snapshot.seq.0;
        true
    }

    /// Checks what was taken on trust, while the index already answers. Half of a large snapshot are vectors: a wrong
    /// one makes an answer a little worse, and reading them all would make the first answer wait.
    fn check_later(&self, project: ProjectId, snapshot: Snapshot<KeptImage>, model: &'static Model, refused: Refused) {
        let Snapshot { workspace, seq, image: KeptImage::File(file) } = snapshot else { return };
        let is_doubted = Arc::clone(&self.is_doubted);
        tokio::task::spawn_blocking(move || {
            if !WorkspaceIndex::is_sound_file(model, &file) {
                tracing::warn!("a snapshot is damaged; building the index from the log instead");
                refused.lock().insert((project, workspace, seq));
                is_doubted.store(true, Ordering::Release);
            }
        });
    }
}
