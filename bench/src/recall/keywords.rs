//! Words first: a query of two or three words of a record must have a record with all of them on top.

use std::fmt;

use serde::Serialize;

use super::data::{Project, Set};
use super::rankers::Ranker;

/// One record in this many lends a query.
const STRIDE: usize = 5;

#[derive(Serialize)]
pub(crate) struct Keywords {
    set: String,
    queries: usize,
    /// The first hit has every word, if only as a part of a name.
    kept: usize,
    #[serde(skip)]
    missed: Vec<String>,
}

impl fmt::Display for Keywords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:12} {} of {} ({:.2} %)",
            self.set,
            self.kept,
            self.queries,
            100.0 * self.kept as f64 / self.queries.max(1) as f64
        )?;
        self.missed.iter().take(3).try_for_each(|query| write!(f, "; missed {query:?}"))
    }
}

pub(crate) fn measure(set: &Set) -> anyhow::Result<Keywords> {
    let mut found = Keywords { set: set.name.clone(), queries: 0, kept: 0, missed: Vec::new() };
    for project in &set.projects {
        let searcher = Ranker::FULL.index(project)?;
        for (number, query) in queries(project).enumerate() {
            let words = words(&query);
            let first = searcher.search(&query, 1 + number % 10)?.first().copied();
            found.queries += 1;
            if first.is_some_and(|first| has_all(&project.texts[first], &words)) {
                found.kept += 1;
            } else {
                found.missed.push(query);
            }
        }
    }
    Ok(found)
}

/// Two or three words from different places of a record; any words, stop words too.
fn queries(project: &Project) -> impl Iterator<Item = String> + '_ {
    project.texts.iter().enumerate().step_by(STRIDE).filter_map(|(at, text)| {
        let words = words(text);
        let wanted = 2 + at % 2;
        let step = words.len() / wanted;
        (step > 0).then(|| {
            (0..wanted).map(|n| words[(at * 7 + n * step) % words.len()].clone()).collect::<Vec<_>>().join(" ")
        })
    })
}

fn has_all(text: &str, words: &[String]) -> bool {
    let text = text.to_lowercase();
    words.iter().all(|word| text.contains(word))
}

fn words(text: &str) -> Vec<String> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase).collect()
}
