//! Which service, and with which credential: flags, then the environment, then what `mnemon login` or `mnemon agent
//! install` saved.

use anyhow::bail;
use mnemon_agent::places::{Environment, Places};
use mnemon_agent::settings::{
    Flags, KEY_VARIABLE, PROFILE_VARIABLE, Settings, URL_VARIABLE, WorkspaceChoice, is_sendable,
};

use crate::arguments::{AdminConnection, Connection};

/// The variables that are read here: each with its argument and its meaning.
pub const VARIABLES: [(&str, &str, &str); 3] = [
    (URL_VARIABLE, "url", "URL of the service."),
    (KEY_VARIABLE, "key", "API key."),
    (PROFILE_VARIABLE, "profile", "Saved connection to use."),
];

/// The effective address and key.
pub struct Found {
    pub url: String,
    pub key: Option<String>,
}

pub fn environment() -> Environment {
    std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value))).collect()
}

/// Where settings are kept. Without a home there are none; flags and variables still count.
pub fn places() -> anyhow::Result<Places> {
    let mut environment = environment();
    Ok(Places::find(&environment).or_else(|_| {
        environment.insert("HOME".to_owned(), "/nonexistent".into());
        Places::find(&environment)
    })?)
}

/// The workspace that was asked for; none if none was, and if `auto` was outside of any repository.
pub fn workspace(choice: Option<&WorkspaceChoice>) -> Option<String> {
    choice?.in_folder(&std::env::current_dir().ok()?)
}

/// Finds the service of a command.
pub fn find(connection: &Connection) -> anyhow::Result<Found> {
    let Connection { url, key, profile } = connection.clone();
    let flags = Flags { url, key, profile, workspace: None };
    let settings = Settings::load(&flags, &environment(), &places()?)?;
    Ok(Found { url: settings.url, key: settings.key.map(|key| key.expose().to_owned()) })
}

/// The same for commands that need a key.
pub fn find_with_key(connection: &Connection) -> anyhow::Result<(String, String)> {
    let Found { url, key } = find(connection)?;
    let Some(key) = key else {
        bail!(
            "no API key; pass --key or set MNEMON_API_KEY. `mnemon login` saves one for later; `mnemon serve` prints one on \
             its first start"
        );
    };
    Ok((url, key))
}

/// The same for commands of the operator and of admins. The operator's token goes first.
pub fn find_with_credential(connection: &AdminConnection) -> anyhow::Result<(String, String)> {
    let Found { url, key } = find(&connection.of_key())?;
    let token = connection.operator_token.clone().filter(|token| !token.is_empty());
    if token.as_deref().is_some_and(|token| !is_sendable(token.trim())) {
        bail!(
            "the operator token contains a space, a line break or another character that no token has; copy it again"
        );
    }
    let token = token.map(|token| token.trim().to_owned());
    let Some(credential) = token.or(key) else {
        bail!(
            "no credential; pass --operator-token (MNEMON_OPERATOR_TOKEN) or an admin's --key (MNEMON_API_KEY), or save a key \
             with `mnemon login`"
        );
    };
    Ok((url, credential))
}
