//! Queries that have nothing to do with a workspace: each set's queries, asked in the workspaces of another set.

use std::collections::HashSet;

use anyhow::{Context, Result};

use super::paraphrase::SmallWorkspace;
use super::stems::stems;
use crate::ranker::{CLOSED, Workspace};
use crate::recall::data::Set;

/// Queries of the first set, asked in workspaces of the second.
pub(crate) const PAIRS: [(&str, &str); 5] = [
    ("beam100k", "locomo_obs"),
    ("beam500k", "locomo"),
    ("locomo", "beam100k"),
    ("locomo_obs", "beam500k"),
    ("cranfield", "locomo_obs"),
];
/// How many queries of each set are asked, evenly spread.
const QUERIES_MAX: usize = 300;
/// No workspace of the sets is larger, so every record that passes the gate is seen.
const EVERYTHING: usize = 1_000_000;

/// Whose queries are asked in small workspaces.
const ASKED_OF_FEW: [&str; 2] = ["beam100k", "cranfield"];

/// For one pair and each bar: in how many of the queries a record without any word of the query was let in.
pub(crate) struct Foreign {
    pub(crate) queries: usize,
    pub(crate) let_in: Vec<usize>,
}

pub(crate) fn measure(sets: &[Set], (asked, searched): (&str, &str), bars: &[f64]) -> Result<Foreign> {
    let set = |name: &str| {
        sets.iter().find(|set| set.name == name).with_context(|| format!("the folder has no set called {name}"))
    };
    let projects = &set(searched)?.projects;
    let texts: Vec<&[String]> = projects.iter().map(|project| project.texts.as_slice()).collect();
    Ok(ask(&queries_of(set(asked)?), &texts, bars))
}

/// The same in workspaces of a few facts, such as those that the paraphrases are asked in: a gate that opens for few
/// records must show it here.
pub(crate) fn measure_few(sets: &[Set], few: &[SmallWorkspace], bars: &[f64]) -> Foreign {
    let asked = sets.iter().filter(|set| ASKED_OF_FEW.contains(&set.name.as_str()));
    let texts: Vec<&[String]> = few.iter().map(|workspace| workspace.texts.as_slice()).collect();
    ask(&asked.flat_map(queries_of).collect::<Vec<_>>(), &texts, bars)
}

fn queries_of(set: &Set) -> Vec<&str> {
    set.projects.iter().flat_map(|project| &project.queries).map(|query| query.text.as_str()).collect()
}

fn ask(queries: &[&str], texts: &[&[String]], bars: &[f64]) -> Foreign {
    let workspaces: Vec<Workspace> =
        texts.iter().map(|texts| Workspace::new(texts.iter().map(String::as_str))).collect();
    let step = queries.len().div_ceil(QUERIES_MAX).max(1);
    let mut found = Foreign { queries: 0, let_in: vec![0; bars.len()] };
    for (number, query) in queries.iter().step_by(step).enumerate() {
        let place = number % texts.len();
        let own = stems(query);
        // What passes a bar that nothing passes came by words, whatever the stems here say.
        let by_words: HashSet<usize> = workspaces[place].search(query, EVERYTHING, CLOSED).into_iter().collect();
        let is_kindred = |hit: &usize| !by_words.contains(hit) && stems(&texts[place][*hit]).is_disjoint(&own);
        found.queries += 1;
        for (count, &bar) in found.let_in.iter_mut().zip(bars) {
            *count += usize::from(workspaces[place].search(query, EVERYTHING, bar).iter().any(is_kindred));
        }
    }
    found
}
