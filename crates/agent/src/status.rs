//! The progress of the sync, for `agent_sync_status` and for a person who asks.

use serde::Serialize;

use crate::consent::Consent;
use crate::discover::{SessionFile, find_sessions};
use crate::places::Places;
use crate::service::Service;
use crate::settings::Settings;
use crate::state::{self, Rest};

/// The answer of `agent_sync_status`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SyncStatus {
    /// Whether a person has consented, for this service and this key.
    pub consent: bool,
    pub server: String,
    pub reachable: bool,
    pub sessions_found: usize,
    /// Histories that are fully uploaded.
    pub sessions_synced: usize,
    /// Bytes on this machine that have not been processed yet.
    pub bytes_pending: u64,
    pub last_sync_at: Option<String>,
    pub last_error: Option<String>,
}

/// What was sent of one history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SessionStatus {
    pub client: &'static str,
    pub session: String,
    /// Size of the transcript.
    pub raw_bytes: u64,
    /// How much of it has been processed.
    pub raw_bytes_done: u64,
    /// Bytes of converted lines sent.
    pub sent_bytes: u64,
    /// Secrets redacted in them.
    pub redacted: u64,
    pub sent_at: Option<String>,
    /// Why it is skipped, if it is.
    pub rest: Option<Rest>,
}

/// Looks at the local state and checks whether the service is reachable.
pub async fn collect(settings: &Settings, places: &Places, service: &Service) -> SyncStatus {
    let looked = {
        let places = places.clone();
        tokio::task::spawn_blocking(move || sessions(&places))
    };
    let (reachable, sessions) = tokio::join!(service.is_alive(), looked);
    let sessions = sessions.unwrap_or_default();
    let last = state::last_sync(places);
    SyncStatus {
        consent: Consent::holds(places, settings),
        server: settings.url.clone(),
        reachable,
        sessions_found: sessions.len(),
        sessions_synced: sessions.iter().filter(|session| session.rest.is_none() && pending(session) == 0).count(),
        bytes_pending: sessions.iter().map(pending).sum(),
        last_sync_at: last.at,
        last_error: last.error,
    }
}

/// Every history, with what was sent of it.
pub fn sessions(places: &Places) -> Vec<SessionStatus> {
    find_sessions(places).iter().map(|session| of(places, session)).collect()
}

fn of(places: &Places, session: &SessionFile) -> SessionStatus {
    let known = state::peek(places, session).unwrap_or_default();
    SessionStatus {
        client: session.client.as_str(),
        session: session.name.clone(),
        raw_bytes: session.len,
        raw_bytes_done: known.cursor.raw_offset.min(session.len),
        sent_bytes: known.cursor.sent,
        redacted: known.cursor.memory.redacted,
        sent_at: known.sent_at,
        rest: known.rest,
    }
}

/// A skipped history has nothing pending.
fn pending(session: &SessionStatus) -> u64 {
    if session.rest.is_some() { 0 } else { session.raw_bytes - session.raw_bytes_done }
}
