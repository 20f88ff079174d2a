//! All upstreams: sessions are kept and reused, each with its breaker, and no caller runs more concurrent calls than
//! its share.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use jiff::Timestamp;
use mnemon_core::Secret;
use parking_lot::Mutex;
use serde_json::{Map, Value};
use tokio::sync::Semaphore;
use tokio::time::Instant;
use url::Url;

use crate::breaker::{Breaker, BreakerCounts, BreakerState, Health};
use crate::http::HttpWire;
use crate::session::{Hello, Session, Wire};
use crate::stdio::StdioWire;
use crate::{Limits, Outgoing, ToolResult, UpstreamError, UpstreamTool};

#[derive(Debug, Clone)]
pub enum Target {
    /// At a URL, with headers to send: its credential.
    Http {
        url: String,
        headers: Vec<(String, Arc<Secret<String>>)>,
        /// Whether its host may lie anywhere, because the operator has allowed it to the upstream's owner.
        is_host_allowed: bool,
    },
    Command {
        /// The program and its arguments.
        words: Vec<String>,
        /// Their secret parts, which callers must not see.
        secrets: Vec<Arc<Secret<String>>>,
    },
}

/// An upstream: its owner, its name and where it is.
#[derive(Debug, Clone)]
pub struct Upstream {
    /// Upstreams of one owner share a limit on concurrent calls.
    pub owner: [u8; 16],
    /// Its name, unique per owner.
    pub name: String,
    /// Grows with every change: a session under an older revision is dropped.
    pub revision: u64,
    pub target: Target,
}

/// What an upstream offers.
#[derive(Debug, Clone)]
pub struct Listing {
    /// Who answered.
    pub hello: Hello,
    /// Its tools, in its own order.
    pub tools: Vec<UpstreamTool>,
    /// How long the answer took.
    pub took: Duration,
}

/// What is kept per upstream between calls.
struct UpstreamState {
    revision: u64,
    breaker: Breaker,
    /// Held during initialization, so that many first calls initialize only once.
    session: tokio::sync::Mutex<Option<Arc<Session>>>,
    used_at: Mutex<Instant>,
}

type UpstreamKey = ([u8; 16], String);

pub struct Gateway {
    outgoing: Outgoing,
    limits: Limits,
    lines: Mutex<HashMap<UpstreamKey, Arc<UpstreamState>>>,
    shares: Mutex<HashMap<[u8; 16], Arc<Semaphore>>>,
}

impl Gateway {
    /// A gateway that uses this client for outgoing calls.
    pub fn new(outgoing: Outgoing, limits: Limits) -> Self {
        Self { outgoing, limits, lines: Mutex::default(), shares: Mutex::default() }
    }

    /// Calls a tool. `now` is the breaker's clock; the deadline uses the machine's own.
    pub async fn call(
        &self,
        upstream: &Upstream,
        tool: &str,
        arguments: &Map<String, Value>,
        now: Timestamp,
    ) -> Result<ToolResult, UpstreamError> {
        let share = self.share(upstream.owner);
        let busy = UpstreamError::Busy { calls_max: self.limits.calls_max };
        let _permit = share.try_acquire().map_err(|_| busy)?;
        let line = self.line(upstream);
        let pass = line.breaker.pass(now)?;
        let began = Instant::now();
        let calling = self.call_on(&line, upstream, tool, arguments);
        let outcome = within(self.limits.call_timeout, calling).await;
        if outcome.as_ref().is_err_and(UpstreamError::is_fault) {
            self.hang_up(&line);
        }
        let ended_at = now.saturating_add(began.elapsed()).unwrap_or(now);
        pass.ended(outcome.as_ref().is_err_and(UpstreamError::is_fault), ended_at);
        outcome
    }

    async fn call_on(
        &self,
        line: &Arc<UpstreamState>,
        upstream: &Upstream,
        tool: &str,
        arguments: &Map<String, Value>,
    ) -> Result<ToolResult, UpstreamError> {
        let session = self.session(line, upstream).await?;
        match session.call(tool, arguments).await {
            // If the upstream no longer knows the session, it refused before doing anything.
            Err(error) if session.may_be_forgotten(&error) => {
                self.greet_again(line, upstream, &session).await?.call(tool, arguments).await
            }
            outcome => outcome,
        }
    }

    /// Asks an upstream what it offers.
    pub async fn list_tools(&self, upstream: &Upstream) -> Result<Listing, UpstreamError> {
        let line = self.line(upstream);
        let began = Instant::now();
        let listing = async {
            let session = self.session(&line, upstream).await?;
            match session.list_tools().await {
                Err(error) if session.may_be_forgotten(&error) => {
                    let session = self.greet_again(&line, upstream, &session).await?;
                    let tools = session.list_tools().await?;
                    Ok(Listing { hello: session.hello.clone(), tools, took: began.elapsed() })
                }
                outcome => Ok(Listing { hello: session.hello.clone(), tools: outcome?, took: began.elapsed() }),
            }
        };
        let outcome = within(self.limits.list_timeout, listing).await;
        if outcome.as_ref().is_err_and(UpstreamError::is_fault) {
            self.hang_up(&line);
        }
        outcome
    }

    /// How calls to an upstream went on this node, since it was last changed or left idle.
    pub fn health(&self, owner: [u8; 16], name: &str, now: Timestamp) -> Health {
        let line = self.lines.lock().get(&(owner, name.to_owned())).cloned();
        line.map(|line| line.breaker.health(now)).unwrap_or_default()
    }

    /// How many of the upstreams that are in use are in which state.
    pub fn breakers(&self, now: Timestamp) -> BreakerCounts {
        let mut counts = BreakerCounts::default();
        for line in self.lines.lock().values() {
            match line.breaker.state(now) {
                BreakerState::Closed => counts.closed += 1,
                BreakerState::Open => counts.open += 1,
                BreakerState::Trying => counts.trying += 1,
            }
        }
        counts
    }

    /// Drops the session with an upstream.
    pub fn forget(&self, owner: [u8; 16], name: &str) {
        self.lines.lock().remove(&(owner, name.to_owned()));
    }

    /// Drops every session; local commands end.
    pub fn close(&self) {
        self.lines.lock().clear();
    }

    /// The session, started if there is none.
    async fn session(&self, line: &Arc<UpstreamState>, upstream: &Upstream) -> Result<Arc<Session>, UpstreamError> {
        let mut held = line.session.lock().await;
        if let Some(session) = held.as_ref().filter(|session| session.is_alive()) {
            return Ok(Arc::clone(session));
        }
        let wire = match &upstream.target {
            Target::Http { url, headers, is_host_allowed } => {
                let host = Url::parse(url).ok().and_then(|url| url.host_str().map(str::to_owned));
                let outgoing = match host.filter(|_| *is_host_allowed) {
                    Some(host) => self.outgoing.also_allowing(&host),
                    None => self.outgoing.clone(),
                };
                Wire::Http(Box::new(HttpWire::new(outgoing, url, headers, self.limits)?))
            }
            Target::Command { words, secrets } => Wire::Stdio(StdioWire::start(words, secrets, self.limits)?),
        };
        let session = Arc::new(Session::open(wire).await?);
        *held = Some(Arc::clone(&session));
        tokio::spawn(end_when_idle(Arc::downgrade(line), Arc::downgrade(&session), self.limits.idle_max));
        Ok(session)
    }

    /// After a fault the next call starts a new session. Calls still running on the old one keep it until they end. If
    /// another call is initializing right now, there is nothing to drop, and no reason to wait: the answer is due.
    fn hang_up(&self, line: &UpstreamState) {
        if let Ok(mut held) = line.session.try_lock() {
            *held = None;
        }
    }

    /// Starts a new session if the upstream has forgotten us.
    async fn greet_again(
        &self,
        line: &Arc<UpstreamState>,
        upstream: &Upstream,
        forgotten: &Arc<Session>,
    ) -> Result<Arc<Session>, UpstreamError> {
        line.session.lock().await.take_if(|held| Arc::ptr_eq(held, forgotten));
        self.session(line, upstream).await
    }

    fn line(&self, upstream: &Upstream) -> Arc<UpstreamState> {
        let now = Instant::now();
        let mut lines = self.lines.lock();
        lines.retain(|_, line| now < line.used_at() + self.limits.idle_max);
        let line = lines
            .entry((upstream.owner, upstream.name.clone()))
            .or_insert_with(|| UpstreamState::new(upstream.revision));
        if line.revision != upstream.revision {
            *line = UpstreamState::new(upstream.revision);
        }
        *line.used_at.lock() = now;
        Arc::clone(line)
    }

    fn share(&self, owner: [u8; 16]) -> Arc<Semaphore> {
        let mut shares = self.shares.lock();
        // A share without holders is unused, and can be created again.
        shares.retain(|_, share| Arc::strong_count(share) > 1);
        Arc::clone(shares.entry(owner).or_insert_with(|| Arc::new(Semaphore::new(self.limits.calls_max))))
    }
}

impl UpstreamState {
    fn new(revision: u64) -> Arc<Self> {
        let (breaker, session, used_at) = (Breaker::default(), Default::default(), Mutex::new(Instant::now()));
        Arc::new(Self { revision, breaker, session, used_at })
    }

    fn used_at(&self) -> Instant {
        *self.used_at.lock()
    }
}

/// Drops a session that was unused for too long: a local command must not keep running until some other call
/// happens to come by.
async fn end_when_idle(line: Weak<UpstreamState>, session: Weak<Session>, idle_max: Duration) {
    while session.strong_count() > 0 {
        let Some(used_at) = line.upgrade().map(|line| line.used_at()) else { return };
        if used_at.elapsed() < idle_max {
            tokio::time::sleep_until(used_at + idle_max).await;
        } else if let Some(line) = line.upgrade() {
            let mut held = line.session.lock().await;
            held.take_if(|held| session.upgrade().is_some_and(|ended| Arc::ptr_eq(held, &ended)));
            return;
        }
    }
}

async fn within<T>(
    deadline: Duration,
    work: impl Future<Output = Result<T, UpstreamError>>,
) -> Result<T, UpstreamError> {
    let too_slow = UpstreamError::TimedOut { seconds: deadline.as_secs().max(1) };
    tokio::time::timeout(deadline, work).await.unwrap_or(Err(too_slow))
}
