//! What the agent remembers about each history, in its own directory. It is only a cache: the service knows what was
//! sent, so a lost or broken state file costs some reading and nothing else.

use std::fs::{File, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::PathBuf;

use mnemon_protocol::sessions::Chain;
use serde::{Deserialize, Serialize};

use crate::discover::SessionFile;
use crate::places::Places;
use crate::private;
use crate::transcript::Memory;

/// A position in a transcript, and what everything before it was converted to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Cursor {
    /// The byte in the transcript where the next line starts.
    pub(crate) raw_offset: u64,
    /// How many bytes of converted lines come before it.
    pub(crate) sent: u64,
    /// The chain over those lines, in hexadecimal.
    pub(crate) chain: String,
    /// What the converter must know about earlier lines.
    pub(crate) memory: Memory,
}

impl Cursor {
    pub(crate) fn chain(&self) -> Chain {
        Chain::from_hex(&self.chain).unwrap_or_default()
    }
}

/// Why a history is skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rest {
    /// `.mnemonignore` covers it.
    Ignored,
    /// It was deleted from the service; it is not sent again unless a person asks for it.
    Deleted,
}

/// The state of one history.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileState {
    pub(crate) cursor: Cursor,
    /// A hash over the last bytes before the cursor. If it differs, the transcript was rewritten.
    pub(crate) tail: String,
    /// Fingerprint of the ignore rules that applied.
    pub(crate) rules: String,
    /// Size and modification time of the transcript when it was last read to the end.
    pub(crate) seen: (u64, i64),
    pub(crate) rest: Option<Rest>,
    pub(crate) sent_at: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LastSync {
    pub(crate) at: Option<String>,
    pub(crate) error: Option<String>,
}

/// A history's state, locked by this process: only one agent works on a history at a time.
pub(crate) struct Held {
    file: File,
    pub(crate) state: FileState,
}

impl Held {
    /// Takes the lock; `None` while another process has it.
    pub(crate) fn take(places: &Places, session: &SessionFile) -> io::Result<Option<Self>> {
        let path = note(places, session);
        private::make_folder(&places.state)?;
        if let Some(folder) = path.parent() {
            private::make_folder(folder)?;
        }
        let mut file = private::open(&path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        let mut text = String::new();
        let state = file.read_to_string(&mut text).ok().and_then(|_| serde_json::from_str(&text).ok());
        Ok(Some(Self { file, state: state.unwrap_or_default() }))
    }

    /// Writes the state in place, because the lock is on this file. A kill in between leaves a broken file, which is
    /// ignored.
    pub(crate) fn save(&mut self) -> io::Result<()> {
        let text = serde_json::to_vec(&self.state)?;
        self.file.rewind()?;
        self.file.set_len(0)?;
        self.file.write_all(&text)
    }
}

/// Reads the state without locking it.
pub(crate) fn peek(places: &Places, session: &SessionFile) -> Option<FileState> {
    serde_json::from_str(&std::fs::read_to_string(note(places, session)).ok()?).ok()
}

fn note(places: &Places, session: &SessionFile) -> PathBuf {
    places.state.join("sessions").join(format!("{}.{}.json", session.client.as_str(), session.name))
}

/// Forgets what was sent of every history, after it was deleted from the service. A state that a running agent holds is
/// only emptied of its name: that agent notices by itself.
pub(crate) fn forget_all(places: &Places) -> io::Result<()> {
    let gone = |done: io::Result<()>| match done {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    };
    gone(std::fs::remove_dir_all(places.state.join("sessions")))?;
    gone(std::fs::remove_file(places.state.join("last-sync.json")))
}

pub(crate) fn last_sync(places: &Places) -> LastSync {
    let text = std::fs::read_to_string(places.state.join("last-sync.json")).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

pub(crate) fn save_last_sync(places: &Places, last: &LastSync) -> io::Result<()> {
    private::write(&places.state.join("last-sync.json"), &serde_json::to_vec(last)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discover::Client;
    use crate::places::Environment;

    #[test]
    fn a_note_is_held_by_one_and_survives_being_broken() {
        let ground = tempfile::tempdir().unwrap();
        let places = Places::find(&Environment::from([("HOME".to_owned(), ground.path().into())])).unwrap();
        let session = SessionFile { client: Client::Codex, name: "a".into(), path: "/x".into(), len: 1, modified: 1 };
        let mut first = Held::take(&places, &session).unwrap().unwrap();
        assert!(Held::take(&places, &session).unwrap().is_none(), "another waits");
        first.state.cursor.sent = 7_000_000;
        first.save().unwrap();
        first.state.cursor.sent = 7;
        first.save().unwrap();
        assert_eq!(peek(&places, &session), Some(first.state.clone()));
        drop(first);
        let again = Held::take(&places, &session).unwrap().unwrap();
        assert_eq!(again.state.cursor.sent, 7);
        drop(again);
        std::fs::write(note(&places, &session), "{\"cursor\":").unwrap();
        assert_eq!(Held::take(&places, &session).unwrap().unwrap().state, FileState::default());
    }
}
