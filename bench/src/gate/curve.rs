//! The two sides of the gate beside each other, with intervals; and a curve of another build to compare with.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use mnemon_guard_train::chance::Chance;
use serde::{Deserialize, Serialize};

use super::foreign::PAIRS;
use crate::figures::rounded;

const RESAMPLES: usize = 2_000;

/// What was found at one height of the gate.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Point {
    /// What the bar starts from; in curves of fixed bars, the bar.
    pub(crate) bar: f64,
    /// Whether it is the service's.
    pub(crate) is_service: bool,
    /// For each pair, the share of foreign queries that let in a record by meaning alone.
    pub(crate) foreign: Vec<f64>,
    /// The same in workspaces of a few facts. Earlier curves have none.
    #[serde(default)]
    pub(crate) foreign_of_few: Option<f64>,
    /// For each paraphrased question, the share of its gold within the first ten.
    pub(crate) paraphrases: Vec<f32>,
    /// The same for the questions as they were asked.
    pub(crate) originals: Vec<f32>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Curve {
    /// Of the set of paraphrases.
    checksum: String,
    /// Earlier curves have none.
    #[serde(default)]
    rows: Vec<Row>,
    points: Vec<Point>,
}

/// A point as it is printed, in percent.
#[derive(Debug, Serialize, Deserialize)]
struct Row {
    bar: f64,
    is_service: bool,
    pairs: Vec<f64>,
    foreign: f64,
    foreign_of_few: f64,
    paraphrased: f64,
    low: f64,
    high: f64,
    as_asked: f64,
}

impl Point {
    fn foreign_mean(&self) -> f64 {
        self.foreign.iter().sum::<f64>() / self.foreign.len().max(1) as f64
    }

    fn row(&self) -> Row {
        let percent = |share: f64| rounded(100.0 * share, 1);
        let (low, high) = interval(&self.paraphrases);
        Row {
            bar: self.bar,
            is_service: self.is_service,
            pairs: self.foreign.iter().map(|&rate| percent(rate)).collect(),
            foreign: percent(self.foreign_mean()),
            foreign_of_few: percent(self.foreign_of_few.unwrap_or(f64::NAN)),
            paraphrased: percent(mean(&self.paraphrases)),
            low: rounded(low, 1),
            high: rounded(high, 1),
            as_asked: percent(mean(&self.originals)),
        }
    }
}

impl std::fmt::Display for Row {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { bar, foreign, foreign_of_few, paraphrased, low, high, as_asked, .. } = self;
        let pairs: String = self.pairs.iter().map(|rate| format!("{rate:>8.1}")).collect();
        let mark = if self.is_service { "*" } else { " " };
        write!(
            f,
            "{mark}{bar:>6.3} {pairs}{foreign:>8.1}{foreign_of_few:>8.1} |{paraphrased:>13.1}  [{low:>5.1}, {high:>5.1}] \
             |{as_asked:>9.1}"
        )
    }
}

impl Curve {
    pub(crate) fn of(checksum: String, points: Vec<Point>) -> Self {
        Self { checksum, rows: points.iter().map(Point::row).collect(), points }
    }

    pub(crate) fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        Ok(serde_json::from_str(&text)?)
    }

    pub(crate) fn print(&self) {
        println!("foreign queries that let in a record by meaning alone, %; R@10 of questions, %");
        let names: Vec<String> = PAIRS.iter().map(|(asked, searched)| format!("{asked} in {searched}")).collect();
        println!("pairs: {}", names.join("; "));
        println!("few: beam100k and cranfield in the workspaces that the paraphrases are asked in\n");
        println!(
            "  base     pair 1  pair 2  pair 3  pair 4  pair 5    mean     few |  paraphrased  95 % interval | as asked"
        );
        self.rows.iter().for_each(|row| println!("{row}"));
        println!("* the service; the bar is the base and 0.2 times the root of the logarithm of the number of records");
    }

    /// Compares the two services: this one may let in no more foreign queries, in small workspaces neither, and must
    /// find more.
    pub(crate) fn print_against(&self, other: &Self) -> Result<bool> {
        ensure!(self.checksum == other.checksum, "the other curve was measured on other paraphrases");
        let theirs =
            other.points.iter().find(|point| point.is_service).context("the other curve has no service bar")?;
        let ours = self.points.iter().find(|point| point.is_service).context("no point is the service's")?;
        let rate = theirs.foreign_mean();
        let few = ours.foreign_of_few.context("small workspaces were not asked")?;
        println!(
            "\nforeign queries: {:.1} %, in small workspaces {:.1} %; the other build {:.1} %",
            100.0 * ours.foreign_mean(),
            100.0 * few,
            100.0 * rate
        );
        let is_as_strict = ours.foreign_mean() <= rate && few <= rate;
        let is_better = difference("paraphrased", &ours.paraphrases, &theirs.paraphrases).0 > 0.0;
        let is_kept = difference("as asked", &ours.originals, &theirs.originals).1 >= 0.0;
        Ok(is_as_strict && is_better && is_kept)
    }
}

/// Prints how much more is found, question by question; gives the ends of the interval.
fn difference(name: &str, ours: &[f32], theirs: &[f32]) -> (f64, f64) {
    let gains: Vec<f32> = ours.iter().zip(theirs).map(|(one, other)| one - other).collect();
    let (low, high) = interval(&gains);
    println!(
        "  {name:12} R@10 {:.1} against {:.1}: {:+.1} [{low:+.1}, {high:+.1}]",
        100.0 * mean(ours),
        100.0 * mean(theirs),
        100.0 * mean(&gains)
    );
    (low, high)
}

fn mean(values: &[f32]) -> f64 {
    values.iter().map(|&value| f64::from(value)).sum::<f64>() / values.len().max(1) as f64
}

/// In percent: where 95 % of the means of samples drawn with replacement lie.
fn interval(values: &[f32]) -> (f64, f64) {
    let mut chance = Chance::with_seed(1);
    let mut means: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            let sum: f64 = values.iter().map(|_| f64::from(values[chance.below(values.len())])).sum();
            100.0 * sum / values.len().max(1) as f64
        })
        .collect();
    means.sort_by(f64::total_cmp);
    (means[RESAMPLES / 40], means[RESAMPLES - 1 - RESAMPLES / 40])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_holds_its_mean_and_narrows_with_more_values() {
        let coins = |count: usize| -> Vec<f32> { (0..count).map(|at| (at % 2) as f32).collect() };
        let (few, many) = (interval(&coins(20)), interval(&coins(2_000)));
        assert!(few.0 < 50.0 && 50.0 < few.1, "{few:?}");
        assert!(many.0 < 50.0 && 50.0 < many.1 && many.1 - many.0 < (few.1 - few.0) / 5.0, "{many:?}");
        assert_eq!(interval(&[1.0; 5]), (100.0, 100.0));
    }
}
