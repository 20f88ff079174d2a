//! The sync of session histories: a round goes through all of them, most recently used first, and sends what is new.
//! Nothing is sent without consent, which is checked before and during every request.

mod reader;
mod upload;

use std::time::Duration;

use bytes::Bytes;
use http::{Method, StatusCode};
use serde::{Deserialize, Serialize};

use crate::clock;
use crate::consent::{self, Consent};
use crate::discover::{SessionFile, find_sessions};
use crate::places::Places;
use crate::service::{HttpAnswer, NoAnswer, Service};
use crate::settings::Settings;
use crate::state::{self, Cursor, LastSync, Rest};

/// In the background, a round may use at most a fifth of one core: four parts of rest for each part of work.
const GENTLE_REST: u32 = 4;
/// In the background, the maximum number of bytes sent per second.
const GENTLE_BYTES_PER_SECOND: u64 = 512 * 1024;

/// How hard to work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// A person is waiting.
    Full,
    /// It should not be noticed.
    Gentle,
}

/// What a round did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    pub sessions: usize,
    pub sent_sessions: usize,
    pub sent_bytes: u64,
    pub ignored: usize,
    /// Histories that were deleted from the service and are not sent again.
    pub deleted: usize,
    /// Histories that another agent is working on.
    pub busy: usize,
    /// Histories that could not be sent, with the reason.
    pub failed: Vec<(String, String)>,
}

#[derive(Debug, Clone, Copy)]
pub struct Progress<'a> {
    pub session: &'a SessionFile,
    /// Its number, starting at 1.
    pub at: usize,
    pub of: usize,
    pub sent_bytes: u64,
}

/// Why a round ended early.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Stopped {
    /// There is no consent, or it was withdrawn.
    #[error("nothing was uploaded: there is no consent for this service and key; give it with `mnemon agent consent`")]
    NoConsent,
    /// The service is unreachable, or refuses.
    #[error("{text}")]
    Service {
        text: String,
        /// When to retry, if the service said so.
        retry_after: Option<Duration>,
    },
}

/// Why one history, or the whole round, can't continue.
#[derive(Debug)]
pub(crate) enum Halt {
    Withdrawn,
    Service { text: String, retry_after: Option<Duration> },
    File(String),
}

impl From<std::io::Error> for Halt {
    fn from(error: std::io::Error) -> Self {
        Self::File(error.to_string())
    }
}

impl Halt {
    fn nonsense() -> Self {
        let text = "the service sent an unexpected answer; check that the URL is a Mnemon service".to_owned();
        Self::Service { text, retry_after: None }
    }

    /// Interprets a refusal: some concern only one history, others the whole round.
    fn refused(answer: &HttpAnswer) -> Self {
        #[derive(Deserialize)]
        struct Words {
            message: Option<String>,
        }
        let words = serde_json::from_slice::<Words>(&answer.body).ok().and_then(|words| words.message);
        let said = words.unwrap_or_else(|| format!("it answered with status {}", answer.status));
        match answer.status {
            StatusCode::BAD_REQUEST | StatusCode::PAYLOAD_TOO_LARGE => {
                Self::File(format!("the service refused it: {said}"))
            }
            StatusCode::UNAUTHORIZED => {
                let text = "the API key was rejected; check that it has not been revoked".to_owned();
                Self::Service { text, retry_after: None }
            }
            StatusCode::NOT_FOUND => {
                let text = "the service does not accept session histories; it may be older than this agent".to_owned();
                Self::Service { text, retry_after: None }
            }
            _ => Self::Service {
                text: format!("the service refused the upload: {said}"),
                retry_after: answer.retry_after,
            },
        }
    }
}

struct Round<'a> {
    settings: &'a Settings,
    places: &'a Places,
    service: &'a Service,
    pace: Pace,
    is_again: bool,
    at: usize,
    of: usize,
    sent_bytes: u64,
    watch: &'a mut dyn FnMut(Progress<'_>),
}

impl Round<'_> {
    fn check_consent(&self) -> Result<(), Halt> {
        if Consent::holds(self.places, self.settings) { Ok(()) } else { Err(Halt::Withdrawn) }
    }

    /// Sends a request while the consent holds; if it is withdrawn, the connection is dropped.
    async fn request(&self, method: Method, path: &str, body: Bytes) -> Result<HttpAnswer, Halt> {
        self.check_consent()?;
        let answered = tokio::select! {
            biased;
            () = consent::withdrawn(self.places, self.settings) => return Err(Halt::Withdrawn),
            answered = self.service.send(method, path, body) => answered,
        };
        answered.map_err(|why| match why {
            NoAnswer::TooLarge => Halt::nonsense(),
            why => Halt::Service { text: why.to_string(), retry_after: None },
        })
    }

    fn progress(&mut self, session: &SessionFile, bytes: u64) {
        self.sent_bytes += bytes;
        (self.watch)(Progress { session, at: self.at, of: self.of, sent_bytes: self.sent_bytes });
    }

    /// Pauses, in the background.
    async fn pace(&self, worked: Duration, bytes: usize) {
        if self.pace == Pace::Gentle {
            let by_bytes = Duration::from_millis(bytes as u64 * 1_000 / GENTLE_BYTES_PER_SECOND);
            tokio::time::sleep((worked * GENTLE_REST).max(by_bytes)).await;
        }
    }
}

/// What a round should do.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    pub pace: Pace,
    /// Also send histories that were deleted from the service.
    pub is_again: bool,
}

/// Runs one round and records the outcome for `status`.
pub async fn sync(
    settings: &Settings,
    places: &Places,
    options: Options,
    watch: &mut dyn FnMut(Progress<'_>),
) -> Result<Report, Stopped> {
    if !Consent::holds(places, settings) {
        return Err(Stopped::NoConsent);
    }
    let done = go_through(settings, places, options, watch).await;
    let error = match &done {
        Ok(report) => report.failed.first().map(|(name, why)| format!("{name}: {why}")),
        Err(stopped) => Some(stopped.to_string()),
    };
    let at = match &done {
        Ok(_) => Some(clock::now().to_string()),
        Err(_) => state::last_sync(places).at,
    };
    // The record is only for people; a full disk must not stop the sync.
    let _ = state::save_last_sync(places, &LastSync { at, error });
    done
}

async fn go_through(
    settings: &Settings,
    places: &Places,
    options: Options,
    watch: &mut dyn FnMut(Progress<'_>),
) -> Result<Report, Stopped> {
    let service = Service::new(settings);
    let sessions = find_sessions(places);
    let mut report = Report { sessions: sessions.len(), ..Report::default() };
    let (pace, is_again) = (options.pace, options.is_again);
    let mut round =
        Round { settings, places, service: &service, pace, is_again, at: 0, of: sessions.len(), sent_bytes: 0, watch };
    for session in &sessions {
        round.at += 1;
        if is_unchanged(places, session, is_again, &mut report) {
            continue;
        }
        match upload::upload(&mut round, session).await {
            Ok(outcome) => {
                report.sent_bytes += outcome.bytes_sent;
                report.sent_sessions += usize::from(outcome.bytes_sent > 0);
                report.busy += usize::from(outcome.is_held_elsewhere);
                report.ignored += usize::from(outcome.rest == Some(Rest::Ignored));
                report.deleted += usize::from(outcome.rest == Some(Rest::Deleted));
            }
            Err(Halt::File(why)) => report.failed.push((session.name.clone(), why)),
            Err(Halt::Withdrawn) => return Err(Stopped::NoConsent),
            Err(Halt::Service { text, retry_after }) => return Err(Stopped::Service { text, retry_after }),
        }
    }
    Ok(report)
}

/// Whether a history was already processed up to this end; most were.
fn is_unchanged(places: &Places, session: &SessionFile, is_again: bool, report: &mut Report) -> bool {
    let Some(known) = state::peek(places, session) else { return false };
    match known.rest {
        // The rules may have changed; checking costs reading the head of the file.
        Some(Rest::Ignored) => false,
        Some(Rest::Deleted) if !is_again => {
            report.deleted += 1;
            true
        }
        _ => known.seen == (session.len, session.modified) && known.cursor.raw_offset == session.len,
    }
}

/// What would be sent of a history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Preview {
    pub client: &'static str,
    pub session: String,
    pub raw_bytes: u64,
    /// Lines that would be sent, counted from the start.
    pub lines: usize,
    pub bytes: u64,
    /// How many of the bytes were sent before.
    pub sent_bytes: u64,
    pub redacted: u64,
    pub ignored: bool,
}

/// Goes through all histories without sending anything; `lines` gets each line as it would be sent.
pub fn preview(places: &Places, lines: &mut dyn FnMut(&SessionFile, &[u8])) -> Vec<Preview> {
    let sessions = find_sessions(places);
    sessions.iter().filter_map(|session| preview_one(places, session, lines).ok()).collect()
}

fn preview_one(
    places: &Places,
    session: &SessionFile,
    lines: &mut dyn FnMut(&SessionFile, &[u8]),
) -> std::io::Result<Preview> {
    let mut preview = Preview {
        client: session.client.as_str(),
        session: session.name.clone(),
        raw_bytes: session.len,
        lines: 0,
        bytes: 0,
        sent_bytes: state::peek(places, session).map_or(0, |known| known.cursor.sent),
        redacted: 0,
        ignored: false,
    };
    let mut reader = reader::Reader::open(session, &places.home, Cursor::default())?;
    if reader.rules().covers_session() {
        return Ok(Preview { ignored: true, ..preview });
    }
    while let Some(batch) = reader.batch()? {
        for line in batch.text.split_inclusive(|byte| *byte == b'\n') {
            preview.lines += 1;
            lines(session, line);
        }
        preview.bytes = batch.end.sent;
        preview.redacted = batch.end.memory.redacted;
    }
    Ok(preview)
}

/// Converts a whole history at once.
pub fn derive_whole(session: &SessionFile, home: &std::path::Path) -> std::io::Result<Vec<u8>> {
    let mut reader = reader::Reader::open(session, home, Cursor::default())?;
    let mut whole = Vec::new();
    while let Some(batch) = reader.batch()? {
        whole.extend_from_slice(&batch.text);
    }
    Ok(whole)
}

/// Deletes all of the caller's histories from the service, and what is known here about what was sent. Returns how many
/// were deleted.
pub async fn delete_uploaded(settings: &Settings, places: &Places) -> Result<usize, Stopped> {
    let service = Service::new(settings);
    let away = |why: NoAnswer| Stopped::Service { text: why.to_string(), retry_after: None };
    let mut count = 0;
    loop {
        let path = format!("{}/sessions", mnemon_protocol::sessions::PREFIX);
        let answer = service.send(Method::GET, &path, Bytes::new()).await.map_err(away)?;
        let list: mnemon_protocol::sessions::HistoryList = match answer.status {
            StatusCode::OK => serde_json::from_slice(&answer.body).map_err(|_| stopped(Halt::nonsense()))?,
            _ => return Err(stopped(Halt::refused(&answer))),
        };
        if list.sessions.is_empty() {
            let failed = |error: std::io::Error| stopped(Halt::File(error.to_string()));
            state::forget_all(places).map_err(failed)?;
            return Ok(count);
        }
        for session in &list.sessions {
            let path = format!("{path}/{}/{}", session.client, session.name);
            let answer = service.send(Method::DELETE, &path, Bytes::new()).await.map_err(away)?;
            if !matches!(answer.status, StatusCode::OK | StatusCode::NOT_FOUND) {
                return Err(stopped(Halt::refused(&answer)));
            }
            count += 1;
        }
    }
}

fn stopped(halt: Halt) -> Stopped {
    match halt {
        Halt::Withdrawn => Stopped::NoConsent,
        Halt::Service { text, retry_after } => Stopped::Service { text, retry_after },
        Halt::File(text) => Stopped::Service { text, retry_after: None },
    }
}
