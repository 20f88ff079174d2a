//! Saves that wait, project by project, and which of them the next batch takes.
//!
//! A project is in one batch at a time, so its saves are stored in the order they came.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::Hash;

use mnemon_core::ProjectId;

/// Something that waits for its batch.
pub(super) trait Waiting {
    type Conflict: Eq + Hash;

    fn project(&self) -> ProjectId;

    /// Two of a project that share one of these are never in one batch: what the second finds depends on the first.
    fn conflicts(&self) -> Vec<Self::Conflict>;
}

pub(super) struct Queue<W> {
    projects: HashMap<ProjectId, Project<W>>,
    /// The projects that have saves and are in no batch, the one that waits longest first.
    ready: VecDeque<ProjectId>,
    ready_count: usize,
    count: usize,
}

struct Project<W> {
    waiting: VecDeque<W>,
    is_in_batch: bool,
}

impl<W: Waiting> Queue<W> {
    pub(super) fn new() -> Self {
        Self { projects: HashMap::new(), ready: VecDeque::new(), ready_count: 0, count: 0 }
    }

    /// How many saves wait.
    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// How many of them belong to projects that are in no batch.
    pub(super) fn ready_count(&self) -> usize {
        self.ready_count
    }

    pub(super) fn push(&mut self, waiting: W) {
        let id = waiting.project();
        let new = || Project { waiting: VecDeque::new(), is_in_batch: false };
        let project = self.projects.entry(id).or_insert_with(new);
        project.waiting.push_back(waiting);
        self.count += 1;
        if project.is_in_batch {
            return;
        }
        self.ready_count += 1;
        if project.waiting.len() == 1 {
            self.ready.push_back(id);
        }
    }

    /// Takes at most `max` saves for a batch. Their projects are in it until [`Self::release`].
    pub(super) fn take(&mut self, max: usize) -> Vec<W> {
        let mut taken = Vec::new();
        while taken.len() < max
            && let Some(id) = self.ready.pop_front()
        {
            let Some(project) = self.projects.get_mut(&id) else { continue };
            self.ready_count -= project.waiting.len();
            project.is_in_batch = true;
            take_of(&mut project.waiting, max - taken.len(), &mut taken);
        }
        self.count -= taken.len();
        taken
    }

    /// The batch of a project has ended.
    pub(super) fn release(&mut self, id: ProjectId) {
        let Entry::Occupied(mut project) = self.projects.entry(id) else { return };
        if project.get().waiting.is_empty() {
            project.remove();
            return;
        }
        project.get_mut().is_in_batch = false;
        self.ready_count += project.get().waiting.len();
        self.ready.push_back(id);
    }
}

/// Takes those of a project that can be stored together, in any case the first.
fn take_of<W: Waiting>(waiting: &mut VecDeque<W>, max: usize, taken: &mut Vec<W>) {
    let (mut left, mut seen, mut room) = (VecDeque::new(), HashSet::new(), max);
    while let Some(next) = waiting.pop_front() {
        let own = next.conflicts();
        if room > 0 && !own.iter().any(|conflict| seen.contains(conflict)) {
            room -= 1;
            taken.push(next);
        } else {
            left.push_back(next);
        }
        // Those that stay count too: a later save must not overtake an earlier one that it conflicts with.
        seen.extend(own);
    }
    *waiting = left;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A project, and what it says: the same words conflict.
    #[derive(Debug, PartialEq, Eq)]
    struct Note(u128, &'static str);

    impl Waiting for Note {
        type Conflict = &'static str;

        fn project(&self) -> ProjectId {
            project(self.0)
        }

        fn conflicts(&self) -> Vec<&'static str> {
            vec![self.1]
        }
    }

    fn project(number: u128) -> ProjectId {
        ProjectId::new(uuid::Uuid::from_u128(number))
    }

    fn queue(notes: impl IntoIterator<Item = Note>) -> Queue<Note> {
        let mut queue = Queue::new();
        notes.into_iter().for_each(|note| queue.push(note));
        queue
    }

    #[test]
    fn a_batch_takes_all_projects_and_as_many_saves_as_it_has_room_for() {
        let notes = || [Note(1, "a"), Note(2, "b"), Note(1, "c"), Note(3, "d")];
        assert_eq!(queue(notes()).take(4), [Note(1, "a"), Note(1, "c"), Note(2, "b"), Note(3, "d")]);
        let mut queue = queue(notes());
        assert_eq!(queue.ready_count(), 4);
        assert_eq!(queue.take(3), [Note(1, "a"), Note(1, "c"), Note(2, "b")]);
        assert_eq!((queue.ready_count(), queue.len()), (1, 1));
    }

    #[test]
    fn a_project_waits_until_its_batch_has_ended_and_others_do_not() {
        let mut queue = queue([Note(1, "a"), Note(1, "b")]);
        assert_eq!(queue.take(1), [Note(1, "a")]);
        queue.push(Note(1, "c"));
        queue.push(Note(2, "d"));
        assert_eq!((queue.ready_count(), queue.len()), (1, 3));
        assert_eq!(queue.take(8), [Note(2, "d")]);
        assert_eq!(queue.take(8), []);
        queue.release(project(1));
        assert_eq!(queue.take(8), [Note(1, "b"), Note(1, "c")]);
        queue.release(project(1));
        queue.release(project(2));
        assert!(queue.projects.is_empty(), "nothing is kept of projects without saves");
    }

    #[test]
    fn two_saves_that_could_conflict_are_stored_one_after_the_other() {
        let mut queue = queue([Note(1, "a"), Note(1, "a"), Note(1, "b"), Note(1, "a")]);
        assert_eq!(queue.take(8), [Note(1, "a"), Note(1, "b")]);
        queue.release(project(1));
        assert_eq!(queue.take(8), [Note(1, "a")]);
        queue.release(project(1));
        assert_eq!((queue.take(8), queue.len()), (vec![Note(1, "a")], 0));
    }
}
