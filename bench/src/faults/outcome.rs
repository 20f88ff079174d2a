//! The one line that a fault ends with.

use std::fmt;

use anyhow::Result;
use mnemon_testkit::faults::Findings;
use serde::Serialize;
use serde_json::{Map, Value};

/// What a fault showed.
#[derive(Debug, Serialize)]
pub(crate) struct Outcome {
    name: &'static str,
    rounds: Option<usize>,
    facts: Vec<String>,
    is_passed: bool,
    /// What the facts say in numbers, where somebody reads them.
    #[serde(flatten)]
    figures: Map<String, Value>,
}

impl Outcome {
    pub(crate) fn new(name: &'static str, rounds: usize) -> Self {
        Self { name, rounds: Some(rounds), facts: Vec::new(), is_passed: true, figures: Map::new() }
    }

    pub(crate) fn failed(name: &'static str, why: &str) -> Self {
        Self { name, rounds: None, facts: vec![why.to_owned()], is_passed: false, figures: Map::new() }
    }

    pub(crate) const fn is_passed(&self) -> bool {
        self.is_passed
    }

    pub(crate) fn figures(mut self, name: &str, figures: &impl Serialize) -> Result<Self> {
        self.figures.insert(name.to_owned(), serde_json::to_value(figures)?);
        Ok(self)
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
        let rounds = self.rounds.map_or(String::new(), |rounds| format!("{rounds} rounds, "));
        write!(f, "{}: {rounds}{}, {verdict}", self.name, self.facts.join(", "))
    }
}
