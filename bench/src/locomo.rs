//! `locomo`: dialogues, a record per session, asked over HTTP, beside FTS5 and plain BM25; and what phrases of time add
//! where every turn is a record with the day on which it was said. By kind of question.

mod windows;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::PathBuf;

use anyhow::{Context, Result};
use mnemon_core::CONTENT_BYTES_MAX;
use mnemon_recall::{Days, Model, NewDoc, Recipe, SearchRequest, WorkspaceIndex, civil};
use mnemon_testkit::wire::Wire;
use serde_json::json;

use crate::load::{Started, progress};
use crate::recall::{Fts5, Project, Set, load};

const CUTS: [usize; 2] = [5, 10];
const LIMIT: usize = 10;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// A folder with one folder per set, each with `corpus.jsonl` and `queries.jsonl`; `locomo` among them
    #[arg(long)]
    data: PathBuf,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let sets = load(&args.data)?;
    let turns = sets.iter().find(|set| set.name == "locomo").context("there is no set called locomo")?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(sessions(turns))?;
    windows::run(&sets);
    Ok(())
}

/// A record per session, in the order of the set.
struct Session {
    name: String,
    day: Option<Days>,
    text: String,
}

/// How well the sessions of the gold turns are found.
async fn sessions(set: &Set) -> Result<()> {
    let mut tables: [Table; 3] = [Table::default(), Table::default(), Table::default()];
    for (number, project) in set.projects.iter().enumerate() {
        progress(&format!("dialogue {} of {}", number + 1, set.projects.len()));
        let sessions = sessions_of(project);
        let data = tempfile::tempdir()?;
        let server = Started::service(data.path())?;
        let mut wire = Wire::connect(server.address, &server.key).await?;
        for session in &sessions {
            let mut call = json!({"content": session.text, "source": session.name});
            if let Some(days) = session.day {
                let (year, month, day) = civil(days.first);
                call["occurred_at"] = json!(format!("{year:04}-{month:02}-{day:02}"));
            }
            let saved = wire.call("remember", &call).await;
            saved.map_err(|failed| anyhow::anyhow!("a save failed: {failed:?}"))?;
        }
        let fts5 = Fts5::new(sessions.iter().map(|session| session.text.as_str()))?;
        let mut index = WorkspaceIndex::new(Model::shipped());
        (0..).zip(&sessions).for_each(|(seq, session)| index.add(NewDoc::new(seq, &session.text)));
        for query in &project.queries {
            let gold: BTreeSet<&str> = query.gold.iter().map(|&record| session_of(&project.names[record])).collect();
            let answer = wire.call("search", &json!({"query": query.text, "limit": LIMIT})).await;
            let answer = answer.map_err(|failed| anyhow::anyhow!("a search failed: {failed:?}"))?;
            let found = answer["result"].as_array().context("a list")?;
            let ours: Vec<&str> = found.iter().filter_map(|record| record["source"].as_str()).collect();
            let name = |at: usize| sessions[at].name.as_str();
            let bm25 = index.search_by(&Recipe::BM25, &SearchRequest::new(&query.text, LIMIT));
            let bm25: Vec<&str> = bm25.iter().map(|hit| name(hit.seq as usize)).collect();
            let fts5: Vec<&str> = fts5.search(&query.text, LIMIT)?.into_iter().map(name).collect();
            for (table, found) in tables.iter_mut().zip([ours, bm25, fts5]) {
                table.add(&query.kind, &found, &gold);
            }
        }
    }
    progress("");
    println!(
        "a record per session, {} dialogues; share of the gold sessions, any and all of them\n",
        set.projects.len()
    );
    println!("{:10} {:14} questions {}", "", "kind", Table::HEADINGS);
    for (name, table) in ["service", "BM25", "FTS5 porter"].iter().zip(&tables) {
        table.print(name);
    }
    Ok(())
}

/// The session in a turn's id: `D1` of `D1:3`.
fn session_of(turn: &str) -> &str {
    turn.split(':').next().unwrap_or(turn)
}

fn sessions_of(project: &Project) -> Vec<Session> {
    let mut sessions: Vec<Session> = Vec::new();
    for (text, &record) in project.texts.iter().zip(&project.records) {
        let name = session_of(&project.names[record]);
        let (day, said) = windows::dated(text);
        match sessions.last_mut().filter(|session| session.name == name) {
            Some(session) => session.text = [&session.text, "\n", said].concat(),
            None => sessions.push(Session { name: name.to_owned(), day, text: said.to_owned() }),
        }
    }
    for session in &mut sessions {
        let end = (0..=CONTENT_BYTES_MAX.min(session.text.len())).rev().find(|&at| session.text.is_char_boundary(at));
        session.text.truncate(end.unwrap_or(0));
    }
    sessions
}

/// Sums by kind of question: how many, and share, any and all at each cut.
#[derive(Default)]
struct Table(BTreeMap<String, (u32, [[f64; 3]; CUTS.len()])>);

impl Table {
    const HEADINGS: &str = "share@5  any@5  all@5   share@10 any@10 all@10";

    fn add(&mut self, kind: &str, found: &[&str], gold: &BTreeSet<&str>) {
        for kind in [kind, "all together"] {
            let (questions, sums) = self.0.entry(kind.to_owned()).or_default();
            *questions += 1;
            for (sums, cut) in sums.iter_mut().zip(CUTS) {
                let hits: HashSet<_> = found.iter().take(cut).filter(|name| gold.contains(**name)).collect();
                sums[0] += hits.len() as f64 / gold.len() as f64;
                sums[1] += f64::from(u8::from(!hits.is_empty()));
                sums[2] += f64::from(u8::from(hits.len() == gold.len()));
            }
        }
    }

    fn print(&self, ranker: &str) {
        for (kind, (questions, sums)) in &self.0 {
            print!("{ranker:12} {kind:14} {questions:6}   ");
            for sums in sums {
                let [share, any, all] = sums.map(|sum| 100.0 * sum / f64::from(*questions));
                print!("{share:6.1} {any:6.1} {all:6.1}     ");
            }
            println!();
        }
    }
}
