//! `locomo`: dialogues, a record per session, asked over HTTP, beside FTS5, plain BM25 and what others published for
//! the same questions; and what phrases of time add where every text is a record with the day on which it was said. By
//! kind of question.

mod published;
mod windows;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::PathBuf;

use anyhow::{Context, Result};
use mnemon_core::CONTENT_BYTES_MAX;
use mnemon_recall::{Days, Model, NewDoc, Recipe, SearchRequest, WorkspaceIndex, civil};
use mnemon_testkit::wire::Wire;
use serde::Serialize;
use serde_json::json;

use crate::figures::{Json, Verdict, judge, percent};
use crate::load::{Started, progress};
use crate::recall::{Fts5, Project, Query, Set, load};
use published::Published;

const CUTS: [usize; 2] = [5, 10];
const LIMIT: usize = 10;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// A folder with one folder per set, each with `corpus.jsonl` and `queries.jsonl`; `locomo` among them
    #[arg(long)]
    data: PathBuf,
    /// What another system published for each question: a list of `{sample_id, question, retrieved_ids}`
    #[arg(long, value_name = "NAME=FILE", value_parser = published::named)]
    published: Vec<(String, PathBuf)>,
    #[command(flatten)]
    json: Json,
}

#[derive(Serialize)]
struct Figures {
    dialogues: usize,
    sessions: Vec<Row>,
    windows: Vec<windows::Row>,
    verdicts: Vec<Verdict>,
}

/// How one ranker finds the sessions for one kind of question, in percent.
#[derive(Serialize)]
struct Row {
    ranker: String,
    kind: String,
    questions: u32,
    at_5: Found,
    at_10: Found,
}

#[derive(Serialize)]
struct Found {
    share: f64,
    any: f64,
    all: f64,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let sets = load(&args.data)?;
    let turns = sets.iter().find(|set| set.name == "locomo").context("there is no set called locomo")?;
    let published = args.published.iter().map(|(name, path)| Published::read(name, path));
    let published: Vec<Published> = published.collect::<Result<_>>()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let sessions = runtime.block_on(sessions(turns, &published))?;
    let windows = windows::measure(&sets);
    let verdicts = windows::verdicts(&windows);
    let figures = Figures { dialogues: turns.projects.len(), sessions, windows, verdicts };
    figures.print();
    args.json.write(&figures)?;
    judge(&figures.verdicts);
    Ok(())
}

impl Figures {
    fn print(&self) {
        println!(
            "a record per session, {} dialogues; share of the gold sessions, any and all of them\n",
            self.dialogues
        );
        println!("{:24} {:14} questions   share@5  any@5  all@5    share@10 any@10 all@10", "", "kind");
        for Row { ranker, kind, questions, at_5, at_10 } in &self.sessions {
            print!("{ranker:24} {kind:14} {questions:9}   {:7.1} {:6.1} {:6.1}", at_5.share, at_5.any, at_5.all);
            println!("    {:8.1} {:6.1} {:6.1}", at_10.share, at_10.any, at_10.all);
        }
        windows::print(&self.windows);
    }
}

/// A record per session, in the order of the set.
struct Session {
    name: String,
    day: Option<Days>,
    text: String,
}

/// How well the sessions of the gold turns are found.
async fn sessions(set: &Set, published: &[Published]) -> Result<Vec<Row>> {
    let mut tables: Vec<Table> = Vec::new();
    let rankers = ["service", "FTS5 porter", "BM25"];
    tables.resize_with(rankers.len() + published.len(), Table::default);
    for (number, project) in set.projects.iter().enumerate() {
        progress(&format!("dialogue {} of {}", number + 1, set.projects.len()));
        let sessions = sessions_of(project);
        let data = tempfile::tempdir()?;
        let server = Started::service(data.path())?;
        let mut wire = Wire::connect(server.address, &server.key).await?;
        save(&mut wire, &sessions).await?;
        let fts5 = Fts5::new(sessions.iter().map(|session| session.text.as_str()))?;
        let mut index = WorkspaceIndex::new(Model::shipped());
        (0..).zip(&sessions).for_each(|(seq, session)| index.add(NewDoc::new(seq, &session.text)));
        for query in &project.queries {
            let ours = search(&mut wire, query).await?;
            let name = |at: usize| sessions[at].name.clone();
            let bm25 = index.search_by(&Recipe::BM25, &SearchRequest::new(&query.text, LIMIT));
            let bm25 = bm25.iter().map(|hit| name(hit.seq as usize)).collect();
            let fts5 = fts5.search(&query.text, LIMIT)?.into_iter().map(name).collect();
            let mut found: Vec<Vec<String>> = vec![ours, fts5, bm25];
            found.extend(published.iter().map(|published| published.found(&project.name, &query.text)));
            let gold = query.gold.iter().map(|&record| session_of(&project.names[record])).collect();
            for (table, found) in tables.iter_mut().zip(found) {
                table.add(&query.kind, &found, &gold);
            }
        }
    }
    progress("");
    let names = rankers.into_iter().chain(published.iter().map(|published| published.name.as_str()));
    Ok(names.zip(&tables).flat_map(|(name, table)| table.rows(name)).collect())
}

async fn save(wire: &mut Wire, sessions: &[Session]) -> Result<()> {
    for session in sessions {
        let mut call = json!({"content": session.text, "source": session.name});
        if let Some(days) = session.day {
            let (year, month, day) = civil(days.first);
            call["occurred_at"] = json!(format!("{year:04}-{month:02}-{day:02}"));
        }
        let saved = wire.call("remember", &call).await;
        saved.map_err(|failed| anyhow::anyhow!("a save failed: {failed:?}"))?;
    }
    Ok(())
}

async fn search(wire: &mut Wire, query: &Query) -> Result<Vec<String>> {
    let answer = wire.call("search", &json!({"query": query.text, "limit": LIMIT})).await;
    let answer = answer.map_err(|failed| anyhow::anyhow!("a search failed: {failed:?}"))?;
    let found = answer["result"].as_array().context("a list")?;
    Ok(found.iter().filter_map(|record| record["source"].as_str().map(str::to_owned)).collect())
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

/// The same dialogue with a record per session; the answer to a question is in the sessions of its turns.
pub(crate) fn by_session(project: &Project) -> Project {
    let mut whole = Project::default();
    for session in sessions_of(project) {
        whole.records.push(whole.texts.len());
        whole.names.push(session.name);
        whole.texts.push(session.text);
    }
    for query in &project.queries {
        let place = |&turn: &usize| whole.names.iter().position(|name| name == session_of(&project.names[turn]));
        let gold = query.gold.iter().filter_map(place).collect();
        whole.queries.push(Query { text: query.text.clone(), gold, kind: query.kind.clone() });
    }
    whole
}

/// Sums by kind of question: how many, and share, any and all at each cut.
#[derive(Default)]
struct Table(BTreeMap<String, (u32, [[f64; 3]; CUTS.len()])>);

impl Table {
    fn add(&mut self, kind: &str, found: &[String], gold: &BTreeSet<&str>) {
        for kind in [kind, "all together"] {
            let (questions, sums) = self.0.entry(kind.to_owned()).or_default();
            *questions += 1;
            for (sums, cut) in sums.iter_mut().zip(CUTS) {
                let hits: HashSet<_> = found.iter().take(cut).filter(|name| gold.contains(name.as_str())).collect();
                sums[0] += hits.len() as f64 / gold.len() as f64;
                sums[1] += f64::from(u8::from(!hits.is_empty()));
                sums[2] += f64::from(u8::from(hits.len() == gold.len()));
            }
        }
    }

    fn rows(&self, ranker: &str) -> Vec<Row> {
        let rows = self.0.iter().map(|(kind, (questions, sums))| {
            let [at_5, at_10] = sums.map(|sums| {
                let [share, any, all] = sums.map(|sum| percent(sum, *questions));
                Found { share, any, all }
            });
            Row { ranker: ranker.to_owned(), kind: kind.clone(), questions: *questions, at_5, at_10 }
        });
        rows.collect()
    }
}
