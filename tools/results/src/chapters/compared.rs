//! How well sessions of dialogues are found, beside what others measured and published; and what phrases of time add.

use anyhow::{Context, Result};
use serde::Deserialize;

use super::{Part, Shown, Verdict, told};
use crate::run::Run;
use crate::table::{grouped, table};

/// What others published.
const PUBLISHED: &str = include_str!("../../../../bench/data/published/locomo.tsv");
const ALL_KINDS: &str = "all together";

/// The sets, and their names on the page.
pub(super) const SETS: [(&str, &str); 6] = [
    ("locomo", "LoCoMo"),
    ("locomo_obs", "LoCoMo facts"),
    ("beam100k", "BEAM 100k"),
    ("beam500k", "BEAM 500k"),
    ("mean", "mean of the four"),
    ("cranfield", "Cranfield"),
];
/// A set's name on the page.
pub(super) fn set_name(set: &str) -> &str {
    SETS.iter().find(|(known, _)| *known == set).map_or(set, |(_, name)| name)
}

#[derive(Deserialize)]
struct Figures {
    dialogues: u32,
    sessions: Vec<Row>,
    windows: Vec<Window>,
    verdicts: Vec<Verdict>,
}

#[derive(Deserialize)]
struct Row {
    ranker: String,
    kind: String,
    questions: u32,
    at_5: Found,
    at_10: Found,
}

#[derive(Deserialize)]
struct Found {
    share: f64,
    any: f64,
    all: f64,
}

#[derive(Deserialize)]
struct Window {
    set: String,
    kind: String,
    day: Day,
    questions: u32,
    with_phrase: u32,
    without: f64,
    with: f64,
}

#[derive(Deserialize, PartialEq)]
#[serde(rename_all = "snake_case")]
enum Day {
    OccurredAt,
    InText,
}

pub(super) fn sessions() -> Part {
    Part {
        title: "Sessions of dialogues, beside others",
        run: "locomo",
        show: compared,
        not_shown: "the whole of LoCoMo: the five dialogues are the half on which this ranking was developed, so expect less on the others. \
                    What others published is for all ten dialogues, mostly with 446 questions that mislead on purpose, whose sessions are found more \
                    easily than most. Their records differ too: whole sessions, parts of them, or turns. The rows with the same questions are of the \
                    lists that MemPalace published, question by question.",
    }
}

pub(super) fn windows() -> Part {
    Part {
        title: "Phrases of time",
        run: "locomo",
        show: phrases,
        not_shown: "languages other than English, where phrases are tested by a table and not by retrieval.",
    }
}

fn compared(run: &Run) -> Result<Shown> {
    let figures: Figures = run.figures()?;
    let together = || figures.sessions.iter().filter(|row| row.kind == ALL_KINDS);
    let mut rows = Vec::new();
    for (counted, of) in MEASURES {
        for row in together() {
            let (name, uses) = named(&row.ranker);
            rows.push(vec![
                counted.to_owned(),
                name,
                uses.to_owned(),
                format!("{:.1}", of(&row.at_5)),
                format!("{:.1}", of(&row.at_10)),
                row.questions.to_string(),
                "this run".to_owned(),
            ]);
        }
        rows.extend(published(counted)?);
    }
    rows.extend(published("recall")?);
    let kinds: Vec<Vec<String>> = figures
        .sessions
        .iter()
        .filter(|row| row.ranker == SERVICE)
        .map(|row| {
            let mut cells = vec![row.kind.clone(), row.questions.to_string()];
            let figures = [&row.at_5, &row.at_10].map(|found| [found.share, found.any, found.all]);
            cells.extend(figures.as_flattened().iter().map(|value| format!("{value:.1}")));
            cells
        })
        .collect();
    Ok(Shown::text(format!(
        "{} dialogues of LoCoMo, a record per session, saved and searched over HTTP. Counted is the share of the sessions with the answer that are \
         among the first five and ten hits, or the questions for which any or all of them are. Nobody in this table uses a language model.\n\n{}\n\
         Mnemon by kind of question:\n\n{}",
        figures.dialogues,
        table(&["counted", "system", "uses", "at 5", "at 10", "questions", "source"], rows),
        table(
            &["kind", "questions", "share at 5", "any at 5", "all at 5", "share at 10", "any at 10", "all at 10"],
            kinds
        )
    )))
}

const SERVICE: &str = "service";
type Measure = fn(&Found) -> f64;
const MEASURES: [(&str, Measure); 3] =
    [("share", |found| found.share), ("any", |found| found.any), ("all", |found| found.all)];

/// The system's name on the page, and what it ranks by.
fn named(ranker: &str) -> (String, &'static str) {
    match ranker {
        SERVICE => ("**Mnemon**".to_owned(), "words, and a static model of 256 dimensions"),
        "FTS5 porter" => ("SQLite FTS5".to_owned(), "words"),
        "BM25" => ("BM25, with our words".to_owned(), "words"),
        other => (format!("{other}, the same questions"), "as below"),
    }
}

fn published(wanted: &str) -> Result<Vec<Vec<String>>> {
    let lines = PUBLISHED.lines().filter(|line| !line.starts_with('#')).skip(1);
    let mut rows = Vec::new();
    for line in lines {
        let cells: Vec<&str> = line.split('\t').collect();
        let [system, uses, counted, at_5, at_10, questions, source] = cells[..] else {
            anyhow::bail!("bench/data/published/locomo.tsv: seven columns expected in `{line}`");
        };
        if counted == wanted {
            let shown = |figure: &str| if figure.is_empty() { "–".to_owned() } else { figure.to_owned() };
            let host = source.split('/').nth(2).context("a source is an address")?;
            rows.push(vec![
                counted.to_owned(),
                system.to_owned(),
                uses.to_owned(),
                shown(at_5),
                shown(at_10),
                grouped(questions),
                format!("[{host}]({source})"),
            ]);
        }
    }
    Ok(rows)
}

fn phrases(run: &Run) -> Result<Shown> {
    let figures: Figures = run.figures()?;
    let mut rows = Vec::new();
    for window in figures.windows.iter().filter(|window| window.day == Day::OccurredAt) {
        let in_text = figures
            .windows
            .iter()
            .find(|other| other.day == Day::InText && (&other.set, &other.kind) == (&window.set, &window.kind));
        let in_text = in_text.context("the same kind with dates in the texts")?;
        rows.push(vec![
            set_name(&window.set).to_owned(),
            window.kind.replace('_', " "),
            window.questions.to_string(),
            window.with_phrase.to_string(),
            format!("{:.1}", window.without),
            format!("{:.1}", window.with),
            format!("{:.1}", in_text.without),
            format!("{:.1}", in_text.with),
        ]);
    }
    let heads = [
        "set",
        "kind",
        "questions",
        "that name a time",
        "R@10 without windows",
        "with",
        "dates in texts, without",
        "with",
    ];
    Ok(Shown::text(format!(
        "Each text is a record. The day on which it was said is given as `occurred_at`, or left in the text. Questions are asked without and with the \
         window of days that their phrase means.\n\n{}\n{}",
        table(&heads, rows),
        told(&figures.verdicts)
    )))
}
