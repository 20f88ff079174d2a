//! Saves that wait, project by project, and who may leave with the next flight.
//!
//! A project is on one flight at a time, so its saves are stored in the order they came. A project whose lock somebody keeps
//! too long flies apart from the others until it has landed again, so that it holds up nobody but itself.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::Hash;

use mnemon_core::ProjectId;

/// Something that waits for its flight.
pub(super) trait Waiting {
    type Meeting: Eq + Hash;

    fn project(&self) -> ProjectId;

    /// Two that share one of these could conflict: they never fly together.
    fn meetings(&self) -> Vec<Self::Meeting>;
}

pub(super) struct Line<W> {
    projects: HashMap<ProjectId, Project<W>>,
    /// Projects that wait for a flight together with others, longest first; and those that fly alone.
    ready: VecDeque<ProjectId>,
    ready_apart: VecDeque<ProjectId>,
    /// How many wait for the next flight together, and how many wait at all.
    ready_count: usize,
    count: usize,
}

/// A project that waits, flies, or will fly alone.
struct Project<W> {
    waiting: VecDeque<W>,
    is_aloft: bool,
    is_apart: bool,
}

impl<W: Waiting> Line<W> {
    pub(super) fn new() -> Self {
        let (ready, ready_apart) = (VecDeque::new(), VecDeque::new());
        Self { projects: HashMap::new(), ready, ready_apart, ready_count: 0, count: 0 }
    }

    /// How many wait.
    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// How many could leave together now.
    pub(super) fn ready_count(&self) -> usize {
        self.ready_count
    }

    pub(super) fn push(&mut self, waiting: W) {
        let id = waiting.project();
        let new = || Project { waiting: VecDeque::new(), is_aloft: false, is_apart: false };
        let project = self.projects.entry(id).or_insert_with(new);
        project.waiting.push_back(waiting);
        self.count += 1;
        if project.is_aloft {
            return;
        }
        self.ready_count += usize::from(!project.is_apart);
        if project.waiting.len() == 1 {
            let ready = if project.is_apart { &mut self.ready_apart } else { &mut self.ready };
            ready.push_back(id);
        }
    }

    /// Those who leave together, at most `max`. Their projects are aloft from now on.
    pub(super) fn take(&mut self, max: usize) -> Vec<W> {
        let mut taken = Vec::new();
        while taken.len() < max
            && let Some(id) = self.ready.pop_front()
        {
            let Some(project) = self.projects.get_mut(&id) else { continue };
            self.ready_count -= project.waiting.len();
            project.is_aloft = true;
            take_of(&mut project.waiting, max - taken.len(), &mut taken);
        }
        self.count -= taken.len();
        taken
    }

    /// Those of the next project that flies alone.
    pub(super) fn take_apart(&mut self, max: usize) -> Vec<W> {
        let mut taken = Vec::new();
        let next = self.ready_apart.pop_front();
        if let Some(project) = next.and_then(|id| self.projects.get_mut(&id)) {
            project.is_aloft = true;
            take_of(&mut project.waiting, max, &mut taken);
        }
        self.count -= taken.len();
        taken
    }

    /// A project is back, and flies alone from now on or with the others again. Those who could not land with it are the first
    /// to leave next time.
    pub(super) fn land(&mut self, id: ProjectId, is_apart: bool, back: Vec<W>) {
        let Entry::Occupied(mut project) = self.projects.entry(id) else { return };
        let known = project.get_mut();
        (known.is_aloft, known.is_apart) = (false, is_apart);
        self.count += back.len();
        for waiting in back.into_iter().rev() {
            known.waiting.push_front(waiting);
        }
        let ready = if is_apart { &mut self.ready_apart } else { &mut self.ready };
        match (known.waiting.len(), is_apart) {
            (0, false) => drop(project.remove()),
            // Its next save has to know that it flies alone.
            (0, true) => {}
            (count, _) => {
                ready.push_back(id);
                self.ready_count += if is_apart { 0 } else { count };
            }
        }
    }
}

/// Takes those of a project that can be stored together, in any case the first.
fn take_of<W: Waiting>(waiting: &mut VecDeque<W>, max: usize, taken: &mut Vec<W>) {
    let (mut left, mut met, mut room) = (VecDeque::new(), HashSet::new(), max);
    while let Some(next) = waiting.pop_front() {
        let own = next.meetings();
        if room > 0 && !own.iter().any(|meeting| met.contains(meeting)) {
            room -= 1;
            taken.push(next);
        } else {
            left.push_back(next);
        }
        // Those that stay keep their turn too: a later one must not overtake an earlier one that it would conflict with.
        met.extend(own);
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
        type Meeting = &'static str;

        fn project(&self) -> ProjectId {
            project(self.0)
        }

        fn meetings(&self) -> Vec<&'static str> {
            vec![self.1]
        }
    }

    fn project(number: u128) -> ProjectId {
        ProjectId::new(uuid::Uuid::from_u128(number))
    }

    fn line(notes: impl IntoIterator<Item = Note>) -> Line<Note> {
        let mut line = Line::new();
        notes.into_iter().for_each(|note| line.push(note));
        line
    }

    #[test]
    fn a_flight_takes_all_projects_and_as_many_saves_as_it_has_room_for() {
        let notes = || [Note(1, "a"), Note(2, "b"), Note(1, "c"), Note(3, "d")];
        assert_eq!(line(notes()).take(4), [Note(1, "a"), Note(1, "c"), Note(2, "b"), Note(3, "d")]);
        let mut line = line(notes());
        assert_eq!(line.ready_count(), 4);
        assert_eq!(line.take(3), [Note(1, "a"), Note(1, "c"), Note(2, "b")]);
        assert_eq!((line.ready_count(), line.len()), (1, 1));
    }

    #[test]
    fn what_a_flight_leaves_of_its_last_project_waits_until_that_has_landed() {
        let mut line = line([Note(1, "a"), Note(2, "b"), Note(2, "c"), Note(3, "d")]);
        assert_eq!(line.take(2), [Note(1, "a"), Note(2, "b")]);
        assert_eq!((line.ready_count(), line.len()), (1, 2));
        assert_eq!(line.take(2), [Note(3, "d")]);
        line.land(project(2), false, Vec::new());
        assert_eq!(line.take(2), [Note(2, "c")]);
    }

    #[test]
    fn a_project_waits_until_it_has_landed_and_others_do_not() {
        let mut line = line([Note(1, "a"), Note(1, "b")]);
        assert_eq!(line.take(1), [Note(1, "a")]);
        line.push(Note(1, "c"));
        line.push(Note(2, "d"));
        assert_eq!((line.ready_count(), line.len()), (1, 3));
        assert_eq!(line.take(8), [Note(2, "d")]);
        assert_eq!(line.take(8), []);
        line.land(project(1), false, Vec::new());
        assert_eq!(line.take(8), [Note(1, "b"), Note(1, "c")]);
        line.land(project(1), false, Vec::new());
        line.land(project(2), false, Vec::new());
        assert!(line.projects.is_empty(), "nobody waits, and nothing is kept");
    }

    #[test]
    fn two_that_could_conflict_fly_one_after_the_other() {
        let mut line = line([Note(1, "a"), Note(1, "a"), Note(1, "b"), Note(1, "a")]);
        assert_eq!(line.take(8), [Note(1, "a"), Note(1, "b")]);
        line.land(project(1), false, Vec::new());
        assert_eq!(line.take(8), [Note(1, "a")]);
        line.land(project(1), false, Vec::new());
        assert_eq!((line.take(8), line.len()), (vec![Note(1, "a")], 0));
    }

    #[test]
    fn a_project_that_was_held_up_flies_alone_until_it_has_landed() {
        let mut line = line([Note(1, "a"), Note(1, "b"), Note(2, "c")]);
        let held_up = line.take(2);
        line.push(Note(1, "d"));
        line.land(project(1), true, held_up);
        assert_eq!((line.ready_count(), line.len()), (1, 4));
        assert_eq!(line.take(8), [Note(2, "c")]);
        assert_eq!(line.take_apart(2), [Note(1, "a"), Note(1, "b")], "the order stays");
        line.land(project(1), true, Vec::new());
        assert_eq!(line.take_apart(8), [Note(1, "d")]);
        line.land(project(1), true, Vec::new());
        line.push(Note(1, "e"));
        assert_eq!((line.ready_count(), line.take(8)), (0, Vec::new()));
        assert_eq!(line.take_apart(8), [Note(1, "e")]);
        line.land(project(1), false, Vec::new());
        line.push(Note(1, "f"));
        assert_eq!(line.take(8), [Note(1, "f")]);
    }
}
