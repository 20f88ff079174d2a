//! Command line of the admin commands about what a project holds: workspaces, records, sessions, and what is noted
//! about them.

use clap::{Args, Subcommand};
use mnemon_agent::settings::WorkspaceChoice;

use crate::admin_arguments::AdminConnection;
use crate::confirm::Confirmation;

#[derive(Debug, Args)]
pub struct Workspace {
    /// Project, by id or name [default: your key's project].
    #[arg(long, global = true)]
    pub project: Option<String>,
    #[command(subcommand)]
    pub command: WorkspaceCommand,
    #[command(flatten)]
    pub connection: AdminConnection,
}

#[derive(Debug, Subcommand)]
pub enum WorkspaceCommand {
    /// List a project's workspaces.
    List {
        /// List the workspaces deleted in the last 30 days instead.
        #[arg(long)]
        deleted: bool,
    },
    /// Delete a workspace. Its records are forgotten and can be restored for 30 days.
    Delete {
        /// Workspace name.
        name: String,
        #[command(flatten)]
        confirmation: Confirmation,
    },
    /// Restore the records that the latest deletion of a workspace took, within 30 days.
    Restore {
        /// Workspace name.
        name: String,
    },
}

#[derive(Debug, Args)]
pub struct Record {
    #[command(subcommand)]
    pub command: RecordCommand,
    #[command(flatten)]
    pub connection: AdminConnection,
}

#[derive(Debug, Subcommand)]
pub enum RecordCommand {
    /// List the records you may see, newest first.
    List {
        /// Project, by id or name [default: your key's project].
        #[arg(long)]
        project: Option<String>,
        /// Only records in this workspace; `auto` is the one named after this git repository.
        #[arg(long)]
        workspace: Option<WorkspaceChoice>,
        /// Only records from this source.
        #[arg(long)]
        source_id: Option<String>,
        /// Only records with this status: stale, conflict, verified or unverified.
        #[arg(long)]
        status: Option<String>,
        /// Only records with this scope: draft, department or shared.
        #[arg(long)]
        scope: Option<String>,
        /// Only records of this author (name or member id).
        #[arg(long)]
        author: Option<String>,
        /// Only records with this key, where a caller gave it.
        #[arg(long)]
        fact_key: Option<String>,
        /// Only records with a source (true) or without one (false).
        #[arg(long)]
        has_source: Option<String>,
        /// List forgotten records instead.
        #[arg(long)]
        forgotten: bool,
        /// Continue from the end of the previous page.
        #[arg(long)]
        before: Option<String>,
        /// Maximum number of rows.
        #[arg(long, default_value_t = 100)]
        limit: usize,
    },
    /// Show a record: why it has its status, and what contradicts it.
    Show {
        /// Record id.
        record: String,
    },
    /// Decide a conflict: keep this record and forget those that contradict it.
    Keep {
        /// Record id.
        record: String,
    },
    /// Forget a record. It can be restored for 30 days.
    Forget {
        /// Record id.
        record: String,
    },
    /// Restore a record forgotten in the last 30 days.
    Restore {
        /// Record id.
        record: String,
    },
    /// Delete a record permanently.
    Purge {
        /// Record id.
        record: String,
        #[command(flatten)]
        confirmation: Confirmation,
    },
}

#[derive(Debug, Args)]
pub struct Audit {
    /// Account, by id or name [default: your key's account].
    pub account: Option<String>,
    /// Maximum number of rows.
    #[arg(long, default_value_t = 100)]
    pub limit: usize,
    /// Continue from the end of the previous page.
    #[arg(long)]
    pub before: Option<String>,
    /// Only rows by this kind of caller: member, operator or service.
    #[arg(long)]
    pub actor: Option<String>,
    /// Only what this member did, by id or name.
    #[arg(long)]
    pub member: Option<String>,
    /// Only these actions, separated by commas: key.revoke, or key for all that is done to keys.
    #[arg(long)]
    pub action: Option<String>,
    /// None of these actions.
    #[arg(long)]
    pub except: Option<String>,
    /// Only rows about this project.
    #[arg(long)]
    pub project: Option<String>,
    /// Only rows about this subject.
    #[arg(long)]
    pub subject: Option<String>,
    /// Only rows at or after this time (RFC 3339).
    #[arg(long)]
    pub from: Option<String>,
    /// Only rows before this time (RFC 3339).
    #[arg(long)]
    pub to: Option<String>,
    #[command(flatten)]
    pub connection: AdminConnection,
}

#[derive(Debug, Args)]
pub struct Usage {
    /// Project, by id or name [default: your key's project].
    pub project: Option<String>,
    /// Number of days, including today.
    #[arg(long, default_value_t = 30)]
    pub days: u16,
    #[command(flatten)]
    pub connection: AdminConnection,
}

#[derive(Debug, Args)]
pub struct Guard {
    #[command(subcommand)]
    pub command: GuardCommand,
    #[command(flatten)]
    pub connection: AdminConnection,
}

#[derive(Debug, Subcommand)]
pub enum GuardCommand {
    /// Show an account's guard mode.
    Show {
        /// Account, by id or name [default: your key's account].
        account: Option<String>,
    },
    /// Set an account's guard mode (operator): reject, report (store and record it) or off.
    Set {
        /// Account, by id or name.
        account: String,
        /// Mode: reject, report or off.
        mode: String,
    },
    /// List recent findings of the guard, by reference and without the text.
    Rejections {
        /// Account, by id or name [default: your key's account].
        account: Option<String>,
        /// Maximum number of rows.
        #[arg(long, default_value_t = 100)]
        limit: usize,
    },
    /// Allow one text in a project from now on.
    Release {
        /// Project, by id or name.
        project: String,
        /// Reference that the refused caller was told, or the hash that `rejections --json` shows.
        text: String,
    },
}

#[derive(Debug, Args)]
pub struct Session {
    /// Project, by id or name [default: your key's project].
    #[arg(long, global = true)]
    pub project: Option<String>,
    #[command(subcommand)]
    pub command: SessionCommand,
    #[command(flatten)]
    pub connection: AdminConnection,
}

#[derive(Debug, Subcommand)]
pub enum SessionCommand {
    /// List uploaded session histories: member, client and size, never the text.
    List {
        /// Continue after this id.
        #[arg(long)]
        after: Option<String>,
        /// Maximum number of rows.
        #[arg(long, default_value_t = 100)]
        limit: usize,
    },
    /// Delete an uploaded session history permanently.
    Delete {
        /// Session id.
        session: String,
        #[command(flatten)]
        confirmation: Confirmation,
    },
}
