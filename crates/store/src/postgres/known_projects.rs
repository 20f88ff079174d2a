//! What a node knows of the projects that it saves into, from its own last flight. It is never believed as it is: before
//! anything is written, the server checks all of it with the projects locked (`batch.rs`).

use std::collections::HashMap;

use mnemon_core::{ProjectId, WorkspaceNo};
use parking_lot::Mutex;

/// How many projects are known at most, and how many workspaces of each. At about two hundred bytes for a project with one
/// workspace, this is 2 MB.
const PROJECTS_MAX: usize = 8_192;
const WORKSPACES_MAX: usize = 64;

/// A flight that finds anything else than expected flies twice. If that happens to more than about a third of them, because many
/// saves repeat what is known, the next so many fly without expecting anything.
const LUCK_MAX: u8 = 8;
const MISFORTUNE: u8 = 2;
const REST: u8 = 32;

#[derive(Default)]
pub(super) struct KnownProjects {
    projects: Mutex<HashMap<ProjectId, Known>>,
    luck: Mutex<Luck>,
}

/// How well it went lately to expect what is known.
struct Luck {
    left: u8,
    /// How many flights still go without.
    rest: u8,
}

/// A project as a flight left it.
#[derive(Debug, Default)]
pub(super) struct Known {
    pub(super) seq: u64,
    pub(super) live_records: u64,
    pub(super) appearance: Option<u64>,
    /// Whether the flight had found it as the one before had left it. Where other nodes write too, it would be expected in
    /// vain, which costs a round trip.
    pub(super) is_steady: bool,
    workspaces: HashMap<String, WorkspaceNo>,
}

impl KnownProjects {
    /// Takes out what is known of a project, for the flight that it is on. A flight that fails does not bring it back: then
    /// nothing is known.
    pub(super) fn take(&self, id: ProjectId) -> Option<Known> {
        self.projects.lock().remove(&id)
    }

    /// Brings it back, or what is known now.
    pub(super) fn put(&self, id: ProjectId, known: Known) {
        let mut projects = self.projects.lock();
        // Dropping all at the limit is crude and never wrong: each is known again after a flight.
        if projects.len() >= PROJECTS_MAX {
            projects.clear();
        }
        projects.insert(id, known);
    }

    /// Whether the next flight should expect anything.
    pub(super) fn is_promising(&self) -> bool {
        let mut luck = self.luck.lock();
        let is_promising = luck.rest == 0;
        luck.rest = luck.rest.saturating_sub(1);
        is_promising
    }

    /// A flight found what it expected, or not.
    pub(super) fn note_outcome(&self, is_so: bool) {
        let mut luck = self.luck.lock();
        luck.left = if is_so { LUCK_MAX.min(luck.left + 1) } else { luck.left.saturating_sub(MISFORTUNE) };
        if luck.left == 0 {
            // The next one that tries decides.
            *luck = Luck { left: 1, rest: REST };
        }
    }
}

impl Default for Luck {
    fn default() -> Self {
        Self { left: LUCK_MAX, rest: 0 }
    }
}

impl Known {
    pub(super) fn workspace(&self, name: &str) -> Option<WorkspaceNo> {
        self.workspaces.get(name).copied()
    }

    pub(super) fn note_workspace(&mut self, name: &str, no: WorkspaceNo) {
        if let Some(known) = self.workspaces.get_mut(name) {
            *known = no;
            return;
        }
        if self.workspaces.len() >= WORKSPACES_MAX {
            self.workspaces.clear();
        }
        self.workspaces.insert(name.to_owned(), no);
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn project(nth: usize) -> ProjectId {
        ProjectId::new(Uuid::from_u128(nth as u128))
    }

    #[test]
    fn what_is_taken_and_not_brought_back_is_forgotten() {
        let (known, id) = (KnownProjects::default(), project(1));
        known.put(id, Known { seq: 7, live_records: 5, ..Known::default() });
        assert_eq!(known.take(id).map(|known| (known.seq, known.live_records)), Some((7, 5)));
        assert!(known.take(id).is_none());
    }

    #[test]
    fn so_many_projects_and_workspaces_are_known_and_one_more_makes_room() {
        let known = KnownProjects::default();
        let ids: Vec<ProjectId> = (0..=PROJECTS_MAX).map(project).collect();
        ids[..PROJECTS_MAX].iter().for_each(|id| known.put(*id, Known::default()));
        assert_eq!(known.projects.lock().len(), PROJECTS_MAX);
        known.put(ids[PROJECTS_MAX], Known::default());
        assert_eq!(known.projects.lock().len(), 1);
        let mut project = Known::default();
        (1..=WORKSPACES_MAX as u64).for_each(|no| project.note_workspace(&format!("workspace {no}"), WorkspaceNo(no)));
        assert_eq!(project.workspace("workspace 1"), Some(WorkspaceNo(1)));
        project.note_workspace("workspace 1", WorkspaceNo(9));
        assert_eq!(project.workspace("workspace 1"), Some(WorkspaceNo(9)), "it was born again");
        project.note_workspace("another", WorkspaceNo(10));
        assert_eq!((project.workspace("workspace 1"), project.workspace("another")), (None, Some(WorkspaceNo(10))));
    }

    #[test]
    fn whoever_is_wrong_too_often_stops_expecting_for_a_while() {
        let known = KnownProjects::default();
        for _ in 0..20 {
            [true, true, false].into_iter().for_each(|is_so| known.note_outcome(is_so));
        }
        assert!(known.is_promising(), "every third is not too often");
        (0..LUCK_MAX / MISFORTUNE).for_each(|_| known.note_outcome(false));
        assert!((0..REST).all(|_| !known.is_promising()));
        assert!(known.is_promising());
        known.note_outcome(false);
        assert!((0..REST).all(|_| !known.is_promising()), "one try was enough");
        assert!(known.is_promising());
        known.note_outcome(true);
        assert!(known.is_promising());
    }
}
