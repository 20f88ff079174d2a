//! Names of workspaces, the partitions of a project's memory.

use std::fmt;

/// The workspace used when a call names none.
const DEFAULT_WORKSPACE: &str = "default";

/// The longest name, in characters.
const NAME_CHARS_MAX: usize = 64;

/// Stands for the workspace of a repository on the command line, so that no workspace may have it as its name.
pub const AUTO_WORKSPACE: &str = "auto";

/// A checked workspace name: trimmed, 1 to 64 characters, none of them a control character, and not `auto`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WorkspaceName(String);

/// Why a text is not a workspace name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidWorkspaceName {
    #[error("workspace must be 1 to {NAME_CHARS_MAX} characters long, without control characters")]
    Form,
    #[error(
        "no workspace can be called '{AUTO_WORKSPACE}': the command line and the agent use that word for the repository's workspace"
    )]
    Auto,
}

impl WorkspaceName {
    /// Trims and checks a name.
    pub fn parse(name: &str) -> Result<Self, InvalidWorkspaceName> {
        let name = name.trim();
        let is_valid =
            !name.is_empty() && name.chars().count() <= NAME_CHARS_MAX && !name.chars().any(char::is_control);
        match is_valid {
            false => Err(InvalidWorkspaceName::Form),
            true if name == AUTO_WORKSPACE => Err(InvalidWorkspaceName::Auto),
            true => Ok(Self(name.to_owned())),
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for WorkspaceName {
    fn default() -> Self {
        Self(DEFAULT_WORKSPACE.to_owned())
    }
}

impl fmt::Display for WorkspaceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_trimmed_and_bounded() {
        let check = |given: &str, expected: Option<&str>| {
            assert_eq!(WorkspaceName::parse(given).ok().as_ref().map(WorkspaceName::as_str), expected, "{given:?}");
        };
        check("default", Some("default"));
        check("  team notes ", Some("team notes"));
        check("команда", Some("команда"));
        check("", None);
        check("   ", None);
        check("a\nb", None);
        check("a\u{0}b", None);
        check(&"ж".repeat(64), Some(&"ж".repeat(64)));
        check(&"ж".repeat(65), None);
        check(" auto ", None);
        check("autos", Some("autos"));
        assert_eq!(WorkspaceName::parse("auto"), Err(InvalidWorkspaceName::Auto));
    }
}
