//! Does a search find what it should?

use anyhow::{Context, Result};
use serde::Deserialize;

use super::compared::{SETS, set_name};
use super::{Chapter, Judged, Part, Shown, as_printed, told};
use crate::plot::{Axis, Series, bars, lines};
use crate::run::Run;
use crate::table::{grouped, table};

pub(super) fn recall() -> Chapter {
    Chapter {
        title: "Recall",
        parts: vec![
            Part {
                title: "Questions to labelled sets",
                run: "recall",
                show: labelled_sets,
                not_shown: "how an assistant uses the hits; languages other than English; data that nobody had looked at. The weights were chosen \
                            on these sets, so expect less on others: [Recall](concepts/recall.md#how-well-it-ranks) says how much less on held-back \
                            projects. Cranfield is not in the mean, because its abstracts are unlike memories.",
            },
            Part {
                title: "The same by kind of question",
                run: "recall",
                show: kinds,
                not_shown: "how sure a figure is: some kinds have few questions.",
            },
            super::compared::sessions(),
            super::compared::windows(),
            Part {
                title: "Questions without a word in common",
                run: "natural",
                show: natural,
                not_shown: "how real users ask: two authors wrote the questions, and one of them the facts. Nothing was chosen by this set.",
            },
            Part {
                title: "What the score says",
                run: "score",
                show: score,
                not_shown: "whether 0.7 is right seven times in ten: only the share on each side of 0.5 was counted.",
            },
            Part {
                title: "Records found by meaning alone",
                run: "gate",
                show: gate,
                not_shown: "languages other than English.",
            },
            Part {
                title: "Languages",
                run: "languages",
                show: languages,
                not_shown: "how people of a language write to an assistant: facts and questions were written for this, 30 in a language, so one \
                            question is three points (15, and seven, in uk it tr ko). The gate, and what a score means between languages, were \
                            chosen with them in sight. nl cs sv fi hu vi id ar have no questions of their own here, only unrelated ones.",
            },
        ],
    }
}

const RANKERS: [(&str, &str); 3] = [("full", "Mnemon"), ("FTS5 porter", "SQLite FTS5"), ("BM25", "BM25")];

#[derive(Deserialize)]
struct Labelled {
    sets: Vec<Ranked>,
    kinds: Vec<Kind>,
    keywords: Vec<Keywords>,
}

#[derive(Deserialize)]
struct Ranked {
    set: String,
    ranker: String,
    #[serde(flatten)]
    quality: Quality,
}

#[derive(Deserialize)]
struct Kind {
    set: String,
    kind: String,
    questions: u32,
    ranker: String,
    #[serde(flatten)]
    quality: Quality,
}

#[derive(Deserialize)]
struct Quality {
    at_1: f64,
    at_5: f64,
    at_10: f64,
    mrr: f64,
    ndcg: f64,
}

#[derive(Deserialize)]
struct Keywords {
    set: String,
    queries: u32,
    kept: u32,
}

fn labelled_sets(run: &Run) -> Result<Shown> {
    let Labelled { sets, keywords, .. } = run.figures()?;
    let mut rows = Vec::new();
    let mut groups = Vec::new();
    for (set, name) in SETS {
        let mut tens = Vec::new();
        for (ranker, called) in RANKERS {
            let found = sets.iter().find(|row| row.set == set && row.ranker == ranker);
            let Quality { at_1, at_5, at_10, mrr, ndcg } =
                &found.with_context(|| format!("bench/runs/recall.json has no {ranker} on {set}"))?.quality;
            let mut row = vec![name.to_owned(), called.to_owned()];
            row.extend([at_1, at_5, at_10, mrr, ndcg].map(|figure| format!("{figure:.1}")));
            tens.push(format!("{at_10:.1}"));
            rows.push(row);
        }
        groups.push((name.to_owned(), tens));
    }
    let keywords = keywords.iter().find(|row| row.set == "as one").context("the row of keyword queries is missing")?;
    let text = format!(
        "Share of the records that answer a question and are among the first 1, 5 and 10 hits, in percent; mean reciprocal rank; nDCG@10. Each \
         project of a set is searched by itself.\n\n{}\nOf keyword queries (two or three words of a record) to all sets as one workspace, {} of {} \
         show a record with all their words first.",
        table(&["set", "ranking", "R@1", "R@5", "R@10", "MRR", "nDCG@10"], rows),
        grouped(keywords.kept),
        grouped(keywords.queries)
    );
    let y = Axis::linear("R@10, percent", &[0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
    let plot = bars("Answers among the first ten hits", &y, &RANKERS.map(|(_, called)| called), &groups);
    Ok(Shown { text, plots: vec![("recall", "R@10 of Mnemon, SQLite FTS5 and BM25 on each set", plot)] })
}

/// One row for each kind of question: all rankings beside each other.
fn kinds(run: &Run) -> Result<Shown> {
    let Labelled { kinds, .. } = run.figures()?;
    let mut rows: Vec<Vec<String>> = Vec::new();
    for first in kinds.iter().filter(|row| row.ranker == RANKERS[0].0) {
        let mut row = vec![set_name(&first.set).to_owned(), first.kind.replace('_', " "), first.questions.to_string()];
        let same = |ranker: &str| {
            let found =
                kinds.iter().find(|row| (&row.set, &row.kind) == (&first.set, &first.kind) && row.ranker == ranker);
            found.with_context(|| format!("bench/runs/recall.json has no {ranker} for {}", first.kind))
        };
        let found = RANKERS.map(|(ranker, _)| same(ranker));
        for found in &found {
            let quality = &found.as_ref().map_err(|error| anyhow::anyhow!("{error}"))?.quality;
            row.extend([quality.at_5, quality.at_10].map(|figure| format!("{figure:.1}")));
        }
        rows.push(row);
    }
    let heads = ["set", "kind", "questions", "Mnemon R@5", "R@10", "FTS5 R@5", "R@10", "BM25 R@5", "R@10"];
    Ok(Shown::text(table(&heads, rows)))
}

#[derive(Deserialize)]
struct Natural {
    own: Vec<Manner>,
    foreign: Foreign,
}

#[derive(Deserialize)]
struct Manner {
    manner: String,
    questions: u32,
    first: f64,
    in_ten: f64,
    empty: f64,
}

#[derive(Deserialize)]
struct Foreign {
    questions: u32,
    find_something: f64,
    find_something_likely: f64,
}

fn natural(run: &Run) -> Result<Shown> {
    let Natural { own, foreign } = run.figures()?;
    let row = |manner: &Manner| {
        let name = match manner.manner.as_str() {
            "1" => "in keywords",
            "2" => "as people talk",
            "3" => "by a second author",
            _ => "all",
        };
        let figures = [manner.first, manner.in_ten, manner.empty].map(|share| format!("{share:.1} %"));
        let mut cells = vec![name.to_owned(), manner.questions.to_string()];
        cells.extend(figures);
        cells
    };
    let rows = own.iter().map(row);
    Ok(Shown::text(format!(
        "Five workspaces of thirty facts. No question shares a content word with the fact that answers it.\n\n{}\n{} times a question was asked of \
         another workspace, where nothing answers it: {:.1} % found something, {:.1} % something that scores above 0.5.",
        table(&["asked", "questions", "fact first", "among ten", "nothing found"], rows),
        grouped(foreign.questions),
        foreign.find_something,
        foreign.find_something_likely
    )))
}

#[derive(Deserialize)]
struct Scores {
    rows: Vec<Scored>,
}

#[derive(Deserialize)]
struct Scored {
    name: String,
    gold: f64,
    gold_hits: u32,
    foreign: f64,
    foreign_hits: u32,
}

fn score(run: &Run) -> Result<Shown> {
    let named = [
        ("together", "all sets"),
        ("half 0", "fitted on one half of the projects, measured on the other"),
        ("half 1", "and the other way round"),
        ("3 words", "queries cut to their 3 longest words"),
        ("2 words", "queries cut to their 2 longest words"),
    ];
    let Scores { rows: scores } = run.figures()?;
    let mut rows = Vec::new();
    for (row, name) in named {
        let scored = scores.iter().find(|scored| scored.name == row);
        let scored = scored.with_context(|| format!("bench/runs/score.json has no `{row}`"))?;
        let share = |share: f64, of: u32| format!("{share:.1} % of {}", grouped(of));
        rows.push(vec![
            name.to_owned(),
            share(scored.gold, scored.gold_hits),
            share(scored.foreign, scored.foreign_hits),
        ]);
    }
    Ok(Shown::text(format!(
        "A score is the chance that a record is an answer. The share of right hits, and of hits of foreign queries (asked of another set), that score \
         above 0.5:\n\n{}",
        table(&["", "right hits", "foreign hits"], rows)
    )))
}

#[derive(Deserialize)]
struct Gate {
    rows: Vec<Bar>,
}

/// What is found with the bar at one height.
#[derive(Deserialize)]
struct Bar {
    bar: f64,
    is_service: bool,
    foreign: f64,
    foreign_of_few: f64,
    paraphrased: f64,
    low: f64,
    high: f64,
    as_asked: f64,
}

fn gate(run: &Run) -> Result<Shown> {
    let Gate { rows } = run.figures()?;
    let shipped = rows.iter().find(|row| row.is_service).context("bench/runs/gate.json has no bar of the service")?;
    let Bar { foreign, foreign_of_few, paraphrased, low, high, as_asked, .. } = shipped;
    let text = format!(
        "A record that shares no word with a question is returned if its meaning is near enough. Where the bar stands in the service, {foreign:.1} % of \
         foreign questions get such a record ({foreign_of_few:.1} % in small workspaces), and {paraphrased:.1} % of paraphrased questions, which share \
         few words with their answer, find it among ten (95 % interval {low:.1} to {high:.1}). Questions as people asked them: {as_asked:.1} %."
    );
    let series = |name: &str, value: fn(&Bar) -> f64| Series {
        name: name.to_owned(),
        points: rows.iter().map(|row| (row.bar, value(row))).collect(),
    };
    let plot = lines(
        "What a higher bar keeps out, and what it costs",
        &Axis::linear("base of the bar (the service: -0.15)", &[-0.5, -0.4, -0.3, -0.2, -0.1, 0.0, 0.1, 0.2]),
        &Axis::linear("percent", &[0.0, 20.0, 40.0, 60.0, 80.0, 100.0]),
        &[
            series("foreign questions", |row| row.foreign),
            series("paraphrased, R@10", |row| row.paraphrased),
            series("as asked, R@10", |row| row.as_asked),
        ],
    );
    Ok(Shown {
        text,
        plots: vec![("gate", "Foreign questions that get a record, and R@10, by the base of the bar", plot)],
    })
}

/// Its bars, and the tables as they were printed.
fn languages(run: &Run) -> Result<Shown> {
    let Judged { verdicts } = run.figures()?;
    Ok(Shown::text(format!(
        "The same facts of a team in several languages, each with a question in other words: asked in the language of the facts, of English facts, and \
         in English. Then questions that have nothing to do with the records, and what a score of a hit was worth, by language.\n\n{}\n{}",
        told(&verdicts),
        as_printed(run)
    )))
}
