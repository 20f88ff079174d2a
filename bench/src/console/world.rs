//! A project as a company leaves it behind: people, workspaces, sources of which some have changed, keys that are
//! disputed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, Result, bail};
use mnemon_testkit::Caller;
use mnemon_testkit::wire::{CallFailed, Wire};
use serde_json::{Value, json};

use crate::load::{Started, Texts, progress};

const SEED: u64 = 20_261_116;
const FILLERS: u64 = 32;
pub(super) const WORKSPACES: [&str; 6] = ["default", "api", "web", "operations", "sales", "people"];
/// Where the writes go that a page is opened after.
pub(super) const WRITTEN: &str = "default";
/// How many of the people save records.
const AUTHORS: usize = 4;
/// One source in this many has changed, and one in this many was confirmed.
const CHANGED_STEP: u64 = 20;
const CONFIRMED_STEP: u64 = 3;
/// The first source has changed.
pub(super) const CHANGED_SOURCE: &str = "docs%2Farea-0%2Fpage-0.md";
/// One more source, whose records were forgotten together.
pub(super) const FORGOTTEN_SOURCE: &str = "former.md";
const FORGOTTEN: u64 = 60;

pub(super) struct World {
    pub(super) key: String,
}

/// How large it is.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct Size {
    /// How many records the project has
    #[arg(long, default_value_t = 100_000)]
    pub(super) records: u64,
    /// How many sources they come from
    #[arg(long, default_value_t = 10_628)]
    pub(super) sources: u64,
    /// How many people the account has, each with a key
    #[arg(long, default_value_t = 1_000)]
    pub(super) people: u64,
}

impl Size {
    /// The source of a record.
    const fn source_of(self, number: u64) -> u64 {
        number * self.sources / self.records
    }
}

impl World {
    pub(super) async fn fill(server: &Started, size: Size) -> Result<Self> {
        let admin = Caller::connect(&format!("http://{}", server.address), &server.key);
        let keys = Arc::new(hire(&admin, size.people).await?);
        let (next, texts) = (Arc::new(AtomicU64::new(0)), Arc::new(Texts::new(SEED)));
        let mut running = Vec::new();
        for filler in 0..FILLERS {
            let key = &keys[filler as usize % keys.len()];
            let wire = Wire::connect(server.address, key).await?;
            running.push(tokio::spawn(save_all(wire, Arc::clone(&next), size, Arc::clone(&texts))));
        }
        for filler in running {
            filler.await.context("a client panicked")??;
        }
        progress("checking sources");
        let mut wire = Wire::connect(server.address, &server.key).await?;
        for number in 0..size.sources {
            let hash = match number {
                _ if number % CHANGED_STEP == 0 => "sha256:0002",
                _ if number % CONFIRMED_STEP == 0 => "sha256:0001",
                _ => continue,
            };
            call(&mut wire, "validate_memory", &json!({"source_id": source(number), "current_source_hash": hash}))
                .await?;
        }
        for number in size.records..size.records + FORGOTTEN {
            let text = texts.text(number);
            let former = json!({"content": text, "workspace": WRITTEN, "source_id": FORGOTTEN_SOURCE});
            call(&mut wire, "remember", &former).await?;
        }
        call(&mut wire, "forget", &json!({"source_id": FORGOTTEN_SOURCE, "workspace": WRITTEN})).await?;
        progress("");
        Ok(Self { key: server.key.clone() })
    }
}

/// A department with everybody in it; the admin is one of those who save. Returns the keys of those.
async fn hire(admin: &Caller, people: u64) -> Result<Vec<String>> {
    let me = admin.manage("GET", "/me", Value::Null).await;
    let text = |value: &Value| value.as_str().map(str::to_owned).context("an id");
    let (account, project) = (text(&me["account"]["id"])?, text(&me["project"]["id"])?);
    let department = json!({"name": "Engineering"});
    let department = admin.manage("POST", &format!("/accounts/{account}/departments"), department).await;
    let mut keys = vec![admin.key.clone()];
    for number in 1..people {
        progress(&format!("hiring {number} of {people} people"));
        let name = format!("Person Number {number}");
        let member = json!({"name": name, "role": "member", "department_id": department["id"]});
        let member = admin.manage("POST", &format!("/accounts/{account}/members"), member).await;
        let key = json!({"member_id": member["id"], "access": "write", "label": format!("{name}’s laptop")});
        let key = text(&admin.manage("POST", &format!("/projects/{project}/keys"), key).await["key"])?;
        keys.extend((keys.len() < AUTHORS).then_some(key));
    }
    Ok(keys)
}

async fn save_all(mut wire: Wire, next: Arc<AtomicU64>, size: Size, texts: Arc<Texts>) -> Result<()> {
    let records = size.records;
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= records {
            return Ok(());
        }
        if number.is_multiple_of(1_000) {
            progress(&format!("storing {number} of {records} records"));
        }
        call(&mut wire, "remember", &record(number, size.source_of(number), &texts)).await?;
    }
}

fn record(number: u64, owner: u64, texts: &Texts) -> Value {
    let mut call = json!({
        "content": texts.text(number),
        "workspace": WORKSPACES[(owner % WORKSPACES.len() as u64) as usize],
    });
    if !number.is_multiple_of(5) {
        call["source_id"] = source(owner).into();
        call["source_hash"] = "sha256:0001".into();
    }
    if number.is_multiple_of(2) {
        // One in a hundred is disputed by the record after next.
        let key = if number % 100 == 2 { number - 2 } else { number };
        call["fact_key"] = format!("{}.fact-{key}", WORKSPACES[(owner % WORKSPACES.len() as u64) as usize]).into();
    }
    if number % 50 == 1 {
        call["valid_until"] = "2100-01-01T00:00:00Z".into();
    }
    if number % 10 == 7 {
        call["scope"] = "draft".into();
    }
    call
}

fn source(number: u64) -> String {
    format!("docs/area-{}/page-{number}.md", number / 100)
}

async fn call(wire: &mut Wire, tool: &str, arguments: &Value) -> Result<()> {
    match wire.call(tool, arguments).await {
        Ok(_) => Ok(()),
        // The guard refuses a text now and then; one record less changes nothing here.
        Err(CallFailed::Refused { text, .. }) if text.contains("Memory rejected by") => Ok(()),
        Err(failed) => bail!("{tool} failed: {failed:?}"),
    }
}
