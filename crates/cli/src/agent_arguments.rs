//! What can be typed to the local agent.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Address and key come from the flags, then from MNEMON_URL and MNEMON_API_KEY, then from ~/.config/mnemon/agent.toml.
#[derive(Debug, Args)]
pub struct Agent {
    /// The service's address [default: http://127.0.0.1:7676].
    #[arg(long, global = true, value_name = "URL")]
    pub url: Option<String>,
    /// The API key.
    #[arg(long, global = true, value_name = "KEY")]
    pub key: Option<String>,
    #[command(subcommand)]
    pub command: Option<AgentCommand>,
}

#[derive(Debug, Subcommand)]
pub enum AgentCommand {
    /// Put the agent into an assistant's configuration, or take it out. Nothing else in the file is touched.
    Install(Install),
    /// Agree that session histories are uploaded to this service with this key. Asks a person at a terminal.
    Consent,
    /// Take the agreement back. Nothing is sent from then on.
    Revoke(Revoke),
    /// Show what was agreed to, and what was sent.
    Status,
    /// Upload what is new of the session histories, now.
    Sync(Sync),
}

#[derive(Debug, Args)]
pub struct Install {
    /// claude-code, claude-desktop, codex, cursor or vscode.
    #[arg(long, value_name = "CLIENT")]
    pub client: String,
    /// The configuration file, if it is not the client's usual one (a project's .mcp.json or .vscode/mcp.json, say).
    #[arg(long, value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Show the difference and change nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Take the agent out again.
    #[arg(long)]
    pub uninstall: bool,
    /// Put the agent in the place of another entry called mnemon.
    #[arg(long, conflicts_with = "uninstall")]
    pub replace: bool,
}

#[derive(Debug, Args)]
pub struct Revoke {
    /// Also remove from the service everything that was uploaded with this key's member.
    #[arg(long)]
    pub delete_uploaded: bool,
}

#[derive(Debug, Args)]
pub struct Sync {
    /// Send nothing, ask nobody: show what would be sent, after redaction.
    #[arg(long)]
    pub dry_run: bool,
    /// With --dry-run: print every line as it would be sent.
    #[arg(long, requires = "dry_run")]
    pub lines: bool,
    /// Send also what was removed from the service since.
    #[arg(long, conflicts_with = "dry_run")]
    pub again: bool,
}
