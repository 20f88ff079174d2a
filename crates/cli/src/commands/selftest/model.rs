//! The naive model: lists of everything, scanned from end to end. It shares no code with the engine or the store and
//! states the contract as plainly as possible.

use mnemon_core::{RecordId, Timestamp};

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

/// One observation of a source's hash.
#[derive(Debug, Clone)]
struct Sighting {
    project: usize,
    source: String,
    seen: Seen,
    hash: String,
    is_confirmed: bool,
}

/// Something was saved into one life of a workspace for these people.
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
        if self.facts[at].life != life {
            self.touch(project, workspace, seen);
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
        }
        for at in 0..self.facts.len() {
            let fact = &self.facts[at];
            let is_left = fact.project == project && fact.workspace == workspace && fact.life == former;
            if is_left && !fact.is_forgotten {
                self.bring_back(at);
            }
        }
    }

    pub fn sight(&mut self, project: usize, source: &str, seen: Seen, hash: &str, is_confirmed: bool) {
        let (source, hash) = (source.to_owned(), hash.to_owned());
        self.sightings.push(Sighting { project, source, seen, hash, is_confirmed });
    }

    /// The newest hash of a source that a person may know.
    pub fn known(&self, person: usize, project: usize, source: &str) -> Option<&str> {
        self.newest(person, project, source, |_| true)
    }

    fn newest(&self, person: usize, project: usize, source: &str, counts: impl Fn(&Sighting) -> bool) -> Option<&str> {
        let all = self.sightings.iter().rev();
        let mut mine = all.filter(|s| s.project == project && s.source == source && self.sees(person, s.seen));
        mine.find(|sighting| counts(sighting)).map(|sighting| sighting.hash.as_str())
    }

    pub fn is_stale(&self, person: usize, fact: &Fact, now: Timestamp) -> bool {
        let is_over = fact.valid_until.is_some_and(|end| end <= now);
        let known = fact.source.as_ref().and_then(|source| self.known(person, fact.project, source));
        is_over || (fact.hash.is_some() && known.is_some() && fact.hash.as_deref() != known)
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
        let confirmed = fact.source.as_ref().and_then(|s| self.newest(person, fact.project, s, |s| s.is_confirmed));
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
