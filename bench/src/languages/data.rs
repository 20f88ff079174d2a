//! Facts with questions in several languages, and questions that have nothing to do with any of them.

use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// Records and questions that have nothing to do with each other, by language; the tests of the ranking use them too.
const FOREIGN: &str = include_str!("../../../crates/recall/tests/data/unrelated.jsonl");
/// Facts are saved in an order that says nothing: multiples of a prime, modulo another.
const SHUFFLE: (u64, u64) = (7_919, 61);

#[derive(Deserialize)]
pub(super) struct Fact {
    #[serde(rename = "fact_id")]
    pub(super) id: u64,
    pub(super) lang: String,
    pub(super) fact: String,
    pub(super) question: String,
}

#[derive(Deserialize)]
pub(super) struct Foreign {
    pub(super) lang: String,
    pub(super) records: Vec<String>,
    pub(super) questions: Vec<String>,
}

pub(super) struct Facts {
    facts: Vec<Fact>,
    languages: Vec<String>,
}

impl Facts {
    pub(super) fn languages(&self) -> impl Iterator<Item = &str> {
        self.languages.iter().map(String::as_str)
    }

    pub(super) fn of(&self, language: &str) -> impl Iterator<Item = &Fact> {
        self.facts.iter().filter(move |fact| fact.lang == language)
    }
}

pub(super) fn load(path: &Path) -> Result<Facts> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut facts: Vec<Fact> = lines(&text)?;
    let mut languages: Vec<String> = Vec::new();
    for fact in &facts {
        if !languages.contains(&fact.lang) {
            languages.push(fact.lang.clone());
        }
    }
    facts.sort_by_key(|fact| fact.id * SHUFFLE.0 % SHUFFLE.1);
    Ok(Facts { facts, languages })
}

pub(super) fn foreign() -> Result<Vec<Foreign>> {
    lines(FOREIGN)
}

fn lines<T: DeserializeOwned>(text: &str) -> Result<Vec<T>> {
    text.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
}
