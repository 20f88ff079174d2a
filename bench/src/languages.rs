//! `languages`: how well a question finds a fact in its own language, in English, and from English; and what questions
//! find that have nothing to do with a workspace. Per language, with the whole ranking and its gate.

mod calibration;
mod cost;
mod data;
mod tally;

use std::path::PathBuf;

use anyhow::{Context, Result};
use mnemon_recall::{Model, NewDoc, SearchRequest, WorkspaceIndex};
use serde::Serialize;

use crate::figures::{Json, Verdict};
use calibration::Sample;
use cost::Embedding;
use data::{Facts, Foreign};
use tally::{Scores, Tally, Unrelated, mean};

/// How many hits are judged.
const LIMIT: usize = 10;
const ENGLISH: &str = "en";

#[derive(clap::Args)]
pub(crate) struct Args {
    /// A folder with `lang-dev.jsonl`: `{fact_id, lang, fact, question}`, the same facts in several languages
    #[arg(long)]
    data: PathBuf,
    #[command(flatten)]
    json: Json,
}

#[derive(Serialize)]
struct Figures {
    languages: Vec<LanguageResult>,
    embeddings: Vec<Embedding>,
    verdicts: Vec<Verdict>,
}

/// A workspace of facts, each known by its id.
struct Workspace {
    index: WorkspaceIndex,
    ids: Vec<u64>,
}

/// What was found in one language.
#[derive(Serialize)]
struct LanguageResult {
    language: String,
    /// Question and facts in it; question in it to English facts; English question to facts in it.
    own: Tally,
    to_english: Tally,
    from_english: Tally,
    /// Questions about nothing in a workspace: to these facts, to the English ones, and to records written beside them.
    unrelated: Unrelated,
    unrelated_to_english: Unrelated,
    scores: Scores,
    /// Hits between it and English.
    #[serde(skip)]
    across: Vec<Sample>,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let facts = data::load(&args.data.join("lang-dev.jsonl"))?;
    let foreign = data::foreign()?;
    let languages: Vec<LanguageResult> =
        facts.languages().map(|language| measure(&facts, &foreign, language)).collect::<Result<_>>()?;
    let mut verdicts = print_recall(&languages);
    verdicts.extend(print_unrelated(&languages, &foreign));
    print_scores(&languages);
    calibration::print(&languages);
    let embeddings = cost::measure_all(&facts);
    verdicts.push(cost::print(&embeddings));
    args.json.write(&Figures { languages, embeddings, verdicts })
}

fn measure(facts: &Facts, foreign: &[Foreign], language: &str) -> Result<LanguageResult> {
    let (own, english) = (Workspace::of(facts, language), Workspace::of(facts, ENGLISH));
    let mut row = LanguageResult {
        language: language.to_owned(),
        own: Tally::default(),
        to_english: Tally::default(),
        from_english: Tally::default(),
        unrelated: Unrelated::default(),
        unrelated_to_english: Unrelated::default(),
        scores: Scores::default(),
        across: Vec::new(),
    };
    if language != ENGLISH {
        row.across = calibration::samples(facts, foreign, language);
    }
    for fact in facts.of(language) {
        row.own.add(&own.ask(&fact.question, fact.id, &mut row.scores));
        row.to_english.add(&english.ask(&fact.question, fact.id, &mut row.scores));
    }
    for fact in facts.of(ENGLISH).filter(|fact| own.ids.contains(&fact.id)) {
        row.from_english.add(&own.ask(&fact.question, fact.id, &mut row.scores));
    }
    let foreign = foreign.iter().find(|foreign| foreign.lang == language);
    for question in &foreign.context("a language without unrelated questions")?.questions {
        row.unrelated.add(&own.index, question);
        row.unrelated_to_english.add(&english.index, question);
    }
    Ok(row)
}

impl Workspace {
    fn of(facts: &Facts, language: &str) -> Self {
        let own: Vec<_> = facts.of(language).collect();
        let index = index_of(own.iter().map(|fact| fact.fact.as_str()));
        Self { index, ids: own.iter().map(|fact| fact.id).collect() }
    }

    /// The ranks of the right fact, 0 the best; `None` where it is not among the hits.
    fn ask(&self, question: &str, gold: u64, scores: &mut Scores) -> tally::Answer {
        let hits = self.index.search(&SearchRequest::new(question, LIMIT));
        let is_gold = |seq: u64| self.ids[seq as usize] == gold;
        hits.iter().for_each(|hit| scores.add(hit.score, is_gold(hit.seq)));
        tally::Answer { rank: hits.iter().position(|hit| is_gold(hit.seq)), is_empty: hits.is_empty() }
    }
}

fn index_of<'t>(texts: impl Iterator<Item = &'t str>) -> WorkspaceIndex {
    let mut index = WorkspaceIndex::new(Model::shipped());
    for (seq, text) in (0..).zip(texts) {
        index.add(NewDoc::new(seq, text));
    }
    index
}

fn others(rows: &[LanguageResult]) -> impl Iterator<Item = &LanguageResult> {
    rows.iter().filter(|row| row.language != ENGLISH)
}

fn print_recall(rows: &[LanguageResult]) -> Vec<Verdict> {
    println!("R@1 / R@5 and empty answers, %\n");
    println!("        own language       to English facts   from English");
    for row in rows {
        println!("{:6}  {}     {}     {}", row.language, row.own, row.to_english, row.from_english);
    }
    let of = |part: fn(&LanguageResult) -> &Tally| mean(others(rows).map(part));
    let (own, to, from) = (of(|row| &row.own), of(|row| &row.to_english), of(|row| &row.from_english));
    println!("others  {own}     {to}     {from}\n");
    vec![
        bar("own language R@5", own.found_in_five(), 60.0, true),
        bar("to English facts R@5", to.found_in_five(), 55.0, true),
        bar("from English R@5", from.found_in_five(), 55.0, true),
    ]
}

fn print_unrelated(rows: &[LanguageResult], foreign: &[Foreign]) -> Vec<Verdict> {
    println!("\nquestions about nothing in the workspace: let in a record by meaning, have one above 0.5, %\n");
    println!("        20 other records   these facts   English facts");
    let mut all = Unrelated::default();
    for Foreign { lang, records, questions } in foreign {
        let index = index_of(records.iter().map(String::as_str));
        let mut own = Unrelated::default();
        questions.iter().for_each(|question| own.add(&index, question));
        let row = rows.iter().find(|row| row.language == *lang);
        let facts = row.map_or(String::new(), |row| format!("{}     {}", row.unrelated, row.unrelated_to_english));
        println!("{lang:6}  {own}          {facts}");
        all.join(&own);
    }
    let (mut facts, mut english) = (Unrelated::default(), Unrelated::default());
    others(rows).for_each(|row| {
        facts.join(&row.unrelated);
        english.join(&row.unrelated_to_english);
    });
    println!("all     {all}          {facts}     {english}   (these and English facts: without English questions)\n");
    let mut verdicts = Vec::new();
    for (place, found) in [("other records", &all), ("these facts", &facts), ("English facts", &english)] {
        verdicts.push(bar(&format!("unrelated, {place}: by meaning"), found.by_meaning(), 18.0, false));
        verdicts.push(bar(&format!("unrelated, {place}: above 0.5"), found.above(), 5.0, false));
    }
    verdicts
}

fn print_scores(rows: &[LanguageResult]) {
    println!("\nwhat a score means: of the hits above 0.5 and below 0.3, the share that is the right one, %\n");
    let mut all = Scores::default();
    for row in rows {
        println!("{:6}  {}", row.language, row.scores);
        all.join(&row.scores);
    }
    println!("all     {all}");
}

fn bar(name: &str, found: f64, wanted: f64, is_least: bool) -> Verdict {
    let is_met = if is_least { found >= wanted } else { found <= wanted };
    let limit = if is_least { "at least" } else { "at most" };
    told(is_met, format!("{name} {found:.1}, {limit} {wanted}"))
}

fn told(is_met: bool, bar: String) -> Verdict {
    println!("{} {bar}", if is_met { "PASS" } else { "MISS" });
    Verdict { is_met, bar }
}
