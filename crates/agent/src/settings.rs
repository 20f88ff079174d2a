//! Which service, and by which key: flags, then the environment, then the configuration file.

use std::fmt;

use mnemon_protocol::hex::to_hex;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::places::{Environment, Places};
use crate::private;

/// The address used when nothing says otherwise.
pub const DEFAULT_URL: &str = "http://127.0.0.1:7676";
/// Names the service in the environment.
pub const URL_VARIABLE: &str = "MNEMON_URL";
/// Names the key in the environment.
pub const KEY_VARIABLE: &str = "MNEMON_API_KEY";

/// A key. It prints as stars.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey(String);

impl ApiKey {
    /// Wraps a key.
    pub fn new(key: impl Into<String>) -> Self {
        Self(key.into())
    }

    /// The key itself, for the header and the configuration file alone.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Tells keys apart without telling them.
    pub fn fingerprint(&self) -> String {
        to_hex(&Sha256::digest(self.0.as_bytes())[..8])
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// Where a setting was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// Typed.
    Flag(&'static str),
    /// A variable of the environment.
    Environment(&'static str),
    /// The configuration file, as a person reads its path.
    File(String),
    /// Nobody said anything.
    Default,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(name) => write!(f, "the flag {name}"),
            Self::Environment(name) => write!(f, "the environment variable {name}"),
            Self::File(path) => write!(f, "the file {path}"),
            Self::Default => f.write_str("the default"),
        }
    }
}

/// What was typed.
#[derive(Debug, Clone, Default)]
pub struct Flags {
    /// The service's address.
    pub url: Option<String>,
    /// The key.
    pub key: Option<String>,
}

/// The settings in force.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The service's address, without a slash at the end.
    pub url: String,
    /// Where it was read.
    pub url_source: Source,
    /// The key; without one every call fails and says so.
    pub key: Option<ApiKey>,
    /// Where it was read.
    pub key_source: Source,
    /// What a person should know, and what is no reason to stop.
    pub warnings: Vec<String>,
}

/// Why there are no settings.
#[derive(Debug, thiserror::Error)]
pub enum NoSettings {
    /// The file is there and can't be read.
    #[error("can't read {path}: {error}")]
    Unreadable {
        /// The file.
        path: String,
        /// The cause.
        error: std::io::Error,
    },
    /// The file is not what it should be.
    #[error("{path} is not in order: {error}; it has url = \"...\" and key = \"...\", each optional")]
    Wrong {
        /// The file.
        path: String,
        /// What is wrong; never the value of the key.
        error: String,
    },
    /// The address is none.
    #[error("'{url}' (from {origin}) is no address of a service; it looks like https://memory.example.com")]
    Address {
        /// What was given.
        url: String,
        /// Where.
        origin: String,
    },
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SettingsFile {
    url: Option<String>,
    key: Option<String>,
}

impl Settings {
    /// Reads them.
    pub fn load(flags: &Flags, environment: &Environment, places: &Places) -> Result<Self, NoSettings> {
        let file = read_file(places)?;
        let shown = places.shown(&places.settings_file);
        let variable = |name: &str| environment.get(name).and_then(|value| value.to_str()).map(str::to_owned);
        let pick = |flag: (&'static str, &Option<String>), name: &'static str, in_file: Option<String>| {
            let filled =
                |value: Option<String>| value.map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
            if let Some(value) = filled(flag.1.clone()) {
                (Some(value), Source::Flag(flag.0))
            } else if let Some(value) = filled(variable(name)) {
                (Some(value), Source::Environment(name))
            } else if let Some(value) = filled(in_file) {
                (Some(value), Source::File(shown.clone()))
            } else {
                (None, Source::Default)
            }
        };
        let mut warnings = Vec::new();
        if file.key.is_some() && private::is_open_to_others(&places.settings_file) {
            warnings.push(format!("others on this machine can read the key in {shown}; run: chmod 600 {shown}"));
        }
        let (url, url_source) = pick(("--url", &flags.url), URL_VARIABLE, file.url);
        let (key, key_source) = pick(("--key", &flags.key), KEY_VARIABLE, file.key);
        let url = check_url(url.unwrap_or_else(|| DEFAULT_URL.to_owned()), &url_source)?;
        Ok(Self { url, url_source, key: key.map(ApiKey), key_source, warnings })
    }

    /// Keeps address and key in the configuration file, for the times when neither flag nor variable is there.
    pub fn save(&self, places: &Places) -> std::io::Result<()> {
        let file = SettingsFile { url: Some(self.url.clone()), key: self.key.as_ref().map(|key| key.0.clone()) };
        let text = toml::to_string(&file).map_err(std::io::Error::other)?;
        private::write(&places.settings_file, text.as_bytes())
    }
}

fn read_file(places: &Places) -> Result<SettingsFile, NoSettings> {
    let path = places.shown(&places.settings_file);
    let text = match std::fs::read_to_string(&places.settings_file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(SettingsFile::default()),
        Err(error) => return Err(NoSettings::Unreadable { path, error }),
    };
    // The library's own rendering shows the line, and the line may hold the key.
    toml::from_str(&text)
        .map_err(|error: toml::de::Error| NoSettings::Wrong { path, error: error.message().to_owned() })
}

fn check_url(url: String, source: &Source) -> Result<String, NoSettings> {
    let is_url = url.parse::<http::Uri>().is_ok_and(|uri| {
        matches!(uri.scheme_str(), Some("http" | "https")) && uri.host().is_some_and(|host| !host.is_empty())
    });
    if !is_url {
        return Err(NoSettings::Address { url, origin: source.to_string() });
    }
    // People copy the endpoint as often as the address.
    let trimmed = url.trim_end_matches('/');
    Ok(trimmed.strip_suffix("/mcp").unwrap_or(trimmed).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(flags: Flags, pairs: &[(&str, &str)], file: &str) -> Result<Settings, NoSettings> {
        let ground = tempfile::tempdir().unwrap();
        let mut environment: Environment =
            pairs.iter().map(|(name, value)| ((*name).to_owned(), value.into())).collect();
        environment.insert("HOME".to_owned(), ground.path().into());
        let places = Places::find(&environment).unwrap();
        if !file.is_empty() {
            private::write(&places.settings_file, file.as_bytes()).unwrap();
        }
        Settings::load(&flags, &environment, &places)
    }

    #[test]
    fn flags_go_before_the_environment_and_that_before_the_file() {
        let file = "url = \"http://file:1\"\nkey = \"mnm_file\"";
        let variables = [(URL_VARIABLE, "http://env:1/mcp"), (KEY_VARIABLE, "mnm_env")];
        let all =
            load(Flags { url: Some("http://flag:1/".into()), key: Some("mnm_flag".into()) }, &variables, file).unwrap();
        assert_eq!((all.url.as_str(), all.key_source.to_string()), ("http://flag:1", "the flag --key".to_owned()));
        let two = load(Flags::default(), &variables, file).unwrap();
        assert_eq!(two.url, "http://env:1", "the endpoint is cut to the address");
        assert_eq!(two.key_source.to_string(), "the environment variable MNEMON_API_KEY");
        let one = load(Flags::default(), &[(KEY_VARIABLE, "")], file).unwrap();
        assert_eq!((one.url.as_str(), one.key.unwrap().expose()), ("http://file:1", "mnm_file"));
        assert_eq!(one.key_source.to_string(), "the file ~/.config/mnemon/agent.toml");
        let none = load(Flags::default(), &[], "").unwrap();
        assert_eq!((none.url.as_str(), none.key.is_none()), (DEFAULT_URL, true));
    }

    #[test]
    fn mistakes_are_told_without_the_key() {
        let error = load(Flags::default(), &[], "key = \"mnm_secret\"\nurll = 1").unwrap_err().to_string();
        assert!(error.contains("urll") && !error.contains("mnm_secret"), "{error}");
        for wrong in ["memory.example.com", "ftp://x", "http://", "not an address"] {
            let error = load(Flags { url: Some(wrong.into()), key: None }, &[], "").unwrap_err().to_string();
            assert!(error.contains("--url") && error.contains("is no address"), "{error}");
        }
    }

    #[test]
    fn a_key_prints_as_stars() {
        let key = ApiKey::new("mnm_secret");
        assert_eq!(format!("{key:?}"), "***");
        assert_eq!(key.fingerprint().len(), 16);
        assert_ne!(key.fingerprint(), ApiKey::new("mnm_secreT").fingerprint());
    }
}
