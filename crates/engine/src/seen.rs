//! Which keys assistants speak with: their last request, of any method, and the program's name for itself.
//! Administration does not count: who looks at a console must not see itself.
//!
//! A key that was silent is written within a tick of the clock, so that somebody who waits for it sees it at once; one
//! that talks is written with the usage figures.

use std::collections::HashMap;

use jiff::SignedDuration;
use mnemon_core::{KeyId, ProjectId, Timestamp};
use mnemon_store::{SeenKey, StoreError};
use parking_lot::Mutex;

use crate::cleaning::cleaned;
use crate::{CallContext, Engine};

/// After this long without a written request a key counts as silent.
const SILENCE: SignedDuration = SignedDuration::from_secs(60);
const CLIENT_CHARS_MAX: usize = 100;

#[derive(Debug, Default)]
pub(crate) struct SeenKeys {
    waiting: Mutex<HashMap<KeyId, SeenKey>>,
    /// When a request of a key was last written.
    written: Mutex<HashMap<KeyId, Timestamp>>,
}

/// Which of the waiting requests are written.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Due {
    All,
    /// Those of one project, before a reader asks for them.
    Of(ProjectId),
    /// The first requests of keys that were silent.
    Silent,
}

impl Engine {
    /// Notes a request to the assistants' endpoint, with the program's name and version if the request contains them.
    pub fn note_request(&self, ctx: &CallContext, client: Option<(&str, Option<&str>)>) {
        let client = client.map(|(name, version)| client_text(name, version)).filter(|text| !text.is_empty());
        let (project, key, at) = (ctx.project(), ctx.credential.key, ctx.now);
        let mut waiting = self.seen.waiting.lock();
        let seen = waiting.entry(key).or_insert_with(|| SeenKey { project, key, at, client: None });
        seen.at = seen.at.max(at);
        if client.is_some() {
            seen.client = client;
        }
    }

    /// Writes what is due. If storage is unavailable it is lost; the next request is noted again.
    pub(crate) async fn flush_seen(&self, due: Due) -> Result<(), StoreError> {
        let seen = self.seen.take(due);
        if seen.is_empty() { Ok(()) } else { self.store.note_seen(seen).await }
    }
}

impl SeenKeys {
    fn take(&self, due: Due) -> Vec<SeenKey> {
        let mut waiting = self.waiting.lock();
        let mut written = self.written.lock();
        let was_silent =
            |seen: &SeenKey| written.get(&seen.key).is_none_or(|last| seen.at.duration_since(*last) >= SILENCE);
        let is_due = |seen: &SeenKey| match due {
            Due::All => true,
            Due::Of(project) => seen.project == project,
            Due::Silent => was_silent(seen),
        };
        let due: Vec<KeyId> = waiting.values().filter(|seen| is_due(seen)).map(|seen| seen.key).collect();
        let taken: Vec<SeenKey> = due.iter().filter_map(|key| waiting.remove(key)).collect();
        if let Some(newest) = taken.iter().map(|seen| seen.at).max() {
            written.retain(|_, last| newest.duration_since(*last) < SILENCE);
            written.extend(taken.iter().map(|seen| (seen.key, seen.at)));
        }
        taken
    }
}

/// One line without secrets: the caller chooses it, and admins read it.
fn client_text(name: &str, version: Option<&str>) -> String {
    let whole = [name, version.unwrap_or_default()].join(" ");
    let plain: String = whole.chars().map(|c| if c.is_control() { ' ' } else { c }).take(CLIENT_CHARS_MAX).collect();
    cleaned(plain.split_whitespace().collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clients_name_is_one_short_line() {
        assert_eq!(client_text("claude-code", Some("2.1")), "claude-code 2.1");
        assert_eq!(client_text(" a\n\u{7}b ", None), "a b");
        assert_eq!(client_text(&"x".repeat(101), None).len(), CLIENT_CHARS_MAX);
        assert_eq!(client_text("", Some("")), "");
    }
}
