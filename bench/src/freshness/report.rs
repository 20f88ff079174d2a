//! The figures of `freshness` as tables, and the bars they are held against.

use super::story::{Change, QuestionResult};

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

pub(crate) fn print_tables(rows: &[ChangeResult]) {
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
    for row in rows.iter().filter(|row| row.change.has_fresh()) {
        match &row.asked {
            Some(asked) => println!("{:27}{}", row.change.name(), fresh_cells(asked)),
            None => println!("{:27}   (not offered by this build)", row.change.name()),
        }
    }
    println!("{:27}{}", "together", fresh_cells(&together(rows, true)));
    println!("\nonly a stale one answers   questions   first three   stale first   limit: 1   not in ten");
    for row in rows.iter().filter(|row| !row.change.has_fresh()) {
        println!("{:27}{}", row.change.name(), stale_cells(row.asked.as_deref().unwrap_or_default()));
    }
    println!("{:27}{}", "together", stale_cells(&together(rows, false)));
}

fn fresh_cells(asked: &[QuestionResult]) -> String {
    let known = answered_before(asked);
    format!(
        "{:>8}{:>13.1} %{:>10.1} % |{:>8}{:>13.1} %{:>17.1} %{:>11.1} %{:>12.1} %",
        known.len(),
        percent(&known, is_fresh_first),
        percent(&known, |asked| asked.is_first_of_one),
        asked.len(),
        percent(asked, is_fresh_first),
        percent(asked, is_fresh_before_old),
        percent(asked, |asked| asked.old == Some(0)),
        percent(asked, |asked| asked.old != Some(0) && asked.fresh != Some(0)),
    )
}

/// The questions that the old record answered first before the change.
fn answered_before(asked: &[QuestionResult]) -> Vec<QuestionResult> {
    asked.iter().filter(|asked| asked.old_was_first).cloned().collect()
}

fn stale_cells(asked: &[QuestionResult]) -> String {
    format!(
        "{:>9}{:>12.1} %{:>12.1} %{:>9.1} %{:>11.1} %",
        asked.len(),
        percent(asked, is_stale_within),
        percent(asked, |asked| asked.old == Some(0)),
        percent(asked, |asked| asked.is_first_of_one),
        percent(asked, |asked| asked.old.is_none()),
    )
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

/// Prints the promises; `false` if one is broken. They hold for the set as a whole; each way of changing is shown
/// beside them.
pub(crate) fn print_bars(rows: &[ChangeResult]) -> bool {
    println!();
    let (all, stale) = (together(rows, true), together(rows, false));
    let fresh = answered_before(&all);
    let mut is_met = bar("the fresh record first, together", percent(&fresh, is_fresh_first), FRESH_FIRST_MIN);
    is_met &= bar("the same with limit: 1", percent(&fresh, |asked| asked.is_first_of_one), FRESH_FIRST_MIN);
    is_met &=
        bar("the fresh record before the old one, all questions", percent(&all, is_fresh_before_old), FRESH_FIRST_MIN);
    print_literal(&all);
    for row in rows.iter().filter(|row| row.change.has_fresh()) {
        if let Some(asked) = &row.asked {
            let text = format!("the fresh record first, {}", row.change.name());
            print_at_best(row.change, asked);
            println!("---- {text}: {:.1} %", percent(&answered_before(asked), is_fresh_first));
        }
    }
    is_met & bar("the stale record within three, together", percent(&stale, is_stale_within), STALE_WITHIN_MIN)
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

fn bar(text: &str, found: f64, wanted: f64) -> bool {
    let is_met = found >= wanted;
    println!("{} {text}: {found:.1} % (bar: >= {wanted} %)", if is_met { "PASS" } else { "FAIL" });
    is_met
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
