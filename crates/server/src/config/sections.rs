//! Turns layered settings into typed ones, section by section.

use std::net::SocketAddr;
use std::num::NonZeroU64;

use mnemon_core::{CredentialKind, PlanLimits, PlanName, PlanTable, Secret};
use toml::{Table, Value};

use super::levels::wrong_level;
use super::memory::index_memory_bytes;
use super::{
    Config, DatabaseConfig, LogConfig, Network, RecallConfig, ServerConfig, StorageConfig, machine_memory_bytes,
};

/// The log format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// Human on a terminal, JSON elsewhere.
    Auto,
    Human,
    Json,
}

/// Reads typed values and collects mistakes.
pub(super) struct Reader<'a> {
    settings: &'a Table,
    pub(super) mistakes: Vec<String>,
}

const MB: u64 = 1_000_000;
/// More read replicas than one primary usually feeds.
const REPLICAS_MAX: usize = 16;

impl<'a> Reader<'a> {
    pub(super) fn new(settings: &'a Table, mistakes: Vec<String>) -> Self {
        Self { settings, mistakes }
    }

    /// The whole configuration; `None` only together with a mistake.
    pub(super) fn config(&mut self) -> Option<Config> {
        let server = self.server();
        let storage = self.storage();
        let recall = RecallConfig { memory_bytes: self.memory_bytes() };
        let metrics_listen = self.metrics_listen();
        let traces = self.traces();
        let log = self.log();
        let plans = self.plans();
        let outgoing = self.outgoing();
        let gateway = self.gateway();
        let operator_token = self.operator_token();
        Some(Config {
            server: server?,
            storage,
            recall,
            metrics_listen,
            traces,
            log: log?,
            plans,
            outgoing,
            gateway,
            operator_token,
        })
    }

    fn metrics_listen(&mut self) -> Option<std::net::SocketAddr> {
        let listen = self.string("metrics.listen");
        if listen.is_empty() {
            return None;
        }
        let parsed = listen.parse().ok();
        if parsed.is_none() {
            let text = "metrics.listen must be empty, or an address and a port, such as 127.0.0.1:7677";
            self.mistake(&format!("{text}, not '{listen}'"));
        }
        parsed
    }

    fn storage(&mut self) -> StorageConfig {
        // Empty means the usual place, which only the program knows.
        let data_dir: std::path::PathBuf = self.string("storage.data_dir").into();
        let (url, replicas) = (self.string("storage.database"), self.replicas());
        if url.is_empty() {
            if !replicas.is_empty() {
                self.mistake("database.replicas needs storage.database: replicas of which PostgreSQL?");
            }
            return StorageConfig { data_dir, database: None };
        }
        if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
            self.mistake("storage.database must start with postgres:// (not shown here: it may contain a password)");
        }
        let connections_max = self.count("storage.database_connections");
        if !(4..=1_000).contains(&connections_max) {
            self.mistake("storage.database_connections must be between 4 and 1000");
        }
        let batch_max = self.count("storage.database_batch");
        if !(1..=10_000).contains(&batch_max) {
            self.mistake("storage.database_batch must be between 1 and 10000");
        }
        let database = DatabaseConfig {
            url: Secret::new(url),
            replicas,
            role: self.string("storage.database_role"),
            connections_max: connections_max as usize,
            batch_max: batch_max as usize,
        };
        StorageConfig { data_dir, database: Some(database) }
    }

    fn replicas(&mut self) -> Vec<Secret<String>> {
        let urls = self.strings("database.replicas");
        if urls.len() > REPLICAS_MAX {
            self.mistake(&format!("database.replicas may list {REPLICAS_MAX} servers at most, not {}", urls.len()));
        }
        if urls.iter().any(|url| !url.starts_with("postgres://") && !url.starts_with("postgresql://")) {
            self.mistake(
                "each of database.replicas must start with postgres:// (not shown here: it may contain a password)",
            );
        }
        urls.into_iter().map(Secret::new).collect()
    }

    fn server(&mut self) -> Option<ServerConfig> {
        let service_name = self.string("service.name");
        if service_name.trim().is_empty() || service_name.chars().any(char::is_control) {
            self.mistake("service.name must not be empty or contain control characters");
        }
        let listen = self.string("server.listen");
        let parsed = address(&listen);
        if parsed.is_none() {
            self.mistake(&format!(
                "server.listen must be an address and a port, such as 127.0.0.1:7676, localhost:7676 or 7676, not '{listen}'"
            ));
        }
        let base_url = self.base_url(parsed);
        let allowed_origins = self.strings("server.allowed_origins");
        for origin in allowed_origins.iter().filter(|origin| *origin != "*" && !is_web_address(origin)) {
            self.mistake(&format!(
                "server.allowed_origins must list origins such as https://app.example.com, not '{origin}'"
            ));
        }
        let trusted_proxies = self.networks("server.trusted_proxies");
        let connections_max = self.connections_max();
        let memory_bytes = self.machine_bytes();
        Some(ServerConfig {
            memory_bytes,
            service_name,
            listen: parsed?,
            base_url,
            allowed_origins,
            trusted_proxies,
            connections_max,
        })
    }

    /// Without a URL the address is taken for one, which an address that means "all of them" can't be.
    fn base_url(&mut self, listen: Option<SocketAddr>) -> Option<String> {
        let base_url = Some(self.string("server.base_url")).filter(|url| !url.is_empty());
        match (&base_url, listen) {
            (Some(url), _) => {
                if let Some(why) = wrong_base_url(url) {
                    self.mistake(&format!("server.base_url {why}, not '{url}'"));
                }
            }
            (None, Some(listen)) if listen.ip().is_unspecified() => self.mistake(&format!(
                "server.base_url is required because server.listen is {listen}, which means all addresses: set it to the URL \
                 that callers use, such as https://memory.example.com (--base-url or MNEMON_BASE_URL)"
            )),
            (None, _) => {}
        }
        base_url.map(|url| url.trim_end_matches('/').to_owned())
    }

    fn connections_max(&mut self) -> Option<usize> {
        match self.count("server.connections_max") {
            0 => None,
            count @ 8..=1_000_000 => Some(count as usize),
            _ => {
                self.mistake("server.connections_max must be 0, or between 8 and 1000000");
                None
            }
        }
    }

    fn networks(&mut self, path: &str) -> Vec<Network> {
        let texts = self.strings(path);
        let wrong = texts.iter().filter(|text| Network::parse(text).is_none());
        let wrong: Vec<String> = wrong
            .map(|text| format!("{path} must list addresses or networks such as 10.0.0.0/8, not '{text}'"))
            .collect();
        self.mistakes.extend(wrong);
        texts.iter().filter_map(|text| Network::parse(text)).collect()
    }

    fn log(&mut self) -> Option<LogConfig> {
        let level = self.string("log.level");
        if let Some(why) = wrong_level(&level) {
            self.mistake(&format!("log.level {why}"));
        }
        let format = match self.string("log.format").as_str() {
            "auto" => LogFormat::Auto,
            "human" => LogFormat::Human,
            "json" => LogFormat::Json,
            other => {
                self.mistake(&format!("log.format must be auto, human or json, not '{other}'"));
                return None;
            }
        };
        Some(LogConfig { level, format, access_every: self.access_every() })
    }

    fn access_every(&mut self) -> Option<NonZeroU64> {
        let every = NonZeroU64::new(self.count("log.access_every"));
        if every.is_none() {
            self.mistake("log.access_every must be at least 1; to turn the access log off, set log.access to false");
        }
        every.filter(|_| self.flag("log.access"))
    }

    /// What everything that follows the machine's memory is reckoned from.
    fn machine_bytes(&mut self) -> usize {
        match self.count("server.memory_bytes") {
            0 => machine_memory_bytes(),
            bytes => usize::try_from(bytes).unwrap_or(usize::MAX),
        }
    }

    fn memory_bytes(&mut self) -> usize {
        match self.count("recall.memory_bytes") {
            0 => index_memory_bytes(self.machine_bytes()),
            bytes => usize::try_from(bytes).unwrap_or(usize::MAX),
        }
    }

    fn plans(&mut self) -> PlanTable {
        let mut plans = PlanTable::default();
        for plan in PlanName::ALL {
            let mut limit = |key: &str| match self.count(&format!("plans.{}.{key}", plan.as_str())) {
                0 => None,
                count => Some(count),
            };
            let per_minute = |count: Option<u64>| count.map(|count| u32::try_from(count).unwrap_or(u32::MAX));
            *plans.limits_mut(plan) = PlanLimits {
                records_max: limit("records"),
                workspaces_max: limit("workspaces"),
                connection_calls_max: per_minute(limit("connection_calls")),
                project_calls_max: per_minute(limit("project_calls")),
                history_bytes_max: limit("history_mb").map(|mb| mb.saturating_mul(MB)),
                import_bytes_max: limit("import_mb").map(|mb| mb.saturating_mul(MB)),
            };
        }
        plans
    }

    fn operator_token(&mut self) -> Option<Secret<String>> {
        const CHARS_MIN: usize = 32;
        let token = Some(self.string("admin.operator_token")).filter(|token| !token.is_empty())?;
        let prefix = CredentialKind::Operator.prefix();
        let is_sendable = token.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if !token.starts_with(prefix) || token.len() < CHARS_MIN || !is_sendable {
            self.mistake(&format!(
                "admin.operator_token must start with {prefix} and contain at least {CHARS_MIN} letters, digits and underscores"
            ));
        }
        Some(Secret::new(token))
    }

    pub(super) fn mistake(&mut self, text: &str) {
        self.mistakes.push(text.to_owned());
    }

    pub(super) fn value(&self, path: &str) -> &'a Value {
        let mut parts = path.split('.');
        let first = parts.next().and_then(|section| self.settings.get(section));
        let value = parts.fold(first, |value, key| value.and_then(|value| value.get(key)));
        value.expect("layers only replace settings by values of the same type")
    }

    pub(super) fn string(&self, path: &str) -> String {
        self.value(path).as_str().unwrap_or_default().to_owned()
    }

    pub(super) fn flag(&self, path: &str) -> bool {
        self.value(path).as_bool().unwrap_or_default()
    }

    pub(super) fn strings(&mut self, path: &str) -> Vec<String> {
        let items = self.value(path).as_array().map(Vec::as_slice).unwrap_or_default();
        let strings: Vec<String> = items.iter().filter_map(Value::as_str).map(str::to_owned).collect();
        if strings.len() != items.len() {
            self.mistake(&format!("{path} must be a list of strings"));
        }
        strings
    }

    pub(super) fn count(&mut self, path: &str) -> u64 {
        let count = self.value(path).as_integer().unwrap_or_default();
        u64::try_from(count).unwrap_or_else(|_| {
            self.mistake(&format!("{path} must not be negative"));
            0
        })
    }
}

/// What a base URL must be, if this is none. Paths are refused because clients look for metadata at the root.
fn wrong_base_url(url: &str) -> Option<&'static str> {
    if !is_web_address(url) {
        return Some("must start with http:// or https://");
    }
    let Ok(parsed) = url::Url::parse(url) else { return Some("must be a URL such as https://memory.example.com") };
    let has_more = parsed.path() != "/" || parsed.query().is_some() || parsed.fragment().is_some();
    if has_more {
        return Some("must have no path: give the host alone, such as https://memory.example.com");
    }
    if !parsed.username().is_empty() || parsed.password().is_some() {
        return Some("must have no user name and no password");
    }
    let is_everywhere = matches!(parsed.host(), Some(url::Host::Ipv4(host)) if host.is_unspecified())
        || matches!(parsed.host(), Some(url::Host::Ipv6(host)) if host.is_unspecified());
    is_everywhere.then_some("must be a URL that callers can reach")
}

fn is_web_address(url: &str) -> bool {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    rest.is_some_and(|rest| !rest.is_empty() && !rest.contains(char::is_whitespace))
}

/// An address to listen on: written out, with `localhost` for this machine, or the port alone.
fn address(text: &str) -> Option<std::net::SocketAddr> {
    let local = |port: &str| Some(std::net::SocketAddr::from(([127, 0, 0, 1], port.parse().ok()?)));
    text.parse().ok().or_else(|| local(text.strip_prefix("localhost:").unwrap_or(text)))
}

#[cfg(test)]
mod tests {
    use super::super::{DEFAULTS, ENVIRONMENT, Layers};
    use super::*;

    #[test]
    fn the_defaults_are_a_whole_configuration() {
        let config = Layers::default().finish().unwrap();
        assert_eq!(config.server.listen.to_string(), "127.0.0.1:7676");
        assert_eq!(config.plans, PlanTable::default(), "the file's plans are those of the contract");
        assert!(config.recall.memory_bytes > 0);
    }

    #[test]
    fn later_layers_win() {
        let mut layers = Layers::default();
        layers.file("mnemon.toml", "[server]\nlisten = \"127.0.0.1:1\"\n[log]\nformat = \"json\"\n");
        layers.environment([("MNEMON_LISTEN".to_owned(), "127.0.0.1:2".to_owned())]);
        layers.text("--listen", "server.listen", "127.0.0.1:3");
        let config = layers.finish().unwrap();
        assert_eq!(config.server.listen.port(), 3);
        assert_eq!(config.log.format, LogFormat::Json);
    }

    #[test]
    fn all_mistakes_are_reported_together() {
        let mut layers = Layers::default();
        layers.file(
            "mnemon.toml",
            "[server]\nlisten = \"here\"\nlisen = 1\nbase_url = 5\n[log]\nformat = \"xml\"\n[plans.free]\nrecords = -1\n",
        );
        layers.environment([("MNEMON_RECALL_MEMORY_BYTES".to_owned(), "lots".to_owned())]);
        let mistakes = layers.finish().unwrap_err().0;
        assert_eq!(
            mistakes,
            [
                "mnemon.toml: unknown setting 'server.lisen'; did you mean 'server.listen'?",
                "mnemon.toml: 'server.base_url' must be a string",
                "MNEMON_RECALL_MEMORY_BYTES: 'lots' is not a whole number",
                "server.listen must be an address and a port, such as 127.0.0.1:7676, localhost:7676 or 7676, not 'here'",
                "log.format must be auto, human or json, not 'xml'",
                "plans.free.records must not be negative",
            ]
        );
    }

    #[test]
    fn connections_are_bounded_by_the_machine_or_by_a_number() {
        let connections_max = |count: i64| {
            let mut layers = Layers::default();
            layers.environment([("MNEMON_CONNECTIONS_MAX".to_owned(), count.to_string())]);
            layers.finish().map(|config| config.server.connections_max)
        };
        assert_eq!(Layers::default().finish().unwrap().server.connections_max, None);
        for (count, expected) in [(0, None), (8, Some(8)), (1_000_000, Some(1_000_000))] {
            assert_eq!(connections_max(count).unwrap(), expected);
        }
        for wrong in [1, 7, 1_000_001] {
            let mistakes = connections_max(wrong).unwrap_err().0;
            assert_eq!(mistakes, ["server.connections_max must be 0, or between 8 and 1000000"], "{wrong}");
        }
    }

    #[test]
    fn memory_is_the_machines_or_what_is_said() {
        assert_eq!(Layers::default().finish().unwrap().server.memory_bytes, machine_memory_bytes());
        let mut layers = Layers::default();
        layers.environment([("MNEMON_MEMORY_BYTES".to_owned(), (512 << 20).to_string())]);
        let config = layers.finish().unwrap();
        assert_eq!((config.server.memory_bytes, config.recall.memory_bytes), (512 << 20, 64 << 20));
    }

    #[test]
    fn hosts_networks_and_origins_are_checked() {
        let mut layers = Layers::default();
        layers.environment([
            ("MNEMON_TRUSTED_PROXIES".to_owned(), "10.0.0.0/8, proxy.example".to_owned()),
            ("MNEMON_OUTGOING_ALLOWED_HOSTS".to_owned(), "mcp.internal=*, http://10.0.0.7/=*".to_owned()),
            ("MNEMON_ALLOWED_ORIGINS".to_owned(), "*, app.example".to_owned()),
        ]);
        assert_eq!(
            layers.finish().unwrap_err().0,
            [
                "server.allowed_origins must list origins such as https://app.example.com, not 'app.example'",
                "server.trusted_proxies must list addresses or networks such as 10.0.0.0/8, not 'proxy.example'",
                "outgoing.allowed_hosts must list hosts such as mcp.internal or 10.0.0.7, not 'http://10.0.0.7/'",
            ]
        );
    }

    fn mistakes(variables: &[(&str, &str)]) -> Vec<String> {
        let mut layers = Layers::default();
        layers.environment(variables.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())));
        layers.finish().err().map(|mistakes| mistakes.0).unwrap_or_default()
    }

    #[test]
    fn a_base_url_is_a_host_alone() {
        let check = |url: &str, expected: &str| {
            let found = mistakes(&[("MNEMON_BASE_URL", url)]).join("; ");
            assert!(if expected.is_empty() { found.is_empty() } else { found.contains(expected) }, "{url}: {found}");
        };
        for good in
            ["https://memory.example.com", "https://memory.example.com/", "http://127.0.0.1:7676", "http://[::1]:1"]
        {
            check(good, "");
        }
        for path in ["https://example.com/mnemon", "https://example.com/?a=1", "https://example.com/#top"] {
            check(path, "server.base_url must have no path");
        }
        check("memory.example.com", "must start with http:// or https://");
        check(concat!("https://ana:", "pw@example.com"), "must have no user name");
        check("http://0.0.0.0:7676", "must be a URL that callers can reach");
        check("http://[::]:7676", "must be a URL that callers can reach");
        let mut layers = Layers::default();
        layers.text("--base-url", "server.base_url", "https://memory.example.com/");
        let url = layers.finish().unwrap().server.base_url;
        assert_eq!(url.as_deref(), Some("https://memory.example.com"), "without the slash at its end");
    }

    #[test]
    fn a_service_on_all_addresses_has_to_know_its_url() {
        for everywhere in ["0.0.0.0:7676", "[::]:7676"] {
            let found = mistakes(&[("MNEMON_LISTEN", everywhere)]);
            assert!(matches!(found.as_slice(), [one] if one.starts_with("server.base_url is required")), "{found:?}");
            let both = [("MNEMON_LISTEN", everywhere), ("MNEMON_BASE_URL", "https://memory.example.com")];
            assert_eq!(mistakes(&both), [""; 0]);
        }
        assert_eq!(mistakes(&[("MNEMON_LISTEN", "192.0.2.1:7676")]), [""; 0]);
    }

    #[test]
    fn the_access_log_is_on_or_off_and_samples_at_least_every_request() {
        let every = |variables: &[(&str, &str)]| {
            let mut layers = Layers::default();
            layers.environment(variables.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())));
            layers.finish().map(|config| config.log.access_every.map(NonZeroU64::get))
        };
        assert_eq!(every(&[]), Ok(None));
        assert_eq!(every(&[("MNEMON_LOG_ACCESS", "true")]), Ok(Some(1)));
        assert_eq!(every(&[("MNEMON_LOG_ACCESS", "true"), ("MNEMON_LOG_ACCESS_EVERY", "10")]), Ok(Some(10)));
        let wrong = mistakes(&[("MNEMON_LOG_ACCESS_EVERY", "0")]);
        assert_eq!(wrong, ["log.access_every must be at least 1; to turn the access log off, set log.access to false"]);
    }

    #[test]
    fn every_variable_names_a_setting_of_the_defaults() {
        let settings: Table = DEFAULTS.parse().unwrap();
        for variable in ENVIRONMENT {
            let (section, key) = variable.setting.split_once('.').unwrap();
            assert!(settings[section].get(key).is_some(), "{}", variable.name);
        }
    }

    #[test]
    fn a_port_alone_and_localhost_mean_this_machine() {
        for text in ["127.0.0.1:7676", "localhost:7676", "7676"] {
            assert_eq!(address(text).map(|address| address.to_string()).as_deref(), Some("127.0.0.1:7676"), "{text}");
        }
        assert_eq!(address("[::1]:80").map(|address| address.to_string()).as_deref(), Some("[::1]:80"));
        for text in ["", "here", "localhost", "localhost:", "70000", "host:80", ":7676"] {
            assert_eq!(address(text), None, "{text}");
        }
    }
}
