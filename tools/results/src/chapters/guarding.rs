//! What the guard refuses, rightly and wrongly, and what a verdict costs.

use anyhow::{Context, Result};
use serde::Deserialize;

use super::{Chapter, Part, Shown, Verdict, told};
use crate::plot::{Axis, bars};
use crate::run::Run;
use crate::table::table;

pub(super) fn chapter() -> Chapter {
    Chapter {
        title: "Guard",
        parts: vec![
            Part {
                title: "Harmless texts and attacks",
                run: "guard",
                show: verdicts,
                not_shown: "attackers who know the guard. It sees marks of an order to a machine; a false fact without one passes. \
                            [Guard](concepts/guard.md) says what was looked at while choosing the weights.",
            },
            Part {
                title: "Ordinary pages by language",
                run: "guard",
                show: pages_by_language,
                not_shown: "languages with fewer than 60 such pages. Where there are a hundred, one page more or less is a point.",
            },
        ],
    }
}

const BY_LANGUAGE: &str = "languages: ";

#[derive(Deserialize)]
struct Figures {
    languages: Vec<Language>,
    pieces: Pieces,
    bars: Vec<Bar>,
}

#[derive(Deserialize)]
struct Language {
    language: String,
    all: u32,
    refused: f64,
    noticed: f64,
}

/// What a verdict on a kilobyte costs.
#[derive(Deserialize)]
struct Pieces {
    p50_us: f64,
    p99_us: f64,
}

#[derive(Deserialize)]
struct Bar {
    name: String,
    found: String,
    value: Option<f64>,
    wanted: String,
    is_met: bool,
}

/// The table by language, and the two bars on it.
fn pages_by_language(run: &Run) -> Result<Shown> {
    let Figures { languages, bars, .. } = run.figures()?;
    let row = |Language { language, all, refused, noticed }: &Language| {
        vec![language.clone(), all.to_string(), format!("{refused:.2} %"), format!("{noticed:.2} %")]
    };
    let rows = languages.iter().map(row);
    let judged = bars.iter().filter_map(|bar| {
        let name = bar.name.strip_prefix(BY_LANGUAGE)?;
        Some(Verdict { is_met: bar.is_met, bar: format!("{name} {}: {}", bar.wanted, bar.found) })
    });
    Ok(Shown::text(format!(
        "News, encyclopedias, fiction, law and help pages, which the weights never saw: how many, and how many of them are refused, and refused or \
         doubtful.\n\n{}\n{}",
        table(&["language", "pages", "refused", "refused or doubtful"], rows),
        told(&judged.collect::<Vec<_>>())
    )))
}

fn verdicts(run: &Run) -> Result<Shown> {
    let Figures { pieces, bars, .. } = run.figures()?;
    let row = |Bar { name, found, wanted, is_met, .. }: &Bar| {
        let wanted = wanted.replace("<=", "at most").replace(">=", "at least");
        vec![name.clone(), found.clone(), wanted, if *is_met { "met" } else { "**missed**" }.to_owned()]
    };
    let rows = bars.iter().filter(|bar| !bar.name.starts_with(BY_LANGUAGE)).map(row);
    let text = format!(
        "Texts of sources that took no part in training. Nobody read the later sets of our own texts, but their rates were \
         known when the weights were chosen: expect a little less on other texts.\n\n{}\nA verdict on a kilobyte takes {:.1} µs of CPU in the middle of many documents and {:.1} µs in the worst of them; on 16 kB of the \
         costliest kind of text, {}.",
        table(&["what", "rate", "bar", ""], rows),
        pieces.p50_us,
        pieces.p99_us,
        named(&bars, "judge: the worst adversarial 16 kB")?.found
    );
    Ok(Shown { text, plots: vec![("guard", "Attacks refused, by kind", attacks(&bars)?)] })
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

fn named<'b>(bars: &'b [Bar], name: &str) -> Result<&'b Bar> {
    bars.iter().find(|bar| bar.name == name).with_context(|| format!("bench/runs/guard.json has no bar `{name}`"))
}

fn attacks(found: &[Bar]) -> Result<String> {
    let mut groups = Vec::new();
    for (short, kind) in KINDS {
        let share = named(found, &format!("attacks refused: {kind}"))?.value.context("a share")?;
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
