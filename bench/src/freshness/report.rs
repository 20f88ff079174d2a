//! The figures of `freshness` as tables, and the bars they are held against.

use serde::Serialize;

use super::story::{Change, QuestionResult};
use crate::figures::{Verdict, rounded};

/// In percent: how many of the questions that the old record answered first before the change must be answered first by
/// the new one after it, also when only one record is requested. Other questions are shown but not counted: the ranking
/// put something else first even while the old record held.
const FRESH_FIRST_MIN: f64 = 95.0;
/// In percent: where nothing fresh answers, how often the stale record must be among the first three.
const STALE_WITHIN_MIN: f64 = 95.0;
const WITHIN: usize = 3;

/// One way of changing, and what the questions brought; `None` where the service does not offer it.
pub(crate) struct ChangeResult {
    pub(crate) change: Change,
    pub(crate) asked: Option<Vec<QuestionResult>>,
}

#[derive(Serialize)]
pub(crate) struct Figures {
    pub(crate) fresh: Vec<Fresh>,
    pub(crate) stale: Vec<Stale>,
    pub(crate) verdicts: Vec<Verdict>,
}

/// Where a fresh record answers: of the questions that the old one answered first before, and of all. In percent.
#[derive(Serialize)]
pub(crate) struct Fresh {
    change: &'static str,
    known: usize,
    known_fresh_first: f64,
    known_first_of_one: f64,
    questions: usize,
    fresh_first: f64,
    fresh_before_old: f64,
    old_first: f64,
    other_first: f64,
}

/// Where only a stale one does.
#[derive(Serialize)]
pub(crate) struct Stale {
    change: &'static str,
    questions: usize,
    within_three: f64,
    stale_first: f64,
    first_of_one: f64,
    not_in_ten: f64,
}

pub(crate) fn print_tables(rows: &[ChangeResult]) -> (Vec<Fresh>, Vec<Stale>) {
    println!("{:27} first answer was the old record    | all questions", "a fresh record answers");
    println!(
        "{:27}{:>8}{:>15}{:>12} |{:>8}{:>15}{:>19}{:>13}{:>14}",
        "",
        "number",
        "fresh first",
        "limit: 1",
        "number",
        "fresh first",
        "fresh before old",
        "old first",
        "other first"
    );
    let (mut fresh, mut stale) = (Vec::new(), Vec::new());
    for row in rows.iter().filter(|row| row.change.has_fresh()) {
        match &row.asked {
            Some(asked) => fresh.push(Fresh::of(row.change.name(), asked)),
            None => println!("{:27}   (not offered by this build)", row.change.name()),
        }
    }
    fresh.push(Fresh::of("together", &together(rows, true)));
    fresh.iter().for_each(|row| println!("{row}"));
    println!("\nonly a stale one answers   questions   first three   stale first   limit: 1   not in ten");
    for row in rows.iter().filter(|row| !row.change.has_fresh()) {
        stale.push(Stale::of(row.change.name(), row.asked.as_deref().unwrap_or_default()));
    }
    stale.push(Stale::of("together", &together(rows, false)));
    stale.iter().for_each(|row| println!("{row}"));
    (fresh, stale)
}

impl Fresh {
    fn of(change: &'static str, asked: &[QuestionResult]) -> Self {
        let known = answered_before(asked);
        Self {
            change,
            known: known.len(),
            known_fresh_first: rounded(percent(&known, is_fresh_first), 1),
            known_first_of_one: rounded(percent(&known, |asked| asked.is_first_of_one), 1),
            questions: asked.len(),
            fresh_first: rounded(percent(asked, is_fresh_first), 1),
            fresh_before_old: rounded(percent(asked, is_fresh_before_old), 1),
            old_first: rounded(percent(asked, |asked| asked.old == Some(0)), 1),
            other_first: rounded(percent(asked, |asked| asked.old != Some(0) && asked.fresh != Some(0)), 1),
        }
    }
}

impl std::fmt::Display for Fresh {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { change, known, known_fresh_first, known_first_of_one, questions, .. } = self;
        write!(
            f,
            "{change:27}{known:>8}{known_fresh_first:>13.1} %{known_first_of_one:>10.1} % |{questions:>8}{:>13.1} %{:>17.1} \
             %{:>11.1} %{:>12.1} %",
            self.fresh_first, self.fresh_before_old, self.old_first, self.other_first
        )
    }
}

impl Stale {
    fn of(change: &'static str, asked: &[QuestionResult]) -> Self {
        Self {
            change,
            questions: asked.len(),
            within_three: rounded(percent(asked, is_stale_within), 1),
            stale_first: rounded(percent(asked, |asked| asked.old == Some(0)), 1),
            first_of_one: rounded(percent(asked, |asked| asked.is_first_of_one), 1),
            not_in_ten: rounded(percent(asked, |asked| asked.old.is_none()), 1),
        }
    }
}

impl std::fmt::Display for Stale {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { change, questions, within_three, stale_first, first_of_one, not_in_ten } = self;
        write!(
            f,
            "{change:27}{questions:>9}{within_three:>12.1} %{stale_first:>12.1} %{first_of_one:>9.1} %{not_in_ten:>11.1} %"
        )
    }
}

/// The questions that the old record answered first before the change.
fn answered_before(asked: &[QuestionResult]) -> Vec<QuestionResult> {
    asked.iter().filter(|asked| asked.old_was_first).cloned().collect()
}

/// The questions behind the figures, to see why.
pub(crate) fn print_missed(rows: &[ChangeResult]) {
    for row in rows {
        let missed = |asked: &&QuestionResult| {
            if row.change.has_fresh() { !is_fresh_first(asked) } else { !is_stale_within(asked) }
        };
        for asked in row.asked.iter().flatten().filter(missed) {
            let place = |place: Option<usize>| place.map_or("-".to_owned(), |place| (place + 1).to_string());
            let first: String = asked.first.lines().next().unwrap_or_default().chars().take(70).collect();
            let (fresh, old) = (place(asked.fresh), place(asked.old));
            println!("{:20} {:?}: fresh {fresh}, old {old}; first is {first:?}", row.change.name(), asked.question);
        }
    }
}

/// Prints the promises. They hold for the set as a whole; each way of changing is shown
/// beside them.
pub(crate) fn print_bars(rows: &[ChangeResult]) -> Vec<Verdict> {
    println!();
    let (all, stale) = (together(rows, true), together(rows, false));
    let fresh = answered_before(&all);
    let mut verdicts = vec![
        bar("the fresh record first, together", percent(&fresh, is_fresh_first), FRESH_FIRST_MIN),
        bar("the same with limit: 1", percent(&fresh, |asked| asked.is_first_of_one), FRESH_FIRST_MIN),
        bar("the fresh record before the old one, all questions", percent(&all, is_fresh_before_old), FRESH_FIRST_MIN),
    ];
    print_literal(&all);
    for row in rows.iter().filter(|row| row.change.has_fresh()) {
        if let Some(asked) = &row.asked {
            let text = format!("the fresh record first, {}", row.change.name());
            print_at_best(row.change, asked);
            println!("---- {text}: {:.1} %", percent(&answered_before(asked), is_fresh_first));
        }
    }
    verdicts.push(bar("the stale record within three, together", percent(&stale, is_stale_within), STALE_WITHIN_MIN));
    verdicts
}

/// The other reading of "the fresh record first": of all questions, whatever else the workspace holds. It has no bar
/// here: `recall` measures how often the ranking puts the right one of many records on a subject first.
fn print_literal(all: &[QuestionResult]) {
    let is_other = |asked: &QuestionResult| !is_fresh_first(asked) && asked.old != Some(0);
    println!(
        "---- the fresh record first, all questions: {:.1} %; a third record first: {:.1} %, of which it was so before: {:.1} %",
        percent(all, is_fresh_first),
        percent(all, is_other),
        percent(all, |asked| is_other(asked) && !asked.could_be_first),
    );
}

/// A replaced record's own words are gone with it, and nothing of it may help the one in its place. So this shows
/// how the new record does where it is the first answer in a workspace that never had the old one.
fn print_at_best(change: Change, asked: &[QuestionResult]) {
    if change != Change::Replaced {
        return;
    }
    let base: Vec<QuestionResult> = asked.iter().filter(|asked| asked.could_be_first).cloned().collect();
    println!(
        "---- the fresh record first, {}, of the {} questions that it answers first where the old one never was: {:.1} %",
        change.name(),
        base.len(),
        percent(&base, is_fresh_first)
    );
}

fn bar(text: &str, found: f64, wanted: f64) -> Verdict {
    let verdict = Verdict { is_met: found >= wanted, bar: format!("{text}: {found:.1} % (bar: >= {wanted} %)") };
    println!("{verdict}");
    verdict
}

fn together(rows: &[ChangeResult], has_fresh: bool) -> Vec<QuestionResult> {
    let chosen = rows.iter().filter(|row| row.change.has_fresh() == has_fresh);
    chosen.filter_map(|row| row.asked.as_ref()).flatten().cloned().collect()
}

fn is_fresh_first(asked: &QuestionResult) -> bool {
    asked.fresh == Some(0)
}

fn is_fresh_before_old(asked: &QuestionResult) -> bool {
    asked.fresh.is_some_and(|fresh| asked.old.is_none_or(|old| fresh < old))
}

fn is_stale_within(asked: &QuestionResult) -> bool {
    asked.old.is_some_and(|place| place < WITHIN)
}

fn percent(asked: &[QuestionResult], is_counted: impl Fn(&QuestionResult) -> bool) -> f64 {
    let counted = asked.iter().filter(|asked| is_counted(asked)).count();
    100.0 * counted as f64 / asked.len().max(1) as f64
}
