//! The `gateway` section.

use std::collections::BTreeMap;
use std::time::Duration;

use mnemon_engine::integrations::{LocalCommand, SealingKey, check_name};
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

    fn commands(&mut self) -> BTreeMap<String, LocalCommand> {
        let mut commands = BTreeMap::new();
        for (name, setting) in self.value("gateway.commands").as_table().into_iter().flatten() {
            let path = format!("gateway.commands.{name}");
            if check_name(name).is_err() {
                self.mistake(&format!("{path} must have a name of small letters, digits, _ and -"));
                continue;
            }
            let Some(accounts) = self.accounts(&path, setting, &["run", "accounts"]) else { continue };
            let words = setting.get("run").and_then(Value::as_array).filter(|words| !words.is_empty());
            let words: Option<Vec<String>> =
                words.and_then(|words| words.iter().map(|word| word.as_str().map(str::to_owned)).collect());
            match words {
                Some(words) => drop(commands.insert(name.clone(), LocalCommand { words, accounts })),
                None => self.mistake(&format!("{path}.run must be a list of words, the program first")),
            }
        }
        commands
    }
}

#[cfg(test)]
mod tests {
    use mnemon_engine::integrations::Accounts;

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
        let read = gateway("[gateway.commands]\ngit = { run = [\"mcp-server-git\", \"--x\"], accounts = [\"*\"] }\n");
        let git = &read.unwrap().commands["git"];
        assert_eq!((git.words.join(" ").as_str(), &git.accounts), ("mcp-server-git --x", &Accounts::All));
        for wrong in [
            "git = \"x\"",
            "git = [\"x\"]",
            "git = { run = [\"x\"] }",
            "git = { run = [\"x\"], accounts = [] }",
            "git = { accounts = [\"*\"] }",
            "git = { run = [], accounts = [\"*\"] }",
            "git = { run = [\"x\", 1], accounts = [\"*\"] }",
            "git = { run = \"x\", accounts = [\"*\"] }",
            "GIT = { run = [\"x\"], accounts = [\"*\"] }",
            "git = { run = [\"x\"], accounts = [\"*\"], env = [] }",
        ] {
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
