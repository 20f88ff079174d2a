//! Command line of `mnemon export` and `mnemon import`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use mnemon_agent::settings::WorkspaceChoice;

use crate::connection_arguments::Connection;

#[derive(Debug, Args)]
pub struct Export {
    /// File to write [default: standard output]; with --format markdown, the folder, which must be empty or absent.
    #[arg(required_if_eq("format", "markdown"))]
    pub to: Option<PathBuf>,
    /// Format: jsonl (one JSON object a line) or markdown (one file per record, with front matter).
    #[arg(long, value_enum, default_value = "jsonl")]
    pub format: ExportFormat,
    /// Only this workspace; `auto` is the one named after this git repository [default: all].
    #[arg(long)]
    pub workspace: Option<WorkspaceChoice>,
    /// Project [default: your key's project].
    #[arg(long)]
    pub project: Option<String>,
    #[command(flatten)]
    pub connection: Connection,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    Jsonl,
    Markdown,
}

#[derive(Debug, Args)]
pub struct Import {
    /// Files and folders to import.
    #[arg(required = true)]
    pub from: Vec<PathBuf>,
    /// Format of the files [default: recognized by name and content].
    #[arg(long = "from", value_enum, value_name = "FORMAT")]
    pub format: Option<ImportFormat>,
    /// Check everything and save nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Workspace to save into; `auto` is the one named after this git repository [default: the one that each record
    /// names, else your key's].
    #[arg(long)]
    pub workspace: Option<WorkspaceChoice>,
    /// Who may see the records: draft, department or shared [default: as each record says, else shared].
    #[arg(long)]
    pub scope: Option<String>,
    #[command(flatten)]
    pub connection: Connection,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, ValueEnum)]
pub enum ImportFormat {
    /// An export of Mnemon, as JSONL or as a folder of Markdown files.
    Mnemon,
    /// The file of the reference memory server: entities and relations, one JSON object a line.
    MemoryServer,
    /// Memories of mem0, as JSON.
    Mem0,
    /// Markdown files, such as an Obsidian vault.
    Markdown,
    /// Rules for an assistant: CLAUDE.md, AGENTS.md and the like. Each item becomes a record.
    Rules,
    /// conversations.json of a ChatGPT export: what was saved to memory, not the conversations.
    Chatgpt,
    /// memories.json or projects.json of a Claude export.
    Claude,
}
