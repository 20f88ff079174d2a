//! The lives of two repositories of one project, thirty commits each, with facts saved along the way: how many wrong
//! facts an assistant is shown as if they held. Both have pages of the same names; pages change, move, go and come
//! back. Three memories hear the same facts and the same questions: Mnemon with `mnemon validate` after each commit,
//! Mnemon without it, and a full-text index (FTS5), which knows no statuses.

mod repository;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use mnemon_guard_train::chance::Chance;
use mnemon_testkit::{Caller, TestServer};
use rusqlite::Connection;
use serde::Serialize;
use serde_json::json;

use crate::figures::{Json, rounded};
use repository::Repository;

const COMMITS: usize = 30;
/// One for each repository.
const WORKSPACES: [&str; 2] = ["north", "south"];
/// How many facts an assistant reads for a question.
const SHOWN: usize = 3;

#[derive(clap::Args)]
pub(crate) struct Args {
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// In how many of a hundred changes the new facts are saved
    #[arg(long, default_value_t = 50)]
    resaved_percent: usize,
    /// The program [default: the one next to the bench, built now if it is not up to date]
    #[arg(long)]
    binary: Option<PathBuf>,
    #[command(flatten)]
    json: Json,
}

#[derive(Serialize)]
struct Figures {
    commits: usize,
    saved: usize,
    /// After each commit, and how many facts are shown for each.
    questions: usize,
    shown: usize,
    resaved_percent: usize,
    seed: u64,
    wrong: Vec<Wrong>,
    marked_wrong: usize,
    marked_right: usize,
    marked_unchanged: usize,
}

/// After a commit: how much of what is shown as if it held is wrong, in percent.
#[derive(Serialize)]
struct Wrong {
    commit: usize,
    with_validate: f64,
    without: f64,
    fts5: f64,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let binary = match &args.binary {
        Some(binary) => binary.canonicalize().with_context(|| format!("can't find {}", binary.display()))?,
        None => crate::faults::build()?,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let figures = runtime.block_on(live(args, &binary))?;
    figures.print();
    args.json.write(&figures)?;
    figures.judge()
}

async fn live(args: &Args, binary: &Path) -> Result<Figures> {
    let scratch = tempfile::tempdir()?;
    let mut towns = Vec::new();
    for (seed, name) in (args.seed..).zip(WORKSPACES) {
        towns.push((name, Repository::found(&scratch.path().join(name), Chance::with_seed(seed))?));
    }
    let (checked_server, unchecked_server) = (TestServer::start().await, TestServer::start().await);
    let (checked, unchecked) = (checked_server.first_caller().await, unchecked_server.first_caller().await);
    let texts = Connection::open_in_memory()?;
    texts.execute_batch(
        "CREATE VIRTUAL TABLE record USING fts5(text, place UNINDEXED, tokenize = 'porter unicode61')",
    )?;
    let mut wrong = Vec::new();
    let (mut saved, mut known, mut marked) = (0, HashSet::new(), Counts::default());
    for commit in 0..COMMITS {
        let mut counts = <[Counts; 3]>::default();
        for (name, repository) in &mut towns {
            // At the start an assistant reads everything; afterwards only some of what changes is saved again.
            let news = if commit == 0 { repository.everything() } else { repository.change(args.resaved_percent)? };
            repository.commit(commit)?;
            for fact in &news {
                let hash = repository.hash(&fact.file)?;
                let arguments =
                    json!({"content": fact.text, "source_id": fact.file, "source_hash": hash, "workspace": *name});
                checked.call("remember", arguments.clone()).await.structured();
                unchecked.call("remember", arguments).await.structured();
                // Mnemon keeps the same fact once, and so does the baseline.
                if known.insert((*name, fact.text.clone())) {
                    texts.execute("INSERT INTO record (text, place) VALUES (?1, ?2)", [fact.text.as_str(), name])?;
                }
                saved += 1;
            }
            validate(binary, &scratch.path().join(*name), name, (&checked_server.url, &checked.key))?;
        }
        for (name, repository) in &towns {
            let questions = repository.questions();
            counts[0].join(ask_mnemon(&checked, name, repository, &questions).await?);
            counts[1].join(ask_mnemon(&unchecked, name, repository, &questions).await?);
            counts[2].join(ask_texts(&texts, name, repository, &questions)?);
        }
        marked = counts[0];
        let [with_validate, without, fts5] = counts.map(|counts| rounded(100.0 * counts.share(), 2));
        wrong.push(Wrong { commit: commit + 1, with_validate, without, fts5 });
    }
    let Counts { marked_wrong, marked_right, marked_unchanged, .. } = marked;
    Ok(Figures {
        commits: COMMITS,
        saved,
        questions: towns.iter().map(|(_, repository)| repository.questions().len()).sum(),
        shown: SHOWN,
        resaved_percent: args.resaved_percent,
        seed: args.seed,
        wrong,
        marked_wrong,
        marked_right,
        marked_unchanged,
    })
}

impl Figures {
    fn print(&self) {
        let Self { commits, saved, questions, shown, resaved_percent, seed, .. } = self;
        println!(
            "two repositories, {commits} commits each, {saved} facts saved, {questions} questions after each, {shown} facts shown for each"
        );
        println!("in {resaved_percent} of 100 changes the new facts were saved; seed {seed}");
        println!("\nwrong facts shown as if they held, in % of those shown so");
        println!("{:<8} {:>22} {:>22} {:>22}", "commit", "Mnemon with validate", "Mnemon without", "FTS5");
        for Wrong { commit, with_validate, without, fts5 } in &self.wrong {
            println!("{commit:<8} {with_validate:>22.1} {without:>22.1} {fts5:>22.1}");
        }
        println!(
            "\nmarked as stale or disputed after the last commit, with validate: {} wrong facts, and {} right ones whose page\n\
             changed elsewhere, moved, or was not read again; {} whose page is as it was when they were saved",
            self.marked_wrong, self.marked_right, self.marked_unchanged
        );
    }

    fn judge(&self) -> Result<()> {
        let is_clean = self.wrong.iter().all(|wrong| wrong.with_validate == 0.0);
        let is_better = self.wrong.last().is_none_or(|last| last.without <= last.fts5);
        ensure!(is_clean && is_better, "with validate no wrong fact may be shown as if it held");
        ensure!(self.marked_unchanged == 0, "a fact whose page is unchanged may not be shown as stale");
        Ok(())
    }
}

/// What was shown as if it held.
#[derive(Clone, Copy, Default)]
struct Counts {
    right: usize,
    wrong: usize,
    marked_right: usize,
    marked_wrong: usize,
    /// Marked as stale, although the page is as it was when the fact was saved.
    marked_unchanged: usize,
}

impl Counts {
    fn add(&mut self, is_right: bool) {
        if is_right { self.right += 1 } else { self.wrong += 1 }
    }

    fn add_marked(&mut self, is_right: bool) {
        if is_right { self.marked_right += 1 } else { self.marked_wrong += 1 }
    }

    fn join(&mut self, other: Self) {
        self.right += other.right;
        self.wrong += other.wrong;
        self.marked_right += other.marked_right;
        self.marked_wrong += other.marked_wrong;
        self.marked_unchanged += other.marked_unchanged;
    }

    fn share(&self) -> f64 {
        self.wrong as f64 / (self.right + self.wrong).max(1) as f64
    }
}

/// A fact that Mnemon marks as stale or disputed is not shown as if it held, and counted apart.
async fn ask_mnemon(caller: &Caller, workspace: &str, repository: &Repository, questions: &[String]) -> Result<Counts> {
    let mut counts = Counts::default();
    for question in questions {
        let answer = caller.call("search", json!({"query": question, "limit": SHOWN, "workspace": workspace})).await;
        for record in answer.structured()["result"].as_array().context("a list")? {
            let is_right = repository.holds(record["content"].as_str().unwrap_or_default());
            let now = record["source_id"].as_str().and_then(|file| repository.hash_now(file));
            match record["status"].as_str() {
                Some("stale") if now.is_some() && now.as_deref() == record["source_hash"].as_str() => {
                    counts.marked_unchanged += 1;
                }
                Some("stale" | "conflict") => counts.add_marked(is_right),
                _ => counts.add(is_right),
            }
        }
    }
    Ok(counts)
}

fn ask_texts(texts: &Connection, workspace: &str, repository: &Repository, questions: &[String]) -> Result<Counts> {
    let mut statement =
        texts.prepare("SELECT text FROM record WHERE record MATCH ?1 AND place = ?3 ORDER BY rank LIMIT ?2")?;
    let mut counts = Counts::default();
    for question in questions {
        let words: Vec<String> = question.split_whitespace().map(|word| format!("\"{word}\"")).collect();
        let found =
            statement.query_map((words.join(" OR "), SHOWN as i64, workspace), |row| row.get::<_, String>(0))?;
        for text in found {
            counts.add(repository.holds(&text?));
        }
    }
    Ok(counts)
}

fn validate(binary: &Path, tree: &Path, workspace: &str, (url, key): (&str, &str)) -> Result<()> {
    let mut command = Command::new(binary);
    command
        .args(["validate", "--json", "--workspace", workspace, "--url", url, "--key", key])
        .current_dir(tree)
        .env_clear();
    let output = command.env("PATH", std::env::var_os("PATH").unwrap_or_default()).output()?;
    ensure!(output.status.success(), "validate: {}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}
