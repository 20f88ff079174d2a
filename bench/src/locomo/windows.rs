//! What phrases of time add: each text is a record that happened on the day in front of it, and that day is taken out
//! of the text. Every query is asked with its phrase and without.

use std::collections::{BTreeMap, HashSet};

use mnemon_recall::{Days, Model, NewDoc, SearchRequest, WorkspaceIndex, time_phrase};

use crate::recall::{Project, Set};

const DEPTH: usize = 50;
const CUT: usize = 10;
const SECONDS_PER_DAY: i64 = 86_400;

/// R@10 without and with phrases, summed.
#[derive(Default)]
struct Sums {
    queries: u32,
    phrases: u32,
    without: f64,
    with: f64,
}

pub(super) fn run(sets: &[Set]) {
    println!("\nR@{CUT} with dates as occurred_at: without phrases of time, with them\n");
    println!("{:12} {:26} questions  with a phrase   without    with", "set", "kind");
    for set in sets {
        let mut kinds: BTreeMap<String, Sums> = BTreeMap::new();
        for project in &set.projects {
            if project.texts.iter().any(|text| dated(text).0.is_some()) {
                measure(project, &mut kinds);
            }
        }
        for (kind, Sums { queries, phrases, without, with }) in kinds {
            let mean = |sum: f64| 100.0 * sum / f64::from(queries);
            println!("{:12} {kind:26} {queries:9} {phrases:14} {:9.1} {:7.1}", set.name, mean(without), mean(with));
        }
    }
}

fn measure(project: &Project, kinds: &mut BTreeMap<String, Sums>) {
    let mut index = WorkspaceIndex::new(Model::shipped());
    let mut last = None;
    for (seq, text) in (0..).zip(&project.texts) {
        let (day, said) = dated(text);
        last = day.or(last);
        let time = last.map_or(0, |days: Days| i64::from(days.first) * SECONDS_PER_DAY);
        index.add(NewDoc { time, occurred: last, ..NewDoc::new(seq, said) });
    }
    let days = project.texts.iter().filter_map(|text| dated(text).0);
    let now = days.map(|days| days.last).max().unwrap_or(0) + 1;
    for query in &project.queries {
        let phrase = time_phrase(&query.text, now);
        let recall = |time| {
            let hits = index.search(&SearchRequest { time, ..SearchRequest::new(&query.text, DEPTH) });
            let mut found: Vec<usize> = Vec::new();
            for hit in hits {
                let record = project.records[hit.seq as usize];
                if !found.contains(&record) {
                    found.push(record);
                }
            }
            let hits: HashSet<_> = found.iter().take(CUT).filter(|record| query.gold.contains(record)).collect();
            hits.len() as f64 / query.gold.len() as f64
        };
        let (without, with) = (recall(None), recall(phrase.as_ref()));
        for kind in [query.kind.as_str(), "all together"] {
            let sums = kinds.entry(kind.to_owned()).or_default();
            sums.queries += 1;
            sums.phrases += u32::from(phrase.is_some());
            sums.without += without;
            sums.with += with;
        }
    }
}

/// The day in front of a text, and the text without it: `[1:56 pm on 8 May, 2023] Caroline: …`.
pub(super) fn dated(text: &str) -> (Option<Days>, &str) {
    let Some((head, rest)) = text.strip_prefix('[').and_then(|text| text.split_once("] ")) else { return (None, text) };
    match time_phrase(head, 0) {
        Some(phrase) => (Some(phrase.days), rest),
        None => (None, text),
    }
}
