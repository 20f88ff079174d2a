//! The one line that a fault ends with.

use std::fmt;

use mnemon_testkit::faults::Findings;

/// What a fault showed.
#[derive(Debug)]
pub(crate) struct Outcome {
    name: &'static str,
    facts: Vec<String>,
    is_passed: bool,
}

impl Outcome {
    pub(crate) fn new(name: &'static str, rounds: usize) -> Self {
        Self { name, facts: vec![format!("{rounds} rounds")], is_passed: true }
    }

    pub(crate) fn failed(name: &'static str, why: &str) -> Self {
        Self { name, facts: vec![why.to_owned()], is_passed: false }
    }

    pub(crate) const fn is_passed(&self) -> bool {
        self.is_passed
    }

    /// Something worth knowing.
    pub(crate) fn fact(mut self, fact: String) -> Self {
        self.facts.push(fact);
        self
    }

    /// A condition that must hold.
    pub(crate) fn must(mut self, is_so: bool, fact: String) -> Self {
        self.is_passed &= is_so;
        let mark = if is_so { "" } else { " (!)" };
        self.facts.push(fact + mark);
        self
    }

    /// Compares what was acknowledged with what is there.
    pub(crate) fn findings(self, found: &Findings) -> Self {
        let Findings { saved, forgotten, lost, returned, wrong } = found;
        self.must(*saved > 0, format!("{saved} saves and {forgotten} forgets acknowledged"))
            .must(*lost == 0, format!("{lost} lost"))
            .must(*returned == 0, format!("{returned} forgotten records back"))
            .must(*wrong == 0, format!("{wrong} wrong"))
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = if self.is_passed { "PASS" } else { "FAIL" };
        write!(f, "{}: {}, {verdict}", self.name, self.facts.join(", "))
    }
}
