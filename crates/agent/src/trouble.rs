//! What keeps hooks from working. A hook never fails, so it notes what was wrong: the start of a later session says it
//! once a day, and so does `mnemon doctor`.

use std::path::PathBuf;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::places::Places;
use crate::{clock, private};

/// How often a person is told.
const TOLD_EVERY: SignedDuration = SignedDuration::from_hours(24);

/// Hooks have failed since then, for this reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trouble {
    /// To the minute.
    pub since: String,
    pub why: String,
    #[serde(default)]
    told_at: Option<String>,
}

fn file(places: &Places) -> PathBuf {
    places.state.join("hooks.json")
}

/// What is wrong, if the last hook failed.
pub fn last(places: &Places) -> Option<Trouble> {
    serde_json::from_slice(&std::fs::read(file(places)).ok()?).ok()
}

/// The last hook worked.
pub(crate) fn clear(places: &Places) {
    let _ = std::fs::remove_file(file(places));
}

/// Notes a failure. At the start of a session, returns what a person is to be told: nothing the first time, which may
/// be a service that is just starting, and then once a day.
pub(crate) fn note(places: &Places, why: &str, is_start: bool) -> Option<String> {
    let (earlier, now) = (last(places), clock::now());
    let is_again = earlier.is_some();
    let since = || now.strftime("%Y-%m-%d %H:%MZ").to_string();
    let mut trouble = earlier.unwrap_or_else(|| Trouble { since: since(), why: String::new(), told_at: None });
    why.clone_into(&mut trouble.why);
    let told_at = trouble.told_at.as_ref().and_then(|told| told.parse::<Timestamp>().ok());
    let is_due = told_at.is_none_or(|told| now.duration_since(told).abs() >= TOLD_EVERY);
    let line = (is_start && is_again && is_due).then(|| {
        trouble.told_at = Some(now.to_string());
        let since = &trouble.since;
        format!("Mnemon: memory has been missing from sessions since {since}: {why}. Run `mnemon doctor`.")
    });
    if let Ok(text) = serde_json::to_vec(&trouble) {
        let _ = private::write(&file(places), &text);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::places::Environment;

    #[test]
    fn a_person_is_told_from_the_second_failure_on_and_once_a_day() {
        let home = tempfile::tempdir().unwrap();
        let places = Places::find(&Environment::from([("HOME".to_owned(), home.path().into())])).unwrap();
        assert_eq!(note(&places, "the key", true), None);
        assert_eq!(note(&places, "the key", false), None, "a prompt is no place for it");
        let told = note(&places, "the key", true).unwrap();
        assert!(told.contains(": the key. Run `mnemon doctor`."), "{told}");
        assert_eq!(note(&places, "the key", true), None);
        let mut trouble = last(&places).unwrap();
        let at = |hours: i64| Some((clock::now() - SignedDuration::from_hours(hours)).to_string());
        for (hours, is_told) in [(23, false), (25, true)] {
            trouble.told_at = at(hours);
            private::write(&file(&places), &serde_json::to_vec(&trouble).unwrap()).unwrap();
            assert_eq!(note(&places, "the key", true).is_some(), is_told, "{hours}");
        }
        clear(&places);
        assert_eq!((last(&places), note(&places, "away", true)), (None, None));
    }
}
