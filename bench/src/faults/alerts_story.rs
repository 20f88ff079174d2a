//! What a real Prometheus saw of one node during an outage, as a test of the rules that promtool runs.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::time::Duration;

use anyhow::{Context, Result};
use mnemon_core::Clock;
use mnemon_engine::SystemClock;
use serde_json::Value;

use super::alerts::{Prometheus, QUIET};

const RULES: &str = include_str!("../../../ops/prometheus/mnemon.rules.yml");
/// As often as the rules are evaluated.
const STEP_S: u64 = 15;
/// The alert of storage fires within this time.
const TOLD_WITHIN_S: u64 = 90;

impl Prometheus {
    /// The series of the first node from `long` ago until now, and which alerts it fired by its end.
    pub(super) fn story(&self, long: Duration, end: Duration, firing: &BTreeMap<String, Duration>) -> Result<String> {
        let now = SystemClock.now().as_second().unsigned_abs();
        let mut text = String::from(
            "# What Prometheus saw of one node in a real outage of PostgreSQL, which began after a minute. Made by\n\
             # `mnemon-bench faults alerts --record ops/prometheus/outage.test.yml`.\n\
             rule_files: [mnemon.rules.yml]\nevaluation_interval: 15s\ntests:\n  - name: PostgreSQL is away\n    \
             interval: 15s\n    input_series:\n",
        );
        let mut instance = None;
        for name in names() {
            let range = format!("query_range?query={name}&start={}&end={now}&step={STEP_S}", now - long.as_secs());
            let answer = self.ask(&range).with_context(|| format!("Prometheus does not answer for {name}"))?;
            for series in answer["data"]["result"].as_array().into_iter().flatten() {
                let own = series["metric"]["instance"].as_str().unwrap_or_default();
                if instance.get_or_insert_with(|| own.to_owned()) == own {
                    write_series(&mut text, series, now - long.as_secs(), long.as_secs() / STEP_S);
                }
            }
        }
        text.push_str("    promql_expr_test:\n");
        let ends = (end.as_secs() / STEP_S - 1) * STEP_S;
        expect(&mut text, "MnemonStorageFails", QUIET.as_secs() - STEP_S, false);
        expect(&mut text, "MnemonStorageFails", QUIET.as_secs() + TOLD_WITHIN_S, true);
        for alert in RULES.lines().filter_map(|line| line.trim().strip_prefix("- alert: ")) {
            expect(&mut text, alert, ends, firing.contains_key(alert));
        }
        Ok(text)
    }
}

/// The figures that the rules look at.
fn names() -> BTreeSet<&'static str> {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let words = RULES.lines().filter(|line| line.trim().starts_with("expr:")).flat_map(|line| {
        line.split(move |letter| !is_part(letter))
            .filter(|word| *word == "up" || word.starts_with("mnemon_") || word.starts_with("process_"))
    });
    words.collect()
}

fn write_series(text: &mut String, series: &Value, start: u64, steps: u64) {
    let metric = series["metric"].as_object().into_iter().flatten();
    let labels: Vec<String> = metric
        .filter(|(name, _)| *name != "__name__")
        .map(|(name, value)| {
            let value = if name == "instance" { "n1" } else { value.as_str().unwrap_or_default() };
            format!("{name}=\"{value}\"")
        })
        .collect();
    let points: BTreeMap<u64, &str> = series["values"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|point| Some(((point[0].as_f64()? as u64 - start) / STEP_S, point[1].as_str()?)))
        .collect();
    let values: Vec<&str> = (0..=steps).map(|step| points.get(&step).copied().unwrap_or("_")).collect();
    // `5x3` stands for 5 and three more of it.
    let runs = values.chunk_by(|one, next| one == next).map(|run| match run.len() {
        1 => run[0].to_owned(),
        length => format!("{}x{}", run[0], length - 1),
    });
    let values = runs.collect::<Vec<_>>().join(" ");
    let name = series["metric"]["__name__"].as_str().unwrap_or_default();
    let _ = writeln!(text, "      - series: '{name}{{{}}}'\n        values: '{values}'", labels.join(", "));
}

fn expect(text: &mut String, alert: &str, at_s: u64, is_firing: bool) {
    let _ = writeln!(
        text,
        "      - expr: count(ALERTS{{alertname=\"{alert}\", alertstate=\"firing\"}}) or vector(0)\n        \
         eval_time: {at_s}s\n        exp_samples:\n          - value: {}",
        u8::from(is_firing)
    );
}
