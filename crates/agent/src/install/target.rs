//! The programs that the agent can be added to: where each keeps its configuration, and in which form.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::Entry;
use crate::places::Places;

/// A program that the agent can be added to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// Claude Code, at user level.
    ClaudeCode,
    ClaudeDesktop,
    Cline,
    Codex,
    CopilotCli,
    Cursor,
    GeminiCli,
    OpenCode,
    VsCode,
    Windsurf,
    Zed,
}

impl Target {
    pub const ALL: [Self; 11] = [
        Self::ClaudeCode,
        Self::ClaudeDesktop,
        Self::Cline,
        Self::Codex,
        Self::CopilotCli,
        Self::Cursor,
        Self::GeminiCli,
        Self::OpenCode,
        Self::VsCode,
        Self::Windsurf,
        Self::Zed,
    ];

    /// The name that a person types.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::ClaudeDesktop => "claude-desktop",
            Self::Cline => "cline",
            Self::Codex => "codex",
            Self::CopilotCli => "copilot-cli",
            Self::Cursor => "cursor",
            Self::GeminiCli => "gemini-cli",
            Self::OpenCode => "opencode",
            Self::VsCode => "vscode",
            Self::Windsurf => "windsurf",
            Self::Zed => "zed",
        }
    }

    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|target| target.as_str() == word)
    }

    /// Where the program keeps its configuration.
    pub fn file(self, places: &Places) -> PathBuf {
        let support = if cfg!(target_os = "macos") {
            places.home.join("Library/Application Support")
        } else {
            places.config_home.clone()
        };
        match self {
            Self::ClaudeCode => places.claude_file.clone(),
            Self::ClaudeDesktop => support.join("Claude/claude_desktop_config.json"),
            Self::Cline => places.cline_file.clone(),
            Self::Codex => places.codex.join("config.toml"),
            Self::CopilotCli => places.copilot.join("mcp-config.json"),
            Self::Cursor => places.home.join(".cursor/mcp.json"),
            Self::GeminiCli => places.home.join(".gemini/settings.json"),
            Self::OpenCode => {
                let with_comments = of_opencode(places).join("opencode.jsonc");
                if with_comments.exists() { with_comments } else { with_comments.with_extension("json") }
            }
            Self::VsCode => support.join("Code/User/mcp.json"),
            Self::Windsurf => places.home.join(".codeium/windsurf/mcp_config.json"),
            Self::Zed if cfg!(windows) => support.join("Zed/settings.json"),
            Self::Zed => places.config_home.join("zed/settings.json"),
        }
    }

    /// Where the program reads hooks from; `None` if we add none there.
    pub fn hooks_file(self, places: &Places) -> Option<PathBuf> {
        match self {
            Self::ClaudeCode => Some(places.claude.join("settings.json")),
            Self::Codex => Some(places.codex.join("hooks.json")),
            Self::Cursor => Some(places.home.join(".cursor/hooks.json")),
            _ => None,
        }
    }

    /// Where the program reads instructions from: its own file where it has one, else a file of the project in the
    /// working directory; `None` if it reads none.
    pub fn instructions_file(self, places: &Places, working_dir: &Path) -> Option<PathBuf> {
        match self {
            Self::ClaudeCode => Some(places.claude.join("CLAUDE.md")),
            Self::ClaudeDesktop => None,
            Self::Cline => Some(places.home.join(".cline/rules/mnemon.md")),
            Self::Codex => Some(places.codex.join("AGENTS.md")),
            Self::CopilotCli => Some(places.copilot.join("copilot-instructions.md")),
            Self::Cursor => Some(working_dir.join(".cursor/rules/mnemon.mdc")),
            Self::GeminiCli => Some(places.home.join(".gemini/GEMINI.md")),
            Self::OpenCode => Some(of_opencode(places).join("AGENTS.md")),
            Self::VsCode => Some(working_dir.join(".github/copilot-instructions.md")),
            Self::Windsurf => Some(places.home.join(".codeium/windsurf/memories/global_rules.md")),
            Self::Zed => Some(working_dir.join(".rules")),
        }
    }

    /// The key of the object that holds the servers.
    pub(super) const fn container(self) -> &'static str {
        match self {
            Self::Codex => "mcp_servers",
            Self::OpenCode => "mcp",
            Self::VsCode => "servers",
            Self::Zed => "context_servers",
            _ => "mcpServers",
        }
    }

    /// The entry as the program wants it.
    pub(super) fn value(self, Entry { command, args }: &Entry) -> Value {
        match self {
            Self::ClaudeCode | Self::VsCode => json!({"type": "stdio", "command": command, "args": args}),
            Self::CopilotCli => json!({"type": "local", "command": command, "args": args, "tools": ["*"]}),
            Self::OpenCode => {
                let line: Vec<&String> = std::iter::once(command).chain(args).collect();
                json!({"type": "local", "command": line, "enabled": true})
            }
            Self::Zed => json!({"source": "custom", "command": command, "args": args}),
            _ => json!({"command": command, "args": args}),
        }
    }
}

/// OpenCode looks in the same place on Windows as elsewhere, not where Windows keeps configurations.
fn of_opencode(places: &Places) -> PathBuf {
    let base = if cfg!(windows) { places.home.join(".config") } else { places.config_home.clone() };
    base.join("opencode")
}
