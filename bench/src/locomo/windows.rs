//! What phrases of time add: each text is a record that happened on the day in front of it, once with that day taken
//! out of the text and given as `occurred_at`, once left in the text and nowhere else. Every query is asked with its
//! phrase and without.

use std::collections::{BTreeMap, HashSet};

use mnemon_recall::{Days, Model, NewDoc, SearchRequest, WorkspaceIndex, time_phrase};
use serde::Serialize;

use crate::figures::{Verdict, percent};
use crate::recall::{Project, Set};

const DEPTH: usize = 50;
const CUT: usize = 10;
const SECONDS_PER_DAY: i64 = 86_400;
/// What questions about time must gain, and what others may lose, in points.
const GAIN_MIN: f64 = 2.0;
const LOSS_MAX: f64 = 0.2;

/// Where the day of a text is.
#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Day {
    OccurredAt,
    InText,
}

/// R@10 in percent without and with phrases of time, for one kind of question.
#[derive(Serialize)]
pub(super) struct Row {
    set: String,
    kind: String,
    day: Day,
    questions: u32,
    with_phrase: u32,
    without: f64,
    with: f64,
}

/// R@10 without and with phrases, summed.
#[derive(Default)]
struct Sums {
    queries: u32,
    phrases: u32,
    without: f64,
    with: f64,
}

pub(super) fn measure(sets: &[Set]) -> Vec<Row> {
    let mut rows = Vec::new();
    for day in [Day::OccurredAt, Day::InText] {
        for set in sets {
            let mut kinds: BTreeMap<String, Sums> = BTreeMap::new();
            for project in &set.projects {
                if project.texts.iter().any(|text| dated(text).0.is_some()) {
                    ask(project, day, &mut kinds);
                }
            }
            rows.extend(kinds.into_iter().map(|(kind, sums)| Row {
                set: set.name.clone(),
                kind,
                day,
                questions: sums.queries,
                with_phrase: sums.phrases,
                without: percent(sums.without, sums.queries),
                with: percent(sums.with, sums.queries),
            }));
        }
    }
    rows
}

pub(super) fn print(rows: &[Row]) {
    for (day, where_) in [(Day::OccurredAt, "given as occurred_at"), (Day::InText, "left in the texts")] {
        println!("\nR@{CUT} with dates {where_}: without phrases of time, with them\n");
        println!("{:12} {:26} questions  with a phrase   without    with", "set", "kind");
        for row in rows.iter().filter(|row| row.day == day) {
            let Row { set, kind, questions, with_phrase, without, with, .. } = row;
            println!("{set:12} {kind:26} {questions:9} {with_phrase:14} {without:9.1} {with:7.1}");
        }
    }
    println!();
}

/// Questions about time gain, the others keep what they have.
pub(super) fn verdicts(rows: &[Row]) -> Vec<Verdict> {
    let mut verdicts = Vec::new();
    let given = || rows.iter().filter(|row| row.day == Day::OccurredAt && row.kind != "all together");
    for row in given().filter(|row| row.kind.starts_with("temporal")) {
        let gain = row.with - row.without;
        verdicts.push(Verdict {
            is_met: gain >= GAIN_MIN - f64::EPSILON,
            bar: format!(
                "{} {}: phrases of time gain {gain:.1} points (bar: at least {GAIN_MIN}); {} of {} questions name a time",
                row.set, row.kind, row.with_phrase, row.questions
            ),
        });
    }
    for (day, place) in [(Day::OccurredAt, "given as occurred_at"), (Day::InText, "left in the texts")] {
        let others = rows.iter().filter(|row| row.day == day && row.kind != "all together");
        let others = others.filter(|row| day == Day::InText || !row.kind.starts_with("temporal"));
        let worst = others.max_by(|one, other| (one.without - one.with).total_cmp(&(other.without - other.with)));
        if let Some(worst) = worst {
            let loss = (worst.without - worst.with).max(0.0);
            let kinds = if day == Day::OccurredAt { "any other kind" } else { "any kind" };
            verdicts.push(Verdict {
                is_met: loss < LOSS_MAX + 0.05,
                bar: format!(
                    "with dates {place}, {kinds} loses at most {loss:.1} points ({} {}; bar: {LOSS_MAX})",
                    worst.set, worst.kind
                ),
            });
        }
    }
    verdicts
}

fn ask(project: &Project, day: Day, kinds: &mut BTreeMap<String, Sums>) {
    let mut index = WorkspaceIndex::new(Model::shipped());
    let mut last = None;
    for (seq, text) in (0..).zip(&project.texts) {
        let (said_on, said) = dated(text);
        last = said_on.or(last);
        let time = last.map_or(0, |days: Days| i64::from(days.first) * SECONDS_PER_DAY);
        index.add(match day {
            Day::OccurredAt => NewDoc { time, occurred: last, ..NewDoc::new(seq, said) },
            Day::InText => NewDoc::new(seq, text),
        });
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

/// The day in front of a text, and the text without it: `[1:56 pm on 8 May, 2023] Caroline: …`, `[March-15-2024] …`.
pub(super) fn dated(text: &str) -> (Option<Days>, &str) {
    let Some((head, rest)) = text.strip_prefix('[').and_then(|text| text.split_once("] ")) else { return (None, text) };
    match time_phrase(&head.replace('-', " "), 0) {
        Some(phrase) => (Some(phrase.days), rest),
        None => (None, text),
    }
}
