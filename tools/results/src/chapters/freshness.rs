//! Does what holds come first?

use anyhow::{Context, Result};
use serde::Deserialize;

use super::{Chapter, Part, Shown};
use crate::plot::{Axis, Series, lines};
use crate::run::Run;
use crate::table::table;

pub(super) fn chapter() -> Chapter {
    Chapter {
        title: "Freshness",
        parts: vec![
            Part {
                title: "The newer fact first",
                run: "freshness",
                show: newer_first,
                not_shown: "facts that changed without any save, key or check that tells: those can't be told from facts that hold.",
            },
            Part {
                title: "Thirty commits in the life of two repositories",
                run: "life",
                show: life,
                not_shown: "a real repository: its pages and changes are made up by a program, with one seed.",
            },
        ],
    }
}

#[derive(Deserialize)]
struct Freshness {
    fresh: Vec<Fresh>,
    stale: Vec<Stale>,
}

#[derive(Deserialize)]
struct Fresh {
    change: String,
    known: u32,
    known_fresh_first: f64,
    fresh_before_old: f64,
}

#[derive(Deserialize)]
struct Stale {
    questions: u32,
    within_three: f64,
}

fn newer_first(run: &Run) -> Result<Shown> {
    let Freshness { fresh, stale } = run.figures()?;
    let row = |Fresh { change, known, known_fresh_first, fresh_before_old }: &Fresh| {
        let shares = [known_fresh_first, fresh_before_old].map(|share| format!("{share:.1} %"));
        [vec![change.clone(), known.to_string()], shares.into()].concat()
    };
    let rows = fresh.iter().map(row);
    let Stale { questions, within_three } = stale.last().context("the second table is missing")?;
    Ok(Shown::text(format!(
        "A fact changed, and an older record of it is still there. Questions whose first answer was the old record before the change:\n\n{}\n\
         Where only a stale record answers, it is among the first three for {within_three:.1} % of {questions} questions, marked as stale.",
        table(&["how it changed", "questions", "newer fact first", "newer before old, all questions"], rows),
    )))
}

#[derive(Deserialize)]
struct Life {
    commits: u32,
    saved: u32,
    questions: u32,
    shown: u32,
    resaved_percent: u32,
    seed: u64,
    wrong: Vec<Wrong>,
}

#[derive(Deserialize)]
struct Wrong {
    commit: f64,
    with_validate: f64,
    without: f64,
    fts5: f64,
}

fn life(run: &Run) -> Result<Shown> {
    let Life { commits, saved, questions, shown, resaved_percent, seed, wrong } = run.figures()?;
    let last = wrong.last().context("no commit was recorded")?;
    let series = |name: &str, value: fn(&Wrong) -> f64| Series {
        name: name.to_owned(),
        points: wrong.iter().map(|row| (row.commit, value(row))).collect(),
    };
    let text = format!(
        "two repositories, {commits} commits each, {saved} facts saved, {questions} questions after each, {shown} facts shown for each; in \
         {resaved_percent} of 100 changes the new facts were saved; seed {seed}. Wrong facts among those shown as if they held, after the last \
         commit: {:.1} % with `mnemon validate` after each commit, {:.1} % without it, {:.1} % by a full-text index.",
        last.with_validate, last.without, last.fts5
    );
    let plot = lines(
        "Wrong facts shown as if they held",
        &Axis::linear("commit", &[1.0, 5.0, 10.0, 15.0, 20.0, 25.0, 30.0]),
        &Axis::linear("percent of the facts shown so", &[0.0, 20.0, 40.0, 60.0, 80.0]),
        &[
            series("Mnemon with validate", |row| row.with_validate),
            series("SQLite FTS5", |row| row.fts5),
            series("Mnemon without", |row| row.without),
        ],
    );
    Ok(Shown { text, plots: vec![("life", "Wrong facts shown as if they held, by commit", plot)] })
}
