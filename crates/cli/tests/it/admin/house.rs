//! A service for the commands that manage accounts, with both credentials of its first start.

use serde_json::Value;

use crate::process::{Done, Place, Service};

pub(crate) struct House {
    pub(crate) place: Place,
    pub(crate) service: Service,
    pub(crate) key: String,
    pub(crate) token: String,
}

impl House {
    pub(crate) fn open() -> Self {
        Self::open_with(&[])
    }

    pub(crate) fn open_with(more: &[&str]) -> Self {
        Self::start(Place::new(), more)
    }

    /// In a directory that already contains something, for example a configuration file.
    pub(crate) fn open_in(place: Place) -> Self {
        Self::start(place, &[])
    }

    fn start(place: Place, more: &[&str]) -> Self {
        let service = place.serve(&[&["--json"], more].concat());
        let welcome: Value = serde_json::from_str(&service.welcome).expect("a JSON start prints one object");
        let secret = |name: &str| welcome[name].as_str().expect("shown at the first start").to_owned();
        let (key, token) = (secret("key"), secret("operator_token"));
        Self { place, service, key, token }
    }

    /// Runs a command as the operator.
    pub(crate) fn operator(&self, arguments: &[&str]) -> Done {
        self.place.run(&[arguments, &["--url", &self.service.url, "--operator-token", &self.token]].concat())
    }

    /// Runs a command with a key.
    pub(crate) fn with_key(&self, key: &str, arguments: &[&str]) -> Done {
        self.place.run(&[arguments, &["--url", &self.service.url, "--key", key]].concat())
    }

    /// Runs a command as the first account's admin.
    pub(crate) fn admin(&self, arguments: &[&str]) -> Done {
        self.with_key(&self.key, arguments)
    }

    /// The JSON of a command run as the admin.
    pub(crate) fn admin_json(&self, arguments: &[&str]) -> Value {
        let done = self.admin(&[arguments, &["--json"]].concat());
        assert_eq!((done.code, done.err.as_str()), (0, ""), "{arguments:?}: {done:?}");
        done.json()
    }

    /// The JSON of a command run as the operator.
    pub(crate) fn operator_json(&self, arguments: &[&str]) -> Value {
        let done = self.operator(&[arguments, &["--json"]].concat());
        assert_eq!((done.code, done.err.as_str()), (0, ""), "{arguments:?}: {done:?}");
        done.json()
    }

    /// The first account's id.
    pub(crate) fn account(&self) -> String {
        text(&self.admin_json(&["account", "show"]), "id")
    }

    /// The first project's id.
    pub(crate) fn project(&self) -> String {
        text(&self.admin_json(&["project", "show"]), "id")
    }
}

/// A member of an answer that must be text.
pub(crate) fn text(value: &Value, name: &str) -> String {
    value[name].as_str().unwrap_or_else(|| panic!("{name} in {value}")).to_owned()
}

/// What a person sees, with ids, times and keys masked and every gap one space wide.
pub(crate) fn masked(done: &Done) -> String {
    assert_eq!((done.code, done.err.as_str()), (0, ""), "{done:?}");
    let mask = |word: &str| match word {
        id if id.len() == 36 && id.matches('-').count() == 4 => "<id>".to_owned(),
        key if key.starts_with("mnm_") && key.len() == 53 => "<key>".to_owned(),
        hash if hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()) => "<hash>".to_owned(),
        moment if moment.starts_with("20") && moment.contains('T') && moment.ends_with('Z') => "<time>".to_owned(),
        minute if minute.len() == 6 && minute.as_bytes()[2] == b':' && minute.ends_with('Z') => "<minute>".to_owned(),
        day if day.len() == 10 && day.starts_with("20") && day.matches('-').count() == 2 => "<day>".to_owned(),
        other => other.to_owned(),
    };
    let line = |line: &str| {
        let words: Vec<String> = line.split_whitespace().map(mask).collect();
        words.join(" ").replace("<day> <minute>", "<time>")
    };
    done.out.lines().map(line).collect::<Vec<_>>().join("\n")
}
