//! Which service and which key: from flags, then the environment, then the configuration file.

use std::fmt;
use std::path::{Path, PathBuf};

use mnemon_protocol::hex::to_hex;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::places::{Environment, Places};
use crate::private;
use crate::repository::{AUTO, name_around};

/// The default address.
pub const DEFAULT_URL: &str = "http://127.0.0.1:7676";
pub const URL_VARIABLE: &str = "MNEMON_URL";
pub const KEY_VARIABLE: &str = "MNEMON_API_KEY";
pub const PROFILE_VARIABLE: &str = "MNEMON_PROFILE";
/// The longest name of a profile.
const PROFILE_CHARS_MAX: usize = 64;

/// An API key. It prints as stars.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey(String);

impl ApiKey {
    pub fn new(key: impl Into<String>) -> Self {
        Self(key.into())
    }

    /// The key itself, only for the header and the configuration file.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Identifies a key without revealing it.
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
    /// A command-line flag.
    Flag(&'static str),
    /// An environment variable.
    Environment(&'static str),
    /// The configuration file, with its path as shown to people.
    File(String),
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

/// Settings given on the command line.
#[derive(Debug, Clone, Default)]
pub struct Flags {
    pub url: Option<String>,
    pub key: Option<String>,
    pub workspace: Option<WorkspaceChoice>,
    /// The name of a saved connection. Given as a flag, it counts before the environment's URL and key.
    pub profile: Option<String>,
}

/// Which workspace calls go to that name none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkspaceChoice {
    Named(String),
    /// The one called like the repository around the folder that somebody works in.
    Auto,
}

impl From<&str> for WorkspaceChoice {
    fn from(word: &str) -> Self {
        if word.trim() == AUTO { Self::Auto } else { Self::Named(word.trim().to_owned()) }
    }
}

impl fmt::Display for WorkspaceChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Named(name) => name,
            Self::Auto => AUTO,
        })
    }
}

impl WorkspaceChoice {
    /// The workspace for work in a folder; none if none is named, and by repository outside of any.
    pub fn in_folder(&self, folder: &Path) -> Option<String> {
        match self {
            Self::Named(name) => Some(name.clone()).filter(|name| !name.is_empty()),
            Self::Auto => name_around(folder),
        }
    }
}

/// The effective settings.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The service's URL, without a trailing slash.
    pub url: String,
    pub url_source: Source,
    /// The key. Without one, every call fails and says so.
    pub key: Option<ApiKey>,
    pub key_source: Source,
    /// Sent with every call as a header; without one the key's own workspace counts.
    pub workspace: Option<WorkspaceChoice>,
    /// Things a person should know that are no reason to stop.
    pub warnings: Vec<String>,
}

/// Why there are no settings.
#[derive(Debug, thiserror::Error)]
pub enum NoSettings {
    #[error("can't read {path}: {error}")]
    Unreadable { path: String, error: std::io::Error },
    #[error("{path} is invalid: {error}; it may contain url = \"...\" and key = \"...\"")]
    Wrong {
        path: String,
        /// What is wrong; never the value of the key.
        error: String,
    },
    #[error("'{url}' (from {origin}) is not a service URL; use the form https://memory.example.com")]
    Address { url: String, origin: String },
    #[error(
        "the API key (from {origin}) contains a space, a line break or another character that no key has; copy it again"
    )]
    Key { origin: String },
    #[error("a profile's name has 1 to 64 letters, digits, dashes and underscores; '{0}' is none")]
    ProfileName(String),
    #[error("there is no profile '{name}'; save it with `mnemon login --profile {name}`{}", or_one_of(.known))]
    NoProfile { name: String, known: Vec<String> },
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SettingsFile {
    url: Option<String>,
    key: Option<String>,
}

/// Whether a header can carry a credential. One that was copied over two lines can't be sent at all.
pub fn is_sendable(credential: &str) -> bool {
    credential.bytes().all(|byte| byte.is_ascii_graphic())
}

fn or_one_of(names: &[String]) -> String {
    if names.is_empty() { String::new() } else { format!(", or use one of {}", names.join(", ")) }
}

/// The file of a saved connection: the agent's own, or that of a profile.
pub fn connection_file(places: &Places, profile: Option<&str>) -> Result<PathBuf, NoSettings> {
    let Some(name) = profile else { return Ok(places.settings_file.clone()) };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if !(1..=PROFILE_CHARS_MAX).contains(&name.len()) || !name.chars().all(is_plain) {
        return Err(NoSettings::ProfileName(name.to_owned()));
    }
    Ok(profiles_folder(places).join(format!("{name}.toml")))
}

fn profiles_folder(places: &Places) -> PathBuf {
    places.settings_file.with_file_name("profiles")
}

/// The names of the saved profiles, in order.
pub fn profiles(places: &Places) -> Vec<String> {
    let entries = std::fs::read_dir(profiles_folder(places)).into_iter().flatten().flatten();
    let name = |path: PathBuf| {
        (path.extension()? == "toml").then(|| path.file_stem().map(|stem| stem.to_string_lossy().into_owned()))?
    };
    let mut names: Vec<String> = entries.filter_map(|entry| name(entry.path())).collect();
    names.sort_unstable();
    names
}

/// Saves a connection, for its owner's eyes alone.
pub fn save_connection(file: &Path, url: &str, key: &ApiKey) -> std::io::Result<()> {
    let content = SettingsFile { url: Some(url.to_owned()), key: Some(key.0.clone()) };
    let text = toml::to_string(&content).map_err(std::io::Error::other)?;
    private::write(file, text.as_bytes())
}

impl Settings {
    /// Reads the settings.
    pub fn load(flags: &Flags, environment: &Environment, places: &Places) -> Result<Self, NoSettings> {
        let from_environment = |name: &str| environment.get(name).and_then(|value| value.to_str()).map(str::to_owned);
        let own_profile = flags.profile.clone().filter(|name| !name.is_empty());
        let is_chosen = own_profile.is_some();
        let profile = own_profile.or_else(|| from_environment(PROFILE_VARIABLE).filter(|name| !name.is_empty()));
        let path = connection_file(places, profile.as_deref())?;
        if let Some(name) = profile.filter(|_| !path.exists()) {
            return Err(NoSettings::NoProfile { name, known: profiles(places) });
        }
        let file = read_file(places, &path)?;
        let shown = places.shown(&path);
        let variable = |name: &str| if is_chosen { None } else { from_environment(name) };
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
        if file.key.is_some() && private::is_open_to_others(&path) {
            warnings.push(format!("other users of this machine can read the key in {shown}; run: chmod 600 {shown}"));
        }
        let (url, url_source) = pick(("--url", &flags.url), URL_VARIABLE, file.url);
        let (key, key_source) = pick(("--key", &flags.key), KEY_VARIABLE, file.key);
        if key.as_deref().is_some_and(|key| !is_sendable(key)) {
            return Err(NoSettings::Key { origin: key_source.to_string() });
        }
        let url = url.unwrap_or_else(|| DEFAULT_URL.to_owned());
        let url = parse_url(&url).ok_or_else(|| NoSettings::Address { url, origin: url_source.to_string() })?;
        let workspace = flags.workspace.clone().filter(|choice| !choice.to_string().is_empty());
        Ok(Self { url, url_source, key: key.map(ApiKey), key_source, workspace, warnings })
    }

    /// Settings for a test.
    #[cfg(test)]
    pub(crate) fn at(url: &str) -> Self {
        let (url_source, key_source) = (Source::Default, Source::Default);
        Self { url: url.to_owned(), url_source, key: None, key_source, workspace: None, warnings: Vec::new() }
    }

    /// Saves the URL and the key in the configuration file, for starts without flags or variables.
    pub fn save(&self, places: &Places) -> std::io::Result<()> {
        let file = SettingsFile { url: Some(self.url.clone()), key: self.key.as_ref().map(|key| key.0.clone()) };
        let text = toml::to_string(&file).map_err(std::io::Error::other)?;
        private::write(&places.settings_file, text.as_bytes())
    }
}

fn read_file(places: &Places, file: &Path) -> Result<SettingsFile, NoSettings> {
    let path = places.shown(file);
    let text = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(SettingsFile::default()),
        Err(error) => return Err(NoSettings::Unreadable { path, error }),
    };
    // The library's own message shows the line, which may contain the key.
    toml::from_str(&text)
        .map_err(|error: toml::de::Error| NoSettings::Wrong { path, error: error.message().to_owned() })
}

/// A service's base URL, however people write it: with the endpoint, with a slash at its end, without a scheme.
pub fn parse_url(typed: &str) -> Option<String> {
    let typed = typed.trim();
    let with_scheme = if typed.contains("://") {
        typed.to_owned()
    } else {
        let host = typed.split(['/', ':']).next().unwrap_or_default();
        let is_near = host == "localhost" || host.starts_with("127.") || typed.starts_with("[::1]");
        format!("{}://{typed}", if is_near { "http" } else { "https" })
    };
    let is_url = with_scheme.parse::<http::Uri>().is_ok_and(|uri| {
        matches!(uri.scheme_str(), Some("http" | "https")) && uri.host().is_some_and(|host| !host.is_empty())
    });
    // People copy the endpoint as often as the base URL.
    let trimmed = with_scheme.trim_end_matches('/');
    is_url.then(|| trimmed.strip_suffix("/mcp").unwrap_or(trimmed).to_owned())
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
    fn flags_override_the_environment_and_the_environment_overrides_the_file() {
        let file = "url = \"http://file:1\"\nkey = \"mnm_file\"";
        let variables = [(URL_VARIABLE, "http://env:1/mcp"), (KEY_VARIABLE, "mnm_env")];
        let all = load(
            Flags { url: Some("http://flag:1/".into()), key: Some("mnm_flag".into()), ..Flags::default() },
            &variables,
            file,
        )
        .unwrap();
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
    fn mistakes_are_reported_without_the_key() {
        let error = load(Flags::default(), &[], "key = \"mnm_secret\"\nurll = 1").unwrap_err().to_string();
        assert!(error.contains("urll") && !error.contains("mnm_secret"), "{error}");
        for wrong in ["ftp://x", "http://", "not an address", "http://:80", "://x"] {
            let error = load(Flags { url: Some(wrong.into()), ..Flags::default() }, &[], "").unwrap_err().to_string();
            assert!(error.contains("--url") && error.contains("is not a service URL"), "{error}");
        }
        for wrong in ["mnm_secret\nsecret", "mnm_secret secret", "mnm_secreté"] {
            let error = load(Flags::default(), &[(KEY_VARIABLE, wrong)], "").unwrap_err().to_string();
            assert!(error.contains("MNEMON_API_KEY") && error.contains("a line break"), "{error}");
            assert!(!error.contains("secret"), "{error}");
        }
        let wrapped = load(Flags::default(), &[(KEY_VARIABLE, " mnm_secret\n")], "").unwrap();
        assert_eq!(wrapped.key.unwrap().expose(), "mnm_secret", "what surrounds a key is no part of it");
    }

    #[test]
    fn an_address_is_taken_as_people_write_it() {
        for (typed, url) in [
            ("localhost:7676", "http://localhost:7676"),
            ("127.0.0.1:7676/mcp", "http://127.0.0.1:7676"),
            ("[::1]:7676", "http://[::1]:7676"),
            ("memory.example.com", "https://memory.example.com"),
            ("memory.example.com/mcp/", "https://memory.example.com"),
            ("http://10.0.0.1:80/", "http://10.0.0.1:80"),
            (" https://memory.example.com/mcp ", "https://memory.example.com"),
        ] {
            assert_eq!(parse_url(typed).as_deref(), Some(url), "{typed}");
        }
    }

    #[test]
    fn a_profile_is_a_file_of_its_own_and_as_a_flag_it_counts_first() {
        let ground = tempfile::tempdir().unwrap();
        let environment: Environment =
            [("HOME".to_owned(), ground.path().into()), (KEY_VARIABLE.to_owned(), "mnm_env".into())].into();
        let places = Places::find(&environment).unwrap();
        let work = |environment: &Environment, profile: Option<&str>| {
            let flags = Flags { profile: profile.map(str::to_owned), ..Flags::default() };
            Settings::load(&flags, environment, &places)
        };
        let absent = work(&environment, Some("work")).unwrap_err().to_string();
        assert_eq!(absent, "there is no profile 'work'; save it with `mnemon login --profile work`");
        let file = connection_file(&places, Some("work")).unwrap();
        save_connection(&file, "http://work:1", &ApiKey::new("mnm_work")).unwrap();
        assert!(!private::is_open_to_others(&file));
        assert_eq!(profiles(&places), ["work"]);
        let loaded = work(&environment, Some("work")).unwrap();
        assert_eq!((loaded.url.as_str(), loaded.key.unwrap().expose()), ("http://work:1", "mnm_work"));
        let mut chosen = environment.clone();
        chosen.insert(PROFILE_VARIABLE.to_owned(), "work".into());
        let loaded = work(&chosen, None).unwrap();
        assert_eq!(
            (loaded.url.as_str(), loaded.key.unwrap().expose()),
            ("http://work:1", "mnm_env"),
            "the key is nearer"
        );
        let other = work(&environment, Some("home")).unwrap_err().to_string();
        assert!(other.ends_with(", or use one of work"), "{other}");
        for name in ["", "a/b", "..", &"x".repeat(65)] {
            assert!(connection_file(&places, Some(name)).is_err(), "{name}");
        }
        assert!(connection_file(&places, Some(&"x".repeat(64))).is_ok());
    }

    #[test]
    fn a_key_prints_as_stars() {
        let key = ApiKey::new("mnm_secret");
        assert_eq!(format!("{key:?}"), "***");
        assert_eq!(key.fingerprint().len(), 16);
        assert_ne!(key.fingerprint(), ApiKey::new("mnm_secreT").fingerprint());
    }
}
