//! A data directory full of records: loaded once, and kept for the next run if somebody wants that.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::{SEED, WRITERS};
use crate::chance::Chance;
use crate::load::Texts;
use crate::operations::http::Http;
use crate::operations::service::{OPERATOR, Service};

pub(super) struct Place {
    pub(super) dir: PathBuf,
    /// How many saves a second the load took; `None` if the records were there.
    pub(super) saves_per_second: Option<f64>,
    key: String,
    texts: Texts,
    /// Texts that were saved so far. The next one has this number.
    saved: u64,
    workspaces: u64,
    /// Removed at the end.
    _scratch: Option<tempfile::TempDir>,
}

impl Place {
    /// So many records in so many workspaces of one project, found in `keep` or loaded now.
    pub(super) async fn open(binary: &Path, keep: Option<&Path>, records: u64, workspaces: u64) -> Result<Self> {
        let scratch = if keep.is_none() { Some(tempfile::tempdir()?) } else { None };
        let parent = keep.or(scratch.as_ref().map(|scratch| scratch.path())).context("one of the two")?;
        std::fs::create_dir_all(parent)?;
        let dir = parent.join(format!("{records}-in-{workspaces}"));
        let mut place = Self {
            dir,
            saves_per_second: None,
            key: String::new(),
            texts: Texts::new(SEED),
            saved: 0,
            workspaces,
            _scratch: scratch,
        };
        if !place.take_note()? {
            ensure!(!place.dir.exists(), "{} was not loaded to its end; remove it", place.dir.display());
            place.load(binary, records).await?;
        }
        Ok(place)
    }

    async fn load(&mut self, binary: &Path, records: u64) -> Result<()> {
        let service = Service::start(binary, &self.dir, &[])?;
        self.key = tenant(&mut Http::connect(service.address).await?, "Growth").await?;
        let began = Instant::now();
        self.save(&service, records).await?;
        self.saves_per_second = Some(records as f64 / began.elapsed().as_secs_f64());
        service.stop()?;
        self.write_note()
    }

    /// Beside the data: the key, and how many texts were saved.
    fn note(&self) -> PathBuf {
        self.dir.with_extension("json")
    }

    fn take_note(&mut self) -> Result<bool> {
        if !self.note().exists() {
            return Ok(false);
        }
        let note: Value = serde_json::from_str(&std::fs::read_to_string(self.note())?)?;
        self.key = note["key"].as_str().context("the note has a key")?.to_owned();
        self.saved = note["saved"].as_u64().context("the note has a number")?;
        Ok(true)
    }

    fn write_note(&self) -> Result<()> {
        Ok(std::fs::write(self.note(), json!({"key": self.key, "saved": self.saved}).to_string())?)
    }

    /// Saves so many more texts over many connections, each into its workspace.
    async fn save(&mut self, service: &Service, count: u64) -> Result<()> {
        let (from, to) = (self.saved, self.saved + count);
        let place = &*self;
        let writers = (0..WRITERS as u64).map(|writer| async move {
            let mut http = Http::connect(service.address).await?;
            for number in (from + writer..to).step_by(WRITERS) {
                let arguments = json!({"content": place.texts.text(number), "workspace": place.workspace(number)});
                let answer = http.call(&place.key, "remember", &arguments).await?;
                ensure!(answer.status == 200 && !answer.is_tool_error(), "{}", String::from_utf8_lossy(answer.body));
            }
            anyhow::Ok(())
        });
        futures_util::future::try_join_all(writers).await?;
        self.saved = to;
        Ok(())
    }

    /// Saves a few more texts, and ends the service as a crash would.
    pub(super) async fn save_and_kill(&mut self, service: Service, count: u64) -> Result<()> {
        self.save(&service, count).await?;
        service.kill()?;
        self.write_note()
    }

    fn workspace(&self, number: u64) -> String {
        format!("w{}", number % self.workspaces)
    }

    /// Searches for some words of a text that is there, and returns how long the answer took. It must have hits.
    pub(super) async fn search(&self, http: &mut Http, number: u64) -> Result<Duration> {
        let query = self.texts.query(number, &mut Chance::new(number));
        let arguments = json!({"query": query, "workspace": self.workspace(number)});
        let began = Instant::now();
        let answer = http.call(&self.key, "search", &arguments).await?;
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
