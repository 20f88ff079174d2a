//! The naive model: lists of everything, scanned from end to end. It shares no code with the engine or the store and
//! states the contract as plainly as possible.

use mnemon_core::{RecordId, Timestamp, WorkspaceName};

pub const WORKSPACES: usize = 3;

pub fn workspace(at: usize) -> WorkspaceName {
    WorkspaceName::parse(["default", "notes", "plans"][at]).expect("plain names are valid")
}

/// A member, by its position in the list.
#[derive(Debug, Clone)]
pub struct Person {
    pub account: usize,
    pub department: Option<usize>,
    pub is_head: bool,
    pub is_gone: bool,
}

/// Who may see something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    All,
    Department(usize),
    Person(usize),
}

#[derive(Debug, Clone)]
pub struct Fact {
    pub id: RecordId,
    pub project: usize,
    pub workspace: usize,
    pub life: usize,
    pub seen: Seen,
    pub author: usize,
    pub content: String,
    pub key: Option<String>,
    pub source: Option<String>,
    pub hash: Option<String>,
    pub valid_until: Option<Timestamp>,
    pub updated_at: Timestamp,
    pub is_forgotten: bool,
}

/// A workspace in one of its lives.
type Place = (usize, usize);

/// One observation of a source: its hash, or none if it was gone.
#[derive(Debug, Clone)]
struct Sighting {
    project: usize,
    /// Where it is known.
    places: Vec<Place>,
    source: String,
    seen: Seen,
    hash: Option<String>,
    is_confirmed: bool,
}

/// Something was saved for these people since the workspace was last made.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Touched {
    project: usize,
    workspace: usize,
    life: usize,
    seen: Seen,
}

#[derive(Debug, Default)]
pub struct Model {
    /// The parent of each department.
    pub parents: Vec<Option<usize>>,
    pub people: Vec<Person>,
    pub facts: Vec<Fact>,
    sightings: Vec<Sighting>,
    touched: Vec<Touched>,
    /// The current life of each (project, workspace).
    lives: Vec<((usize, usize), usize)>,
}

impl Model {
    pub fn sees(&self, person: usize, seen: Seen) -> bool {
        match seen {
            Seen::All => true,
            Seen::Person(author) => author == person,
            Seen::Department(department) => {
                let Some(own) = self.people[person].department else { return false };
                let reaches_down = self.is_above(department, own);
                let reaches_up = self.people[person].is_head && self.is_above(own, department);
                reaches_down || reaches_up
            }
        }
    }

    /// Whether one department is another or is above it.
    fn is_above(&self, above: usize, below: usize) -> bool {
        let mut at = Some(below);
        while let Some(department) = at {
            if department == above {
                return true;
            }
            at = self.parents[department];
        }
        false
    }

    pub fn life(&self, project: usize, workspace: usize) -> usize {
        let place = (project, workspace);
        self.lives.iter().find(|(known, _)| *known == place).map_or(0, |(_, life)| *life)
    }

    pub fn end_life(&mut self, project: usize, workspace: usize) {
        let place = (project, workspace);
        match self.lives.iter_mut().find(|(known, _)| *known == place) {
            Some((_, life)) => *life += 1,
            None => self.lives.push((place, 1)),
        }
    }

    pub fn is_alive(&self, fact: &Fact) -> bool {
        !fact.is_forgotten && fact.life == self.life(fact.project, fact.workspace)
    }

    /// All live records of a project that a person may see.
    pub fn visible(&self, person: usize, project: usize) -> impl Iterator<Item = &Fact> {
        self.facts.iter().filter(move |f| f.project == project && self.is_alive(f) && self.sees(person, f.seen))
    }

    /// Whether a person may know that a workspace exists.
    pub fn is_active(&self, person: usize, project: usize, workspace: usize) -> bool {
        let life = self.life(project, workspace);
        let here = |t: &&Touched| t.project == project && t.workspace == workspace && t.life == life;
        self.touched.iter().filter(here).any(|touched| self.sees(person, touched.seen))
    }

    pub fn touch(&mut self, project: usize, workspace: usize, seen: Seen) {
        let life = self.life(project, workspace);
        self.touched.push(Touched { project, workspace, life, seen });
    }

    /// A record comes back, into the life that its workspace has now.
    pub fn bring_back(&mut self, at: usize) {
        let Fact { project, workspace, seen, .. } = self.facts[at];
        let life = self.life(project, workspace);
        let former = self.facts[at].life;
        if former != life {
            self.touch(project, workspace, seen);
            let source = self.facts[at].source.clone();
            self.carry(project, (workspace, former), (workspace, life), |known| Some(known) == source.as_deref());
        }
        self.facts[at].life = life;
        self.facts[at].is_forgotten = false;
    }

    /// The latest former life of a workspace with something left in it that a person may know about.
    pub fn former_life(&self, person: usize, project: usize, workspace: usize) -> Option<usize> {
        let here = |t: &&Touched| t.project == project && t.workspace == workspace;
        let is_known =
            |life: usize| self.touched.iter().filter(here).any(|t| t.life == life && self.sees(person, t.seen));
        let left = |f: &&Fact| f.project == project && f.workspace == workspace && !f.is_forgotten;
        let lives = self.facts.iter().filter(left).map(|fact| fact.life);
        lives.filter(|life| *life < self.life(project, workspace) && is_known(*life)).max()
    }

    /// What was left in a former life comes back. Where nothing was saved since, the workspace is as it was then.
    pub fn restore_life(&mut self, project: usize, workspace: usize, former: usize) {
        let life = self.life(project, workspace);
        let here = |t: &&Touched| t.project == project && t.workspace == workspace;
        if !self.touched.iter().filter(here).any(|t| t.life == life) {
            let then: Vec<Touched> = self.touched.iter().filter(here).filter(|t| t.life == former).cloned().collect();
            self.touched.extend(then.into_iter().map(|touched| Touched { life, ..touched }));
            self.carry(project, (workspace, former), (workspace, life), |_| true);
        }
        for at in 0..self.facts.len() {
            let fact = &self.facts[at];
            let is_left = fact.project == project && fact.workspace == workspace && fact.life == former;
            if is_left && !fact.is_forgotten {
                self.bring_back(at);
            }
        }
    }

    /// What is known of sources goes with a record into another life of its workspace.
    fn carry(&mut self, project: usize, from: Place, to: Place, is_meant: impl Fn(&str) -> bool) {
        for sighting in self.sightings.iter_mut().filter(|sighting| sighting.project == project) {
            if is_meant(&sighting.source) && sighting.places.contains(&from) && !sighting.places.contains(&to) {
                sighting.places.push(to);
            }
        }
    }

    /// A hash came with a save.
    pub fn sight(&mut self, project: usize, workspace: usize, source: &str, seen: Seen, hash: &str) {
        let places = vec![(workspace, self.life(project, workspace))];
        let (source, hash) = (source.to_owned(), Some(hash.to_owned()));
        self.sightings.push(Sighting { project, places, source, seen, hash, is_confirmed: false });
    }

    /// Somebody looked at a source, for a workspace or for all that know it, and the first one, which is the default.
    pub fn observe(&mut self, project: usize, workspace: Option<usize>, source: &str, hash: Option<&str>) {
        let is_living = |workspace| {
            let life = self.life(project, workspace);
            self.touched.iter().any(|t| t.project == project && t.workspace == workspace && t.life == life)
        };
        let now = |workspace| is_living(workspace).then(|| (workspace, self.life(project, workspace)));
        let mut places: Vec<Place> = now(workspace.unwrap_or(0)).into_iter().collect();
        if workspace.is_none() {
            let known = self.sightings.iter().filter(|known| known.project == project && known.source == source);
            places.extend(known.flat_map(|known| known.places.iter().copied()));
            let left = self.facts.iter().filter(|fact| fact.project == project && !fact.is_forgotten);
            let left = left.filter(|fact| fact.source.as_deref() == Some(source));
            places.extend(left.map(|fact| (fact.workspace, fact.life)));
        }
        let (source, hash) = (source.to_owned(), hash.map(str::to_owned));
        let is_confirmed = hash.is_some();
        self.sightings.push(Sighting { project, places, source, seen: Seen::All, hash, is_confirmed });
    }

    /// The newest hash of a source that a person may know, in a workspace or in each that knows it; none where it is
    /// gone or has no known hash.
    pub fn known(&self, person: usize, project: usize, workspace: Option<usize>, source: &str) -> Vec<Option<&str>> {
        let places: Vec<Place> = match workspace {
            Some(workspace) => vec![(workspace, self.life(project, workspace))],
            None => self.sightings.iter().flat_map(|sighting| sighting.places.iter().copied()).collect(),
        };
        let newest = |place| self.newest(person, project, place, source, |_| true);
        let known: Vec<Option<&str>> = places.into_iter().filter_map(newest).collect();
        if known.is_empty() { vec![None] } else { known }
    }

    fn newest(
        &self,
        person: usize,
        project: usize,
        place: Place,
        source: &str,
        counts: impl Fn(&Sighting) -> bool,
    ) -> Option<Option<&str>> {
        let all = self.sightings.iter().rev();
        let mut mine = all.filter(|s| s.project == project && s.source == source && self.sees(person, s.seen));
        mine.find(|known| known.places.contains(&place) && counts(known)).map(|known| known.hash.as_deref())
    }

    pub fn is_stale(&self, person: usize, fact: &Fact, now: Timestamp) -> bool {
        let is_over = fact.valid_until.is_some_and(|end| end <= now);
        let place = (fact.workspace, fact.life);
        let known = fact.source.as_ref().and_then(|s| self.newest(person, fact.project, place, s, |_| true));
        is_over || known.is_some_and(|known| known.is_none() || (fact.hash.is_some() && fact.hash.as_deref() != known))
    }

    /// The live records that conflict with one, as a person sees it.
    pub fn rivals(&self, person: usize, fact: &Fact, now: Timestamp) -> Vec<RecordId> {
        let against = self.visible(person, fact.project).filter(|other| {
            other.id != fact.id
                && other.workspace == fact.workspace
                && other.key.is_some()
                && other.key == fact.key
                && other.content != fact.content
                && !self.is_stale(person, other, now)
        });
        against.map(|other| other.id).collect()
    }

    pub fn status(&self, person: usize, fact: &Fact, now: Timestamp) -> &'static str {
        let place = (fact.workspace, fact.life);
        let newest = |source| self.newest(person, fact.project, place, source, |sighting| sighting.is_confirmed);
        let confirmed = fact.source.as_deref().and_then(newest).flatten();
        if self.is_stale(person, fact, now) {
            "stale"
        } else if !self.rivals(person, fact, now).is_empty() {
            "conflict"
        } else if fact.hash.is_some() && fact.hash.as_deref() == confirmed {
            "verified"
        } else {
            "unverified"
        }
    }

    /// A member leaves, and another takes over everything.
    pub fn hand_over(&mut self, from: usize, to: usize) {
        let moved = |seen: &mut Seen| {
            if *seen == Seen::Person(from) {
                *seen = Seen::Person(to);
            }
        };
        for fact in self.facts.iter_mut().filter(|fact| fact.author == from) {
            fact.author = to;
        }
        self.facts.iter_mut().for_each(|fact| moved(&mut fact.seen));
        self.sightings.iter_mut().for_each(|sighting| moved(&mut sighting.seen));
        self.touched.iter_mut().for_each(|touched| moved(&mut touched.seen));
        self.people[from].is_gone = true;
    }
}
