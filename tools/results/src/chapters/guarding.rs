//! What the guard refuses, rightly and wrongly, and what a verdict costs.

use anyhow::{Context, Result};

use super::{Chapter, Part, Shown};
use crate::plot::{Axis, bars};
use crate::reading::{number, numbers, table};
use crate::run::Run;

pub(super) fn chapter() -> Chapter {
    Chapter {
        title: "Guard",
        parts: vec![Part {
            title: "Harmless texts and attacks",
            run: "guard",
            show: verdicts,
            not_shown: "attackers who know the guard. It sees marks of an order to a machine; a false fact without one passes. \
                        [Guard](concepts/guard.md) has the rates of the weights that ship, and says what was looked at while choosing them.",
        }],
    }
}

fn verdicts(run: &Run) -> Result<Shown> {
    let mut rows = Vec::new();
    for line in run.lines().skip_while(|line| *line != "## Bars").filter(|line| line.contains("(bar: ")) {
        let (met, rest) = line.split_once(' ').with_context(|| format!("no verdict in `{line}`"))?;
        let (name, figures) = rest.trim().split_once("  ").with_context(|| format!("no figures in `{line}`"))?;
        let bar = figures.split_once("(bar: ").map_or("", |(_, bar)| bar.trim_end_matches(')'));
        let unit = bar.rsplit(' ').next().unwrap_or("%");
        let value = format!("{} {unit}", number(figures, 0)?);
        let verdict = if met == "ok" { "met" } else { "**missed**" };
        rows.push(vec![
            name.to_owned(),
            value,
            bar.replace("<=", "at most").replace(">=", "at least"),
            verdict.to_owned(),
        ]);
    }
    anyhow::ensure!(rows.len() > 10, "bench/runs/guard.txt: the list of bars has another form");
    // How many pieces there are depends on the documents of that day.
    let speed = run.lines_with("judge, ").find_map(|line| line.split_once("pieces of documents, 1 kB"));
    let (_, speed) = speed.context("bench/runs/guard.txt: no line tells how long pieces of documents take")?;
    let long = run.lines_with("judge, ").filter(|line| line.contains("16 kB"));
    let worst = long.filter_map(|line| numbers(line.rsplit_once("kB")?.1).first().copied()).fold(0.0, f64::max);
    let text = format!(
        "Texts of sources that took no part in training. Nobody read the later sets of our own texts, but their rates were \
         known when the weights were chosen: expect a little less on other texts.\n\n{}\nA verdict on a kilobyte takes {} µs of CPU in the middle of many documents and {} µs in the worst of them; on 16 kB of the \
         costliest kind of text, {worst} µs.",
        table(&["what", "rate", "bar", ""], &rows),
        number(speed, 0)?,
        number(speed, 1)?
    );
    Ok(Shown { text, plots: vec![("guard", "Attacks refused, by kind", attacks(run)?)] })
}

const KINDS: [(&str, &str); 8] = [
    ("core", "core kinds"),
    ("memory", "memory kinds"),
    ("in pages", "embedded in pages"),
    ("languages", "multilingual"),
    ("comments", "code comment, first set"),
    ("later", "code comment, later sets"),
    ("occasions", "trigger, first set"),
    ("later", "trigger, later sets"),
];

fn attacks(run: &Run) -> Result<String> {
    let mut groups = Vec::new();
    for (short, kind) in KINDS {
        let wanted = format!("attacks refused: {kind}  ");
        let line = run.lines().find(|line| line.contains(&wanted)).with_context(|| format!("no bar for `{kind}`"))?;
        let figures = line.split_once(&wanted).map_or("", |(_, rest)| rest);
        let share: f64 = number(figures, 0)?.parse()?;
        groups.push((short.to_owned(), vec![format!("{share:.1}")]));
    }
    let y = Axis::linear("percent refused", &[0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
    Ok(bars(
        "Attacks refused, by kind",
        &y,
        &["refused outright; texts only marked as doubtful are not counted"],
        &groups,
    ))
}
