//! Known systems: their URL, the headers they need, and a sensible choice of tools.

use std::sync::Arc;

use mnemon_core::Secret;

#[derive(Debug, PartialEq, Eq)]
pub struct Preset {
    /// The preset's name, and the integration's default name.
    pub name: &'static str,
    pub title: &'static str,
    pub url: &'static str,
    /// Headers that it needs besides a credential.
    pub headers: &'static [(&'static str, &'static str)],
    /// The tools that are offered by default.
    pub allow: &'static [&'static str],
}

pub const PRESETS: &[Preset] = &[Preset {
    name: "github",
    title: "GitHub",
    // The URL and the header both ask for read-only access: either would do, and either may be overlooked.
    url: "https://api.githubcopilot.com/mcp/readonly",
    headers: &[("X-MCP-Readonly", "true")],
    allow: &[
        "get_me",
        "get_file_contents",
        "pull_request_read",
        "list_pull_requests",
        "search_pull_requests",
        "issue_read",
        "list_issues",
        "search_issues",
        "get_commit",
        "list_commits",
        "list_branches",
        "list_tags",
        "get_tag",
        "list_releases",
        "get_latest_release",
        "get_release_by_tag",
        "search_code",
        "search_repositories",
    ],
}];

impl Preset {
    pub fn find(name: &str) -> Option<&'static Self> {
        PRESETS.iter().find(|preset| preset.name == name)
    }

    pub(super) fn secret_headers(&'static self) -> impl Iterator<Item = (String, Arc<Secret<String>>)> {
        self.headers.iter().map(|(name, value)| ((*name).to_owned(), Arc::new(Secret::new((*value).to_owned()))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::integrations::{check_allowed, check_name};

    #[test]
    fn presets_pass_the_checks_that_admins_pass() {
        for preset in PRESETS {
            assert_eq!(check_name(preset.name), Ok(()));
            let allow: Vec<String> = preset.allow.iter().map(|name| (*name).to_owned()).collect();
            assert_eq!(check_allowed(&allow), Ok(()));
            assert!(preset.url.starts_with("https://"));
        }
        let github = Preset::find("github").unwrap();
        for tool in ["get_file_contents", "pull_request_read", "get_me"] {
            assert!(github.allow.contains(&tool), "{tool}");
        }
        assert!(github.headers.contains(&("X-MCP-Readonly", "true")));
        assert_eq!(Preset::find("gitlab"), None);
    }
}
