//! The update set: facts that changed, what people ask about them, and other records of such a workspace. Hand-written,
//! in `bench/data/freshness`.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use anyhow::{Context, ensure};
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// A fact that changed. Key and source are both given, so that every way of changing can be tried on the same texts.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Update {
    pub(crate) domain: String,
    pub(crate) key: String,
    pub(crate) source: String,
    pub(crate) old: String,
    pub(crate) new: String,
    pub(crate) questions: Vec<String>,
}

/// A record that answers none of the questions but talks about the same things.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Around {
    pub(crate) domain: String,
    pub(crate) text: String,
}

/// Everything of one domain: it becomes one workspace.
#[derive(Debug, Clone)]
pub(crate) struct Domain {
    pub(crate) name: String,
    pub(crate) updates: Vec<Update>,
    pub(crate) around: Vec<String>,
}

pub(crate) fn load(folder: &Path) -> anyhow::Result<Vec<Domain>> {
    let updates: Vec<Update> = lines(&folder.join("updates.jsonl"))?;
    let around: Vec<Around> = lines(&folder.join("around.jsonl"))?;
    let mut names: Vec<String> = updates.iter().map(|update| update.domain.clone()).collect();
    names.sort();
    names.dedup();
    ensure!(!names.is_empty(), "{} has no updates", folder.display());
    Ok(names.into_iter().map(|name| Domain::of(name, &updates, &around)).collect())
}

impl Domain {
    fn of(name: String, updates: &[Update], around: &[Around]) -> Self {
        let updates = updates.iter().filter(|update| update.domain == name).cloned().collect();
        let around = around.iter().filter(|record| record.domain == name).map(|record| record.text.clone()).collect();
        Self { name, updates, around }
    }
}

fn lines<T: DeserializeOwned>(path: &Path) -> anyhow::Result<Vec<T>> {
    let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    BufReader::new(file).lines().map(|line| Ok(serde_json::from_str(&line?)?)).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn the_set_has_at_least_sixty_different_updates_with_one_to_three_questions_each() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/freshness");
        let domains = load(&folder).unwrap();
        let updates: Vec<&Update> = domains.iter().flat_map(|domain| &domain.updates).collect();
        assert!(updates.len() >= 60, "{}", updates.len());
        assert!(updates.iter().all(|update| (1..=3).contains(&update.questions.len()) && update.old != update.new));
        let keys: HashSet<&str> = updates.iter().map(|update| update.key.as_str()).collect();
        let sources: HashSet<&str> = updates.iter().map(|update| update.source.as_str()).collect();
        assert_eq!((keys.len(), sources.len()), (updates.len(), updates.len()), "one's change must not touch another");
        let long = updates.iter().filter(|update| (200..=2_000).contains(&update.new.chars().count())).count();
        assert!(long >= 10, "{long} texts as long as pages");
        assert!(domains.iter().all(|domain| domain.around.len() >= domain.updates.len()));
    }
}
