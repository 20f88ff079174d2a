//! How many forgotten records a project keeps: twice as many as its plan has records. Beyond that the oldest are
//! purged, so that saving and forgetting in turn can't fill the disk.

use std::collections::HashMap;

use mnemon_core::{PlanLimits, ProjectId, Timestamp};
use mnemon_store::PurgedBeyond;
use parking_lot::Mutex;

use crate::Engine;

/// How many projects are remembered.
const PROJECTS_MAX: usize = 10_000;

/// How many records of each project may still be forgotten before somebody has to count again.
#[derive(Debug, Default)]
pub(crate) struct ForgottenRoom(Mutex<HashMap<ProjectId, u64>>);

impl ForgottenRoom {
    /// Whether there was room for `count` more.
    fn take(&self, project: ProjectId, count: u64) -> bool {
        let mut rooms = self.0.lock();
        let Some(left) = rooms.get(&project).and_then(|room| room.checked_sub(count)) else { return false };
        rooms.insert(project, left);
        true
    }

    fn put(&self, project: ProjectId, room: u64) {
        let mut rooms = self.0.lock();
        if rooms.len() >= PROJECTS_MAX {
            rooms.clear();
        }
        rooms.insert(project, room);
    }
}

impl Engine {
    /// Makes sure that a project in which `count` records were just forgotten keeps no more than it may. Answers how
    /// many of the oldest were purged for that. What was forgotten stays forgotten if this fails; the next time makes
    /// up for it.
    pub(crate) async fn purge_beyond(
        &self,
        project: ProjectId,
        limits: &PlanLimits,
        count: usize,
        now: Timestamp,
    ) -> u64 {
        let Some(keep) = limits.forgotten_max().filter(|_| count > 0) else { return 0 };
        if self.forgotten.take(project, count as u64) {
            return 0;
        }
        match self.store.purge_beyond(project, keep, now).await {
            Ok(PurgedBeyond { purged, kept }) => {
                let room = keep.saturating_sub(kept);
                // Other nodes forget too, and count for themselves.
                self.forgotten.put(project, if self.store.is_shared() { room.min(keep / 10) } else { room });
                purged
            }
            Err(error) => {
                tracing::warn!(%error, %project, "could not purge the oldest forgotten records of a project");
                0
            }
        }
    }
}
