//! A person's agreement that session histories may leave this machine. It is bound to one service and one key: with
//! another of either there is none.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::places::Places;
use crate::settings::Settings;
use crate::{clock, private};

/// How often a running upload looks whether the agreement still holds.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// What was agreed to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Consent {
    /// The service.
    pub server: String,
    /// Which key, without telling it.
    pub key: String,
    /// When.
    pub at: String,
}

fn file(places: &Places) -> PathBuf {
    places.data.join("consent.toml")
}

impl Consent {
    /// Notes the agreement. Whether a person has given it is for the caller to know.
    pub fn grant(places: &Places, settings: &Settings) -> std::io::Result<Self> {
        let key = settings.key.as_ref().ok_or_else(|| std::io::Error::other("there is no key to bind it to"))?;
        let consent = Self { server: settings.url.clone(), key: key.fingerprint(), at: clock::now().to_string() };
        let text = toml::to_string(&consent).map_err(std::io::Error::other)?;
        private::write(&file(places), text.as_bytes())?;
        Ok(consent)
    }

    /// Takes it back. `false` when there was none.
    pub fn revoke(places: &Places) -> std::io::Result<bool> {
        match std::fs::remove_file(file(places)) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The agreement for whatever service and key it is. What can't be read is none.
    pub fn find(places: &Places) -> Option<Self> {
        toml::from_str(&std::fs::read_to_string(file(places)).ok()?).ok()
    }

    /// Whether it holds for this service and this key, now. Asked before every byte, so that taking it back works at once.
    pub fn holds(places: &Places, settings: &Settings) -> bool {
        let key = settings.key.as_ref().map(|key| key.fingerprint());
        Self::find(places).is_some_and(|consent| consent.server == settings.url && Some(consent.key) == key)
    }
}

/// Returns once the agreement no longer holds.
pub(crate) async fn withdrawn(places: &Places, settings: &Settings) {
    while Consent::holds(places, settings) {
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::places::Environment;
    use crate::settings::Flags;

    #[test]
    fn consent_is_bound_to_server_and_key() {
        let ground = tempfile::tempdir().unwrap();
        let environment = Environment::from([("HOME".to_owned(), ground.path().into())]);
        let places = Places::find(&environment).unwrap();
        let settings = |url: &str, key: &str| {
            Settings::load(&Flags { url: Some(url.into()), key: Some(key.into()) }, &environment, &places).unwrap()
        };
        let mine = settings("http://a:1", "mnm_one");
        assert!(!Consent::holds(&places, &mine));
        let granted = Consent::grant(&places, &mine).unwrap();
        assert!(!granted.key.contains("mnm_one"));
        assert!(Consent::holds(&places, &mine));
        assert!(!Consent::holds(&places, &settings("http://b:1", "mnm_one")));
        assert!(!Consent::holds(&places, &settings("http://a:1", "mnm_two")));
        assert!(Consent::revoke(&places).unwrap());
        assert!(!Consent::revoke(&places).unwrap());
        assert!(!Consent::holds(&places, &mine));
        std::fs::write(file(&places), "half a fi").unwrap();
        assert!(!Consent::holds(&places, &mine), "what can't be read is no consent");
    }
}
