//! kill -9 of the agent or the service during a sync, again and again; in the end the service's copies must equal the
//! converted transcripts, with no byte lost or doubled.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use mnemon_agent::consent::Consent;
use mnemon_agent::discover::{SessionFile, find_sessions};
use mnemon_agent::places::{Environment, Places};
use mnemon_agent::settings::{Flags, Settings};
use mnemon_agent::sync::derive_whole;
use serde_json::Value;

use super::scramble;
use super::service::{Program, Service};
use crate::caller::plain_client;
use crate::transcripts;

/// Turns that a session gains per round; a round of two sessions is then about three megabytes to send.
const TURNS: u64 = 500;
/// A fault that comes too late does not count; this many attempts are made for each that does.
const ATTEMPTS_PER_ROUND: usize = 4;
/// How long an undisturbed sync may take.
const SYNC_MAX: Duration = Duration::from_secs(120);

#[derive(Debug, Clone, Copy, Default, serde::Serialize)]
pub struct SyncReport {
    /// How many faults came during a sync.
    pub rounds: usize,
    /// Rounds in which the agent was killed while it ran.
    pub agent_kills: usize,
    /// Rounds in which the service was killed while the agent ran.
    pub service_kills: usize,
    /// Rounds in which the fault left a copy that was neither complete nor empty.
    pub cut_off: usize,
    pub compared: usize,
    pub bytes: u64,
    /// Copies that differ from their converted transcript.
    pub unequal: usize,
}

impl SyncReport {
    /// Every copy is equal, and the faults came during work.
    pub fn is_passed(&self) -> bool {
        self.unequal == 0 && self.rounds > 0 && self.agent_kills + self.service_kills == self.rounds && self.cut_off > 0
    }
}

/// Runs the rounds with all files in `scratch`.
pub async fn kill_sync(binary: &Path, scratch: &Path, rounds: usize, seed: u64) -> Result<SyncReport> {
    let mut stage = Stage::open(binary, scratch, seed).await?;
    // The length of an undisturbed round says when to disturb the others.
    let began = Instant::now();
    stage.work(0)?;
    stage.finish_sync().await?;
    let mut whole = began.elapsed();
    for attempt in 1..=rounds * ATTEMPTS_PER_ROUND {
        let attempt = attempt as u64;
        stage.work(attempt)?;
        if stage.disturb(attempt, whole).await? {
            stage.report.rounds += 1;
        } else {
            // The fault came after the work: the machine is faster than it was.
            whole = whole.mul_f64(0.8);
        }
        stage.finish_sync().await?;
        stage.compare(&stage.touched(attempt)).await?;
        if stage.report.rounds == rounds {
            break;
        }
    }
    let all = find_sessions(&stage.places);
    stage.compare(&all).await?;
    Ok(stage.report)
}

struct Stage {
    binary: PathBuf,
    home: PathBuf,
    program: Program,
    service: Option<Service>,
    settings: Settings,
    places: Places,
    client: reqwest::Client,
    seed: u64,
    report: SyncReport,
}

impl Stage {
    async fn open(binary: &Path, scratch: &Path, seed: u64) -> Result<Self> {
        let home = scratch.join("home");
        std::fs::create_dir_all(&home)?;
        let mut program = Program::new(binary, &scratch.join("data"), scratch);
        // Consent is bound to the URL, so the service comes back on the same address.
        program.listen = Some(free_address()?);
        let service = program.start().await?;
        program.key = Some(service.key.clone());
        let environment = Environment::from([("HOME".to_owned(), home.clone().into())]);
        let places = Places::find(&environment)?;
        let flags = Flags {
            url: Some(format!("http://{}", service.address)),
            key: Some(service.key.clone()),
            ..Flags::default()
        };
        let settings = Settings::load(&flags, &environment, &places)?;
        Consent::grant(&places, &settings)?;
        Ok(Self {
            binary: binary.to_owned(),
            home,
            program,
            service: Some(service),
            settings,
            places,
            client: plain_client(),
            seed,
            report: SyncReport::default(),
        })
    }

    /// What people do in a round: a new session per client, and more of an older one.
    fn work(&self, round: u64) -> Result<()> {
        let cwd = self.home.join("shop").to_string_lossy().into_owned();
        for path in self.paths(round) {
            std::fs::create_dir_all(path.parent().context("a folder")?)?;
            let is_codex = path.to_string_lossy().contains("rollout-");
            let seed = self.seed.wrapping_add(round);
            let more = if is_codex {
                transcripts::codex(&cwd, TURNS as usize, seed)
            } else {
                transcripts::claude(&cwd, TURNS as usize, seed)
            };
            let mut text = std::fs::read(&path).unwrap_or_default();
            text.extend_from_slice(more.as_bytes());
            std::fs::write(&path, text)?;
        }
        Ok(())
    }

    /// The transcripts that a round writes to.
    fn paths(&self, round: u64) -> Vec<PathBuf> {
        let claude = |round: u64| self.home.join(format!(".claude/projects/p/session-{round:04}.jsonl"));
        let codex = self.home.join(format!(".codex/sessions/2026/11/02/rollout-{round:04}.jsonl"));
        let mut paths = vec![claude(round), codex];
        if round > 1 {
            paths.push(claude(scramble(self.seed ^ round) % round));
        }
        paths
    }

    fn touched(&self, round: u64) -> Vec<SessionFile> {
        let paths = self.paths(round);
        find_sessions(&self.places).into_iter().filter(|session| paths.contains(&session.path)).collect()
    }

    fn start_sync(&self) -> Result<Child> {
        let mut command = Command::new(&self.binary);
        command.args(["agent", "sync"]).env_clear().env("HOME", &self.home).current_dir(&self.home);
        if let Some(key) = &self.settings.key {
            command.env("MNEMON_URL", &self.settings.url).env("MNEMON_API_KEY", key.expose());
        }
        Ok(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?)
    }

    /// Kills one of the two at a random moment; returns whether the agent was still working.
    async fn disturb(&mut self, round: u64, whole: Duration) -> Result<bool> {
        let chance = scramble(self.seed ^ round.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let moment = whole.mul_f64((chance >> 16 & 0xffff) as f64 / 65_536.0);
        let mut agent = self.start_sync()?;
        tokio::time::sleep(moment).await;
        let is_running = agent.try_wait()?.is_none();
        if chance.is_multiple_of(2) {
            agent.kill()?;
            agent.wait()?;
            self.report.agent_kills += usize::from(is_running);
        } else {
            self.service.take().context("the service runs")?.kill()?;
            self.service = Some(self.program.start().await?);
            wait(&mut agent).await?;
            self.report.service_kills += usize::from(is_running);
        }
        for session in self.touched(round) {
            let whole = derive_whole(&session, &self.places.home)?.len() as u64;
            let bytes = self.get(&session, "").await?["bytes"].as_u64().unwrap_or_default();
            if bytes > 0 && bytes < whole {
                self.report.cut_off += 1;
                break;
            }
        }
        Ok(is_running)
    }

    async fn finish_sync(&self) -> Result<()> {
        let mut agent = self.start_sync()?;
        let status = wait(&mut agent).await?;
        if status { Ok(()) } else { bail!("a sync that nobody disturbed failed") }
    }

    async fn compare(&mut self, sessions: &[SessionFile]) -> Result<()> {
        for session in sessions {
            let whole = derive_whole(session, &self.places.home)?;
            let (mut kept, mut next) = (Vec::new(), Some(0));
            while let Some(offset) = next {
                let piece = self.get(session, &format!("/text?offset={offset}")).await?;
                kept.extend_from_slice(piece["text"].as_str().unwrap_or_default().as_bytes());
                next = piece["next"].as_u64();
            }
            self.report.compared += 1;
            self.report.bytes += kept.len() as u64;
            self.report.unequal += usize::from(kept != whole);
        }
        Ok(())
    }

    async fn get(&self, session: &SessionFile, rest: &str) -> Result<Value> {
        let key = self.settings.key.as_ref().context("there is a key")?;
        let (client, name) = (session.client.as_str(), &session.name);
        let url = format!("{}/agent/v1/sessions/{client}/{name}{rest}", self.settings.url);
        let answer = self.client.get(url).bearer_auth(key.expose()).send().await?;
        Ok(answer.json().await?)
    }
}

/// Waits for the exit; returns whether it was successful.
async fn wait(child: &mut Child) -> Result<bool> {
    let began = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status.success());
        }
        if began.elapsed() > SYNC_MAX {
            child.kill()?;
            child.wait()?;
            bail!("a sync did not end within {SYNC_MAX:?}");
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn free_address() -> Result<SocketAddr> {
    Ok(std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?)
}
