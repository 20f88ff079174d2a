//! Names of integrations and their tools: `<integration>_readonly.<tool>`, or with `_` for the dot if a project is set
//! so. None of our own tools has `_readonly` in its name, so none can be shadowed.

/// What comes between the integration's name and its tool's.
const MARK: &str = "_readonly";
const INTEGRATION_CHARS_MAX: usize = 32;
const TOOL_CHARS_MAX: usize = 64;
/// The longest name that clients without dots accept.
const PLAIN_CHARS_MAX: usize = 64;
/// Maximum number of entries of an allow-list.
const ALLOWED_MAX: usize = 256;

/// How the integration tools of a project are named.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ToolNames {
    /// `github_readonly.get_me`.
    #[default]
    Dots,
    /// `github_readonly_get_me`, for clients that reject dots.
    Underscores,
}

impl ToolNames {
    /// The word used in storage and on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Dots => "dots",
            Self::Underscores => "underscores",
        }
    }

    pub fn parse(word: &str) -> Option<Self> {
        [Self::Dots, Self::Underscores].into_iter().find(|style| style.as_str() == word)
    }

    /// The name under which a tool is listed; `None` if clients of this style accept none.
    pub(crate) fn name(self, integration: &str, tool: &str) -> Option<String> {
        match self {
            Self::Dots => Some(format!("{integration}{MARK}.{tool}")),
            Self::Underscores => {
                let name = format!("{integration}{MARK}_{}", plain(tool));
                (name.len() <= PLAIN_CHARS_MAX).then_some(name)
            }
        }
    }
}

/// A parsed name: the integration, and how its tool is spelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Split<'a> {
    pub(crate) integration: &'a str,
    tool: &'a str,
    is_dotted: bool,
}

/// Parses a name; `None` if it is not an integration's. The mark ends the integration's name, which never contains it.
pub(crate) fn split(name: &str) -> Option<Split<'_>> {
    let (integration, rest) = name.split_once(MARK)?;
    let (is_dotted, tool) = match rest.strip_prefix('.') {
        Some(tool) => (true, tool),
        None => (false, rest.strip_prefix('_')?),
    };
    (!integration.is_empty() && !tool.is_empty()).then_some(Split { integration, tool, is_dotted })
}

impl<'a> Split<'a> {
    /// Which of these tools is meant. Two tools whose names differ only by a dot are distinguished by the dotted name.
    pub(crate) fn pick<'t>(self, mut tools: impl Iterator<Item = &'t str> + Clone) -> Option<&'t str> {
        if let Some(exact) = tools.clone().find(|name| *name == self.tool) {
            return Some(exact);
        }
        if self.is_dotted { None } else { tools.find(|name| plain(name) == self.tool) }
    }
}

fn plain(tool: &str) -> String {
    tool.replace('.', "_")
}

/// Whether an upstream's tool can be called by its name in every client that accepts dots.
pub(crate) fn is_usable_tool(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    (1..=TOOL_CHARS_MAX).contains(&name.len()) && name.bytes().all(is_plain)
}

/// Checks an integration's name.
pub fn check_name(name: &str) -> Result<(), String> {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'_' | b'-');
    let is_valid = name.len() <= INTEGRATION_CHARS_MAX
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.bytes().all(is_plain)
        && !name.contains(MARK);
    if is_valid {
        return Ok(());
    }
    Err(format!(
        "name must be 1 to {INTEGRATION_CHARS_MAX} lowercase letters, digits, _ and -, start with a letter and not contain {MARK}"
    ))
}

/// Checks an allow-list: names of tools, or prefixes followed by `*`.
pub fn check_allowed(allow: &[String]) -> Result<(), String> {
    if allow.len() > ALLOWED_MAX {
        return Err(format!("allow has {} entries; the limit is {ALLOWED_MAX}", allow.len()));
    }
    for entry in allow {
        let name = entry.strip_suffix('*').unwrap_or(entry);
        if !(is_usable_tool(name) || entry == "*") {
            return Err(format!(
                "allow must list tool names (1 to {TOOL_CHARS_MAX} letters, digits, '_', '-', '.'), optionally ending in *; \
                 '{}' is not one",
                entry.chars().take(TOOL_CHARS_MAX).collect::<String>()
            ));
        }
    }
    Ok(())
}

/// Whether an allow-list admits a tool.
pub(crate) fn is_allowed(allow: &[String], tool: &str) -> bool {
    allow.iter().any(|entry| match entry.strip_suffix('*') {
        Some(beginning) => tool.starts_with(beginning),
        None => entry == tool,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_parse_as_they_were_built() {
        let tools = ["get_me", "a.b", "x_readonly_y", "x_readonly.y", "_", "."];
        for integration in ["github", "a", "a_b", "x_readonl", "code-host_2"] {
            for style in [ToolNames::Dots, ToolNames::Underscores] {
                for tool in tools {
                    let name = style.name(integration, tool).unwrap();
                    let split = split(&name).unwrap();
                    assert_eq!(split.integration, integration, "{name}");
                    let picked = split.pick(tools.into_iter()).unwrap();
                    assert!(
                        picked == tool || (style == ToolNames::Underscores && plain(picked) == plain(tool)),
                        "{name}"
                    );
                }
            }
        }
    }

    #[test]
    fn no_other_spelling_reaches_a_tool() {
        let tools = ["get_me", "a.b"];
        let pick = |name: &str| split(name).and_then(|split| split.pick(tools.into_iter()));
        assert_eq!(pick("g_readonly.get_me"), Some("get_me"));
        assert_eq!(pick("g_readonly_get_me"), Some("get_me"));
        assert_eq!(pick("g_readonly_a_b"), Some("a.b"));
        for name in [
            "g_readonly.Get_me",
            "g_readonly.get_me ",
            "g_readonly. get_me",
            "g_readonly.get.me",
            "g_readonly.a_b",
            "g_READONLY.get_me",
            "g.get_me",
            "g_readonly",
            "g_readonly.",
            "_readonly.get_me",
            "g_readonly-get_me",
            "g_readonly..get_me",
            "g_readonly/get_me",
            "get_me",
            "",
        ] {
            assert_eq!(pick(name), None, "{name}");
        }
    }

    #[test]
    fn names_of_integrations_are_checked_at_their_limits() {
        for good in ["g", "git-hub_2", "readonly", &"a".repeat(32)] {
            assert_eq!(check_name(good), Ok(()), "{good}");
        }
        for bad in ["", "G", "2a", "_a", "a.b", "a b", "a_readonly", "a_readonly_b", "ä", &"a".repeat(33)] {
            assert!(check_name(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn allow_lists_are_checked_and_match_by_name_or_prefix() {
        let list = |entries: &[&str]| entries.iter().map(|entry| (*entry).to_owned()).collect::<Vec<_>>();
        for good in [list(&[]), list(&["*"]), list(&["get_*", "a.b"]), vec!["x".to_owned(); ALLOWED_MAX]] {
            assert_eq!(check_allowed(&good), Ok(()));
        }
        for bad in [list(&[""]), list(&["a*b"]), list(&["**"]), list(&["a b"]), vec!["x".to_owned(); ALLOWED_MAX + 1]] {
            assert!(check_allowed(&bad).is_err(), "{bad:?}");
        }
        assert!(check_allowed(&["a".repeat(64)]).is_ok() && check_allowed(&["a".repeat(65)]).is_err());
        let allow = list(&["get_*", "read"]);
        assert!(is_allowed(&allow, "get_me") && is_allowed(&allow, "get_") && is_allowed(&allow, "read"));
        assert!(!is_allowed(&allow, "get") && !is_allowed(&allow, "reader") && !is_allowed(&allow, "Read"));
        assert!(!is_allowed(&[], "read") && is_allowed(&list(&["*"]), "anything"));
    }

    #[test]
    fn names_too_long_for_clients_without_dots_are_not_listed_to_them() {
        let tool = "t".repeat(64 - "git_readonly_".len());
        assert_eq!(ToolNames::Underscores.name("git", &tool).map(|name| name.len()), Some(64));
        assert_eq!(ToolNames::Underscores.name("git", &format!("{tool}t")), None);
        assert!(ToolNames::Dots.name("git", &format!("{tool}t")).is_some());
    }
}
