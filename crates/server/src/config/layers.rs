//! Layers the sources of settings on top of each other.

use std::fmt;

use mnemon_core::nearest;
use toml::{Table, Value};

use super::sections::Reader;
use super::{Config, DEFAULTS, ENVIRONMENT};

/// What our environment variables begin with.
const PREFIX: &str = "MNEMON_";

/// Settings that are never shown.
const SECRETS: [(&str, &str); 5] = [
    ("admin", "operator_token"),
    ("database", "replicas"),
    ("gateway", "encryption_key"),
    ("gateway", "previous_encryption_key"),
    ("storage", "database"),
];
/// The sections whose keys the operator chooses, each with an example.
const OPEN_SECTIONS: [(&str, &str); 2] = [
    ("gateway.commands", r#"git = { run = ["mcp-server-git"], accounts = ["*"] }"#),
    ("outgoing.allowed_hosts", r#""mcp.internal" = { accounts = ["*"] }"#),
];

/// All mistakes in a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistakes(pub Vec<String>);

impl fmt::Display for Mistakes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the configuration has {} mistake(s):", self.0.len())?;
        self.0.iter().try_for_each(|mistake| write!(f, "\n  - {mistake}"))
    }
}

impl std::error::Error for Mistakes {}

/// The settings layered so far.
#[derive(Debug, Clone)]
pub struct Layers {
    settings: Table,
    mistakes: Vec<String>,
}

impl Default for Layers {
    fn default() -> Self {
        let settings = DEFAULTS.parse().expect("the compiled-in defaults are valid TOML");
        Self { settings, mistakes: Vec::new() }
    }
}

impl Layers {
    /// Adds a configuration file on top; `name` is used in messages.
    pub fn file(&mut self, name: &str, text: &str) {
        match text.parse::<Table>() {
            Ok(table) => overlay(&mut self.settings, table, name, "", &mut self.mistakes),
            Err(error) => self.mistakes.push(format!("{name}: {error}")),
        }
    }

    /// Adds environment variables on top. Those that match no setting are ignored; see [`unknown_variables`].
    pub fn environment(&mut self, variables: impl IntoIterator<Item = (String, String)>) {
        for (name, text) in variables {
            if let Some(variable) = ENVIRONMENT.iter().find(|variable| variable.name == name) {
                self.text(&name, variable.setting, &text);
            }
        }
    }

    /// Says where data is kept if nothing else does.
    pub fn usual_data_dir(&mut self, find: impl FnOnce() -> String) {
        let slot = self.settings.get_mut("storage").and_then(|section| section.get_mut("data_dir"));
        if let Some(slot) = slot.filter(|slot| slot.as_str() == Some("")) {
            *slot = Value::String(find());
        }
    }

    /// Adds a mistake that was found elsewhere.
    pub fn mistake(&mut self, text: String) {
        self.mistakes.push(text);
    }

    /// Adds one setting on top, given as text by a variable or flag called `origin`.
    pub fn text(&mut self, origin: &str, setting: &str, text: &str) {
        let (section, key) = setting.split_once('.').expect("settings are named section.key");
        let slot = self.settings.get_mut(section).and_then(|section| section.get_mut(key));
        let slot = slot.expect("flags and variables name settings that have a default");
        match parse_like(slot, text) {
            Some(value) => *slot = value,
            None => self.mistakes.push(format!("{origin}: '{text}' is not {}", type_name(slot))),
        }
    }

    /// The current settings as TOML, with secrets hidden.
    pub fn to_toml(&self) -> String {
        let mut settings = self.settings.clone();
        for (section, key) in SECRETS {
            let secret = settings.get_mut(section).and_then(|section| section.get_mut(key));
            match secret {
                Some(Value::String(secret)) if !secret.is_empty() => *secret = "***".to_owned(),
                Some(Value::Array(secrets)) => secrets.fill("***".into()),
                _ => {}
            }
        }
        settings.to_string()
    }

    /// Checks all settings.
    pub fn finish(self) -> Result<Config, Mistakes> {
        let mut reader = Reader::new(&self.settings, self.mistakes);
        let config = reader.config();
        match (config, reader.mistakes.is_empty()) {
            (Some(config), true) => Ok(config),
            _ => Err(Mistakes(reader.mistakes)),
        }
    }
}

/// A mistake for every variable with our prefix that neither a setting nor the command line knows.
pub fn unknown_variables<'a>(names: impl IntoIterator<Item = &'a str>, of_commands: &[String]) -> Vec<String> {
    let known = || ENVIRONMENT.iter().map(|variable| variable.name).chain(of_commands.iter().map(String::as_str));
    let is_unknown = |name: &&str| name.starts_with(PREFIX) && !known().any(|known| known == *name);
    let tell = |name: &str| {
        // Compared without what all have in common, which would make anything look alike.
        let ends = known().filter_map(|known| known.strip_prefix(PREFIX));
        let meant = nearest(&name[PREFIX.len()..], ends);
        let advice = meant.map(|meant| format!("; did you mean {PREFIX}{meant}?")).unwrap_or_default();
        format!("unknown environment variable {name}{advice}")
    };
    let mut unknown: Vec<String> = names.into_iter().filter(is_unknown).map(tell).collect();
    unknown.sort_unstable();
    unknown
}

fn overlay(below: &mut Table, above: Table, file: &str, path: &str, mistakes: &mut Vec<String>) {
    for (key, value) in above {
        let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        let is_open = |(section, _): (&str, &str)| path.strip_prefix(section).is_some_and(|rest| rest.starts_with('.'));
        if OPEN_SECTIONS.into_iter().any(is_open) {
            below.insert(key, value);
            continue;
        }
        let example = OPEN_SECTIONS.into_iter().find(|(section, _)| *section == path).map(|(_, example)| example);
        if let Some(example) = example.filter(|_| !value.is_table()) {
            mistakes.push(format!("{file}: '{path}' must be a section that says to whom each is allowed: {example}"));
            continue;
        }
        let Some(slot) = below.get_mut(&key) else {
            mistakes.push(unknown_setting(file, &path, &key, below));
            continue;
        };
        match (slot, value) {
            (Value::Table(below), Value::Table(above)) => overlay(below, above, file, &path, mistakes),
            (slot, value) if slot.same_type(&value) => *slot = value,
            (Value::Table(_), _) => mistakes.push(format!("{file}: '{path}' must be a section")),
            (slot, _) => mistakes.push(format!("{file}: '{path}' must be {}", type_name(slot))),
        }
    }
}

fn unknown_setting(file: &str, path: &str, key: &str, known: &Table) -> String {
    let meant = nearest(key, known.keys().map(String::as_str));
    let section = path.strip_suffix(key).unwrap_or_default();
    let advice = meant.map(|meant| format!("; did you mean '{section}{meant}'?")).unwrap_or_default();
    format!("{file}: unknown setting '{path}'{advice}")
}

/// Parses a text as the setting's type.
fn parse_like(setting: &Value, text: &str) -> Option<Value> {
    match setting {
        Value::String(_) => Some(Value::String(text.to_owned())),
        Value::Integer(_) => text.trim().replace('_', "").parse().ok().map(Value::Integer),
        Value::Boolean(_) => text.trim().parse().ok().map(Value::Boolean),
        Value::Array(_) => {
            let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
            Some(Value::Array(items.map(|item| Value::String(item.to_owned())).collect()))
        }
        Value::Table(_) => parse_hosts(text).map(Value::Table),
        _ => None,
    }
}

/// Hosts with the accounts that they are allowed to: `mcp.internal=*, 10.0.0.7=ACCOUNT`. A host may come again with
/// another account.
fn parse_hosts(text: &str) -> Option<Table> {
    let mut hosts: Table = Table::new();
    for item in text.split(',').map(str::trim).filter(|item| !item.is_empty()) {
        let (host, account) = item.rsplit_once('=')?;
        let entry = hosts.entry(host.trim()).or_insert_with(|| Value::Table(Table::new())).as_table_mut()?;
        let accounts = entry.entry("accounts").or_insert_with(|| Value::Array(Vec::new()));
        accounts.as_array_mut()?.push(Value::String(account.trim().to_owned()));
    }
    Some(hosts)
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::String(_) => "a string",
        Value::Integer(_) => "a whole number",
        Value::Boolean(_) => "true or false",
        Value::Array(_) => "a list of strings",
        Value::Table(_) => "a list such as mcp.internal=*, 10.0.0.7=ACCOUNT",
        _ => "of the same type as the default",
    }
}
