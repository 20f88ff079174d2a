//! A person's consent to uploading session histories. It is bound to one service and one key and covers no others.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::places::Places;
use crate::settings::Settings;
use crate::{clock, private};

/// How often a running upload checks that the consent still holds.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// What was consented to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Consent {
    pub server: String,
    /// Fingerprint of the key.
    pub key: String,
    pub at: String,
}

fn file(places: &Places) -> PathBuf {
    places.state.join("consent.toml")
}

impl Consent {
    /// Saves the consent. The caller must know that a person gave it.
    pub fn grant(places: &Places, settings: &Settings) -> std::io::Result<Self> {
        let key =
            settings.key.as_ref().ok_or_else(|| std::io::Error::other("there is no API key to bind the consent to"))?;
        let consent = Self { server: settings.url.clone(), key: key.fingerprint(), at: clock::now().to_string() };
        let text = toml::to_string(&consent).map_err(std::io::Error::other)?;
        private::write(&file(places), text.as_bytes())?;
        Ok(consent)
    }

    /// Withdraws the consent. `false` if there was none.
    pub fn revoke(places: &Places) -> std::io::Result<bool> {
        match std::fs::remove_file(file(places)) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The saved consent, whatever service and key it is for. An unreadable file counts as no consent.
    pub fn find(places: &Places) -> Option<Self> {
        toml::from_str(&std::fs::read_to_string(file(places)).ok()?).ok()
    }

    /// Whether consent holds for this service and this key now. Checked before every request, so withdrawing works at
    /// once.
    pub fn holds(places: &Places, settings: &Settings) -> bool {
        let key = settings.key.as_ref().map(|key| key.fingerprint());
        Self::find(places).is_some_and(|consent| consent.server == settings.url && Some(consent.key) == key)
    }
}

/// Returns once the consent no longer holds.
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
            Settings::load(
                &Flags { url: Some(url.into()), key: Some(key.into()), ..Flags::default() },
                &environment,
                &places,
            )
            .unwrap()
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
        assert!(!Consent::holds(&places, &mine), "an unreadable file is no consent");
    }
}
