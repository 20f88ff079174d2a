//! The `gateway` section.

use std::collections::BTreeMap;
use std::time::Duration;

use mnemon_engine::integrations::{SealingKey, check_name};
use toml::Value;

use super::GatewayConfig;
use super::sections::Reader;

/// The longest useful timeout: a client would have given up by then.
const TIMEOUT_SECONDS_MAX: u64 = 300;
const CALLS_MAX: u64 = 1_000;

impl Reader<'_> {
    pub(super) fn gateway(&mut self) -> GatewayConfig {
        let encryption_key = self.sealing_key("gateway.encryption_key");
        let previous_encryption_key = self.sealing_key("gateway.previous_encryption_key");
        if previous_encryption_key.is_some() && encryption_key.is_none() {
            self.mistake("gateway.previous_encryption_key requires gateway.encryption_key");
        }
        let call_timeout = self.between("gateway.call_timeout_s", TIMEOUT_SECONDS_MAX);
        let calls_per_project = self.between("gateway.calls_per_project", CALLS_MAX);
        GatewayConfig {
            encryption_key,
            previous_encryption_key,
            call_timeout: Duration::from_secs(call_timeout),
            calls_per_project: usize::try_from(calls_per_project).unwrap_or(usize::MAX),
            commands: self.commands(),
        }
    }

    fn between(&mut self, path: &str, max: u64) -> u64 {
        let count = self.count(path);
        if !(1..=max).contains(&count) {
            self.mistake(&format!("{path} must be between 1 and {max}"));
        }
        count
    }

    fn sealing_key(&mut self, path: &str) -> Option<SealingKey> {
        let text = Some(self.string(path)).filter(|text| !text.is_empty())?;
        let parsed = SealingKey::parse(&text);
        if let Err(error) = &parsed {
            self.mistake(&format!("{path} {error}"));
        }
        parsed.ok()
    }

    fn commands(&mut self) -> BTreeMap<String, Vec<String>> {
        let mut commands = BTreeMap::new();
        for (name, words) in self.value("gateway.commands").as_table().into_iter().flatten() {
            let words: Option<Vec<String>> =
                words.as_array().map(|words| words.iter().filter_map(Value::as_str).map(str::to_owned).collect());
            let is_whole = |words: &Vec<String>| {
                !words.is_empty() && Some(words.len()) == self.value("gateway.commands")[name].as_array().map(Vec::len)
            };
            match words.filter(is_whole) {
                Some(words) if check_name(name).is_ok() => {
                    commands.insert(name.clone(), words);
                }
                _ => self.mistake(&format!(
                    "gateway.commands.{name} must be a list of words, the program first, and its name lowercase letters, \
                     digits, _ and -"
                )),
            }
        }
        commands
    }
}

#[cfg(test)]
mod tests {
    use super::super::Layers;

    fn gateway(text: &str) -> Result<super::GatewayConfig, Vec<String>> {
        let mut layers = Layers::default();
        layers.file("mnemon.toml", &format!("[gateway]\n{text}"));
        layers.finish().map(|config| config.gateway).map_err(|mistakes| mistakes.0)
    }

    #[test]
    fn the_defaults_are_those_of_the_contract() {
        let gateway = gateway("").unwrap();
        let limits = gateway.to_settings().limits;
        assert_eq!(limits, mnemon_engine::integrations::Limits::default());
        assert_eq!((limits.call_timeout.as_secs(), limits.answer_bytes_max), (30, 1 << 20));
        assert!(gateway.encryption_key.is_none() && gateway.commands.is_empty());
    }

    #[test]
    fn commands_are_named_by_the_operator() {
        let read = gateway("[gateway.commands]\ngit = [\"mcp-server-git\", \"--x\"]\n").unwrap();
        assert_eq!(read.commands["git"], ["mcp-server-git", "--x"]);
        for wrong in ["git = \"x\"", "git = []", "git = [1]", "GIT = [\"x\"]", "git = [\"x\", 1]"] {
            let mistakes = gateway(&format!("[gateway.commands]\n{wrong}\n")).unwrap_err();
            assert!(mistakes[0].starts_with("gateway.commands."), "{wrong}: {mistakes:?}");
            assert_eq!(mistakes.len(), 1, "{wrong}");
        }
    }

    #[test]
    fn numbers_are_checked_at_their_limits() {
        for good in ["call_timeout_s = 1", "call_timeout_s = 300", "calls_per_project = 1", "calls_per_project = 1000"]
        {
            assert!(gateway(good).is_ok(), "{good}");
        }
        for bad in ["call_timeout_s = 0", "call_timeout_s = 301", "calls_per_project = 0", "calls_per_project = 1001"] {
            assert!(gateway(bad).unwrap_err()[0].contains("must be between 1 and"), "{bad}");
        }
    }

    #[test]
    fn keys_are_checked_and_never_repeated() {
        let key = "0f".repeat(32);
        assert!(gateway(&format!("encryption_key = \"{key}\"\nprevious_encryption_key = \"{key}\"")).is_ok());
        let mistakes = gateway("encryption_key = \"hunter2\"").unwrap_err();
        assert_eq!(mistakes.len(), 1);
        assert!(mistakes[0].starts_with("gateway.encryption_key must be 32 random bytes"), "{mistakes:?}");
        assert!(!mistakes[0].contains("hunter2"));
        let alone = gateway(&format!("previous_encryption_key = \"{key}\"")).unwrap_err();
        assert_eq!(alone, ["gateway.previous_encryption_key requires gateway.encryption_key"]);
        let mut layers = Layers::default();
        layers.file("mnemon.toml", &format!("[gateway]\nencryption_key = \"{key}\"\n"));
        assert!(!layers.to_toml().contains(&key));
    }
}
