//! A damaged database file: a flipped byte anywhere, a truncated file, a zeroed header. The service may refuse to
//! start, any call may fail, and a damaged record may be left out; but what an answer shows is right, and the log says
//! what to do.

use std::path::Path;

use anyhow::Result;
use mnemon_guard_train::chance::Chance;
use mnemon_testkit::faults::{Program, Signal, Story};
use mnemon_testkit::wire::{CallFailed, Wire};
use serde_json::{Value, json};

use super::Setup;
use super::outcome::Outcome;

const RECORDS: usize = 300;
const FORGET_ONE_OF: usize = 5;
const FLIPS: usize = 200;
const CUTS: usize = 20;
const HEADER_BYTES: usize = 100;

/// What is done to the file.
#[derive(Debug, Clone, Copy)]
enum Damage {
    Flip { at: usize, by: u8 },
    Cut { at: usize },
    ZeroHeader,
}

/// What a damaged file led to.
#[derive(Debug, Default)]
struct Tally {
    harmless: usize,
    refused_start: usize,
    failed_calls: usize,
    silent: Vec<String>,
    without_advice: Vec<String>,
}

pub(crate) async fn run(setup: &Setup) -> Result<Outcome> {
    let (mut program, _scratch) = setup.program()?;
    let story = fill(&mut program).await?;
    let file = program.data_dir.join("mnemon.db");
    let whole = std::fs::read(&file)?;
    let mut chance = Chance::with_seed(setup.seed);
    let mut tally = Tally::default();
    let damages = damages(&mut chance, whole.len(), setup.rounds(FLIPS));
    for damage in &damages {
        restore(&program.data_dir, &whole, *damage)?;
        try_one(&program, &story, *damage, &mut tally).await?;
    }
    for (what, list) in [("wrong without an error", &tally.silent), ("no advice", &tally.without_advice)] {
        for item in list.iter().take(10) {
            println!("  {what}: {item}");
        }
    }
    Ok(Outcome::new("corrupt", damages.len())
        .fact(format!("{} harmless", tally.harmless))
        .fact(format!("{} refused to start", tally.refused_start))
        .fact(format!("{} failed some calls or left a record out", tally.failed_calls))
        .must(tally.silent.is_empty(), format!("{} wrong without an error", tally.silent.len()))
        .must(tally.without_advice.is_empty(), format!("{} without advice in the log", tally.without_advice.len())))
}

/// Saves and forgets, and exits properly so that everything is in the one file.
async fn fill(program: &mut Program) -> Result<Story> {
    let mut service = program.start().await?;
    program.key = Some(service.key.clone());
    let mut wire = service.connect().await?;
    let mut story = Story::new("damaged", "one-writer");
    for _ in 0..RECORDS {
        story.save(&mut wire).await?;
    }
    let forgotten: Vec<String> = story.saved.keys().step_by(FORGET_ONE_OF).cloned().collect();
    for id in forgotten {
        story.forget(&mut wire, &id).await?;
    }
    drop(wire);
    service.signal(Signal::Terminate)?;
    service.wait(std::time::Duration::from_secs(15)).await?;
    Ok(story)
}

fn damages(chance: &mut Chance, size: usize, flips: usize) -> Vec<Damage> {
    let flips = (0..flips).map(|_| (chance.below(size), 1 + chance.below(255) as u8));
    let mut damages: Vec<Damage> = flips.map(|(at, by)| Damage::Flip { at, by }).collect();
    damages.extend((0..CUTS).map(|_| Damage::Cut { at: chance.below(size) }));
    damages.push(Damage::ZeroHeader);
    damages
}

fn restore(data_dir: &Path, whole: &[u8], damage: Damage) -> Result<()> {
    let mut bytes = whole.to_vec();
    match damage {
        Damage::Flip { at, by } => bytes[at] ^= by,
        Damage::Cut { at } => bytes.truncate(at),
        Damage::ZeroHeader => bytes[..HEADER_BYTES].fill(0),
    }
    for beside in ["mnemon.db-wal", "mnemon.db-shm"] {
        let _ = std::fs::remove_file(data_dir.join(beside));
    }
    Ok(std::fs::write(data_dir.join("mnemon.db"), bytes)?)
}

async fn try_one(program: &Program, story: &Story, damage: Damage, tally: &mut Tally) -> Result<()> {
    let log = program.scratch.join("service.log");
    let _ = std::fs::remove_file(&log);
    let read_log = || std::fs::read_to_string(&log).unwrap_or_default();
    let (mut errors, mut wrong) = (0, Vec::new());
    match program.start().await {
        Ok(service) => {
            let missing = look_through(story, &mut service.connect().await?, &mut errors, &mut wrong).await?;
            service.kill()?;
            // A damaged record is left out of answers, and the log says so.
            let is_told = read_log().contains("damaged and left out of answers");
            if is_told {
                errors += missing.len()
            } else {
                wrong.extend(missing)
            }
            tally.failed_calls += usize::from(errors > 0);
            tally.harmless += usize::from(errors == 0 && wrong.is_empty());
        }
        // An empty file is a new database: the key is new, so the old one is unknown. That is an error too.
        Err(_) => {
            errors = 1;
            tally.refused_start += 1;
        }
    }
    tally.silent.extend(wrong.first().map(|first| format!("{damage:?}: {first}, {} in all", wrong.len())));
    let text = read_log();
    if errors > 0 && !text.contains("backup") {
        let last = text.lines().last().unwrap_or("the log is empty").chars().take(300).collect::<String>();
        tally.without_advice.push(format!("{damage:?}: {last}"));
    }
    Ok(())
}

/// Searches for every record by its words, and returns what is missing. A changed record is wrong unless its own call
/// failed.
async fn look_through(
    story: &Story,
    wire: &mut Wire,
    errors: &mut usize,
    wrong: &mut Vec<String>,
) -> Result<Vec<String>> {
    let mut missing = Vec::new();
    for (id, text) in &story.saved {
        let marker = text.rsplit(' ').next().unwrap_or_default();
        let arguments = json!({"query": marker, "workspace": story.workspace, "limit": 50});
        let hits = match wire.call("search", &arguments).await {
            Ok(answer) => answer["result"].as_array().cloned().unwrap_or_default(),
            Err(CallFailed::Refused { .. }) => {
                *errors += 1;
                continue;
            }
            Err(CallFailed::Connection(error)) => return Err(error.into()),
        };
        let hit = hits.iter().find(|hit| hit["id"] == json!(id));
        let is_forgotten = story.forgotten.contains(id);
        match hit {
            Some(_) if is_forgotten => wrong.push(format!("{id} is back")),
            Some(hit) => wrong.extend(difference(hit, text, story)),
            None if is_forgotten => {}
            None => missing.push(format!("{id} is missing")),
        }
    }
    Ok(missing)
}

fn difference(hit: &Value, text: &str, story: &Story) -> Option<String> {
    let expected = [
        ("content", text),
        ("workspace", &story.workspace),
        ("source_id", &story.source_id),
        ("scope", "shared"),
        ("author", "admin"),
    ];
    let wrong = expected.iter().find(|(name, value)| hit[*name] != json!(value));
    wrong.map(|(name, _)| format!("{name} is {}", hit[*name]))
}
