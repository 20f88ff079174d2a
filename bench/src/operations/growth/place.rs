//! A data directory full of records: loaded once, and kept for the next run if somebody wants that.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use futures_util::TryStreamExt;
use futures_util::stream::FuturesUnordered;
use mnemon_guard_train::chance::Chance;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{SEED, WRITERS};
use crate::load::Texts;
use crate::operations::http::Http;
use crate::operations::service::{OPERATOR, Service};

/// Progress is noted after this many texts, so that an interrupted load goes on from there.
const NOTED_EVERY: u64 = 50_000;
/// Texts are made at random, so the guard refuses one now and then. More than one in this many is an error.
const REFUSED_ONE_IN: u64 = 1_000;

pub(super) struct LoadedFolder {
    pub(super) dir: PathBuf,
    /// How many saves a second the load took; `None` if the records were there.
    pub(super) saves_per_second: Option<f64>,
    note: Note,
    texts: Texts,
    workspaces: u64,
    /// Removed at the end.
    _scratch: Option<tempfile::TempDir>,
}

/// What a later run has to know of the data.
#[derive(Default, Serialize, Deserialize)]
struct Note {
    key: String,
    /// Texts that were sent so far. The next one has this number.
    sent: u64,
    /// Numbers of those that the guard refused.
    refused: BTreeSet<u64>,
}

impl LoadedFolder {
    /// `records` records in `workspaces` workspaces of one project, found in `keep` or loaded now.
    pub(super) async fn open(binary: &Path, keep: Option<&Path>, records: u64, workspaces: u64) -> Result<Self> {
        let scratch = if keep.is_none() { Some(tempfile::tempdir()?) } else { None };
        let parent = keep.or(scratch.as_ref().map(|scratch| scratch.path())).context("one of the two")?;
        std::fs::create_dir_all(parent)?;
        let dir = parent.join(format!("{records}-in-{workspaces}"));
        let (note, texts) = (Note::default(), Texts::new(SEED));
        let mut place = Self { dir, saves_per_second: None, note, texts, workspaces, _scratch: scratch };
        if place.note_path().exists() {
            place.note = serde_json::from_str(&std::fs::read_to_string(place.note_path())?)?;
        } else {
            let path = place.dir.display();
            ensure!(!place.dir.exists(), "{path} is there, but nothing tells what is in it; remove it");
        }
        if place.note.sent < records {
            place.load(binary, records).await?;
        }
        Ok(place)
    }

    async fn load(&mut self, binary: &Path, records: u64) -> Result<()> {
        let service = Service::start(binary, &self.dir, &[])?;
        if self.note.key.is_empty() {
            self.note.key = tenant(&mut Http::connect(service.address).await?, "Growth").await?;
        }
        let (began, first) = (Instant::now(), self.note.sent);
        while self.note.sent < records {
            self.save(&service, NOTED_EVERY.min(records - self.note.sent)).await?;
        }
        self.saves_per_second = Some((records - first) as f64 / began.elapsed().as_secs_f64());
        service.stop()
    }

    fn note_path(&self) -> PathBuf {
        self.dir.with_extension("json")
    }

    /// Saves `count` more texts over many connections, each into its workspace.
    async fn save(&mut self, service: &Service, count: u64) -> Result<()> {
        let (from, to) = (self.note.sent, self.note.sent + count);
        let place = &*self;
        let writers = (0..WRITERS as u64).map(|writer| async move {
            let mut http = Http::connect(service.address).await?;
            let mut refused = Vec::new();
            for number in (from + writer..to).step_by(WRITERS) {
                let arguments = json!({"content": place.texts.text(number), "workspace": place.workspace(number)});
                let answer = http.call(&place.note.key, "remember", &arguments).await?;
                ensure!(answer.status == 200, "{}", String::from_utf8_lossy(answer.body));
                if answer.is_tool_error() {
                    refused.push(number);
                }
            }
            anyhow::Ok(refused)
        });
        // The first error of any writer ends it.
        let refused = writers.collect::<FuturesUnordered<_>>().try_concat().await?;
        self.note.refused.extend(refused);
        let (refused, allowed) = (self.note.refused.len() as u64, to / REFUSED_ONE_IN + 1);
        ensure!(refused <= allowed, "{refused} of {to} texts were refused");
        self.note.sent = to;
        Ok(std::fs::write(self.note_path(), serde_json::to_string(&self.note)?)?)
    }

    /// Saves a few more texts, and ends the service as a crash would.
    pub(super) async fn save_and_kill(&mut self, service: Service, count: u64) -> Result<()> {
        self.save(&service, count).await?;
        service.kill()
    }

    fn workspace(&self, number: u64) -> String {
        format!("w{}", number % self.workspaces)
    }

    /// Searches for some words of a text that is there, and returns how long the answer took. It must have hits.
    pub(super) async fn search(&self, http: &mut Http, number: u64) -> Result<Duration> {
        let number = if self.note.refused.contains(&number) { number + self.workspaces } else { number };
        let query = self.texts.query(number, &mut Chance::with_seed(number));
        let arguments = json!({"query": query, "workspace": self.workspace(number)});
        let began = Instant::now();
        let answer = http.call(&self.note.key, "search", &arguments).await?;
        let took = began.elapsed();
        ensure!(answer.status == 200 && answer.has_hits(), "{query}: {}", String::from_utf8_lossy(answer.body));
        Ok(took)
    }
}

/// Creates an account with a project, and returns the key of its admin.
pub(super) async fn tenant(http: &mut Http, name: &str) -> Result<String> {
    let text = |value: &Value, name: &str| value[name].as_str().unwrap_or_default().to_owned();
    let account = json!({"name": name, "plan": "unlimited"});
    let account = text(&http.admin("POST", "/accounts", OPERATOR, &account).await?, "id");
    let member = json!({"name": "Ana", "role": "admin"});
    let member = http.admin("POST", &format!("/accounts/{account}/members"), OPERATOR, &member).await?;
    let project =
        http.admin("POST", &format!("/accounts/{account}/projects"), OPERATOR, &json!({"name": name})).await?;
    let path = format!("/projects/{}/keys", text(&project, "id"));
    let key =
        http.admin("POST", &path, OPERATOR, &json!({"member_id": text(&member, "id"), "access": "write"})).await?;
    Ok(text(&key, "key"))
}
