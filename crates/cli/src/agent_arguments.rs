//! Command line of `mnemon agent`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use mnemon_agent::settings::WorkspaceChoice;

use crate::confirm::Confirmation;

/// The URL and the key come from the flags, then MNEMON_URL and MNEMON_API_KEY, then ~/.config/mnemon/agent.toml.
#[derive(Debug, Args)]
pub struct Agent {
    /// URL of the service [default: http://127.0.0.1:7676].
    #[arg(long, global = true, value_name = "URL")]
    pub url: Option<String>,
    /// API key.
    #[arg(long, global = true, value_name = "KEY")]
    pub key: Option<String>,
    /// Workspace for calls that name none; `auto` is the one named after the git repository that the assistant works in
    /// [default: the key's workspace].
    #[arg(long, global = true, value_name = "WORKSPACE")]
    pub workspace: Option<WorkspaceChoice>,
    /// While the assistant works in a git repository, check the files that facts came from when its default branch
    /// changes.
    #[arg(long, global = true)]
    pub check_sources: bool,
    #[command(subcommand)]
    pub command: Option<AgentCommand>,
}

#[derive(Debug, Subcommand)]
pub enum AgentCommand {
    /// Add the agent to an assistant's configuration, or remove it. The rest of the file is left alone.
    Install(Install),
    /// Answer an assistant's hook: reads its JSON from standard input and prints what the assistant should know. Never
    /// fails, and prints nothing if the service does not answer in time.
    Hook,
    /// Consent to uploading session histories to this service with this key. Asks a person at a terminal.
    Consent,
    /// Withdraw consent. Nothing more is uploaded.
    Revoke(Revoke),
    /// Show the consent and what was uploaded.
    Status,
    /// Upload new session history now.
    Sync(Sync),
}

#[derive(Debug, Args)]
pub struct Install {
    /// Client: claude-code, claude-desktop, cline, codex, copilot-cli, cursor, gemini-cli, opencode, vscode, windsurf
    /// or zed.
    #[arg(long, value_name = "CLIENT")]
    pub client: String,
    /// Configuration file, if not the client's usual one (for example a project's .mcp.json or .vscode/mcp.json).
    #[arg(long, value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Also write instructions for the assistant, as a marked block: into CLAUDE.md, AGENTS.md or the client's rules
    /// file, or into FILE.
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    pub instructions: Option<Option<PathBuf>>,
    /// Also add a hook that begins each session with a digest of memory (claude-code, codex, cursor).
    #[arg(long)]
    pub hooks: bool,
    /// With --hooks: also add one that answers each prompt with the best hits (claude-code, codex).
    #[arg(long, requires = "hooks")]
    pub prompt_hook: bool,
    /// Show the difference without changing anything. Values of other entries are hidden.
    #[arg(long)]
    pub dry_run: bool,
    /// Remove the agent, its hooks and its instructions from the client's files.
    #[arg(long)]
    pub uninstall: bool,
    /// Replace another entry named mnemon, and another saved URL and key.
    #[arg(long, conflicts_with = "uninstall")]
    pub replace: bool,
    /// Copy this program to ~/.local/bin first, and let the assistant start the copy.
    #[arg(long, conflicts_with = "uninstall")]
    pub copy: bool,
}

#[derive(Debug, Args)]
pub struct Revoke {
    /// Also delete everything this key's member has uploaded.
    #[arg(long)]
    pub delete_uploaded: bool,
    #[command(flatten)]
    pub confirmation: Confirmation,
}

#[derive(Debug, Args)]
pub struct Sync {
    /// Show what would be uploaded, after redaction, without uploading it.
    #[arg(long)]
    pub dry_run: bool,
    /// With --dry-run: print every line that would be uploaded.
    #[arg(long, requires = "dry_run")]
    pub lines: bool,
    /// Also upload sessions that were deleted from the service.
    #[arg(long, conflicts_with = "dry_run")]
    pub again: bool,
}
