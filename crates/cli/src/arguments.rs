//! What can be typed. Each flag is described here and nowhere else; the reference page is made from it.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

pub use crate::integration_arguments::{Integration, IntegrationCommand, IntegrationSource};

pub use crate::admin_arguments::{
    Account, AccountCommand, AdminConnection, Audit, Compact, ConnectionCommand, Connections, Department,
    DepartmentCommand, Guard, GuardCommand, Key, KeyCommand, Member, MemberCommand, Plan, PlanCommand, Project,
    ProjectCommand, Record, RecordCommand, Session, SessionCommand, Usage, Workspace, WorkspaceCommand,
};

pub use crate::agent_arguments::{Agent, AgentCommand, Install, Revoke, Sync};

/// Memory for AI assistants: save facts, decisions and notes, and find them again with their source and status.
#[derive(Debug, Parser)]
#[command(name = "mnemon", version, max_term_width = 100)]
pub struct Arguments {
    /// Print JSON for machines instead of text for people.
    #[arg(long, global = true)]
    pub json: bool,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Start the service. On an empty data directory it makes an account and prints its key, once.
    Serve(Serve),
    /// Save a fact, decision or note.
    Remember(Remember),
    /// Find records.
    Search(Search),
    /// Delete a record, or every record of a source.
    Forget(Forget),
    /// Stand between an assistant and the service: MCP on standard input and output. Also syncs session histories.
    Agent(Agent),
    /// Run accounts.
    Account(Account),
    /// Run plans and subscriptions.
    Plan(Plan),
    /// Run projects.
    Project(Project),
    /// Run the tree of departments.
    Department(Department),
    /// Run members.
    Member(Member),
    /// Run API keys.
    Key(Key),
    /// See and end the connections of web clients.
    Connection(Connections),
    /// Run integrations: other systems' read-only tools beside a project's memory.
    Integration(Integration),
    /// Run workspaces.
    Workspace(Workspace),
    /// Look at records, restore them, remove them for good.
    Record(Record),
    /// Look at uploaded session histories, and remove them.
    Session(Session),
    /// Read the audit log.
    Audit(Audit),
    /// See what a project did and holds.
    Usage(Usage),
    /// Run the guard: its mode, its findings, its exceptions.
    Guard(Guard),
    /// Rewrite storage without its free space (operator).
    Compact(Compact),
    /// Move everything from one storage to another: from a data directory to PostgreSQL, or back.
    Migrate(Migrate),
    /// Look at the configuration.
    Config(ConfigArguments),
    /// Check that everything is wired up, and say what is not.
    Doctor(Doctor),
    /// Let the service check its own promises in a scratch store.
    Selftest(Selftest),
    /// Write the reference pages, or check that they are current.
    #[command(hide = true)]
    Reference(Reference),
}

/// Where settings come from.
#[derive(Debug, Args)]
pub struct Settings {
    /// The configuration file; mnemon.toml in the working directory is read when it is there.
    #[arg(long, env = "MNEMON_CONFIG", value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// The directory where records rest [default: mnemon-data].
    #[arg(long, value_name = "DIR")]
    pub data_dir: Option<String>,
    /// A PostgreSQL to use instead, for many nodes: postgres://user@host/database. Give a password by MNEMON_DATABASE, where
    /// no list of processes shows it.
    #[arg(long, value_name = "URL")]
    pub database: Option<String>,
    /// The address to listen on; port 0 takes any free port [default: 127.0.0.1:7676].
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Option<String>,
    /// The address under which the outside reaches the service [default: http:// and the address listened on].
    #[arg(long, value_name = "URL")]
    pub base_url: Option<String>,
    /// A web page's Origin that may call from a browser; may be given several times.
    #[arg(long = "allow-origin", value_name = "ORIGIN")]
    pub allowed_origins: Vec<String>,
    /// Which log lines: error, warn, info, debug, trace, or a filter [default: info].
    #[arg(long, value_name = "LEVEL")]
    pub log_level: Option<String>,
    /// The log's form: human, json or auto [default: auto].
    #[arg(long, value_name = "FORMAT")]
    pub log_format: Option<String>,
}

#[derive(Debug, Args)]
pub struct Serve {
    #[command(flatten)]
    pub settings: Settings,
    /// Write the address and, on the first start, the key as JSON to this file once the service listens.
    #[arg(long, value_name = "FILE")]
    pub ready_file: Option<PathBuf>,
}

/// The service to talk to.
#[derive(Debug, Args)]
pub struct Connection {
    /// The service's address.
    #[arg(long, env = "MNEMON_URL", default_value = "http://127.0.0.1:7676")]
    pub url: String,
    /// The API key.
    #[arg(long, env = "MNEMON_API_KEY", hide_env_values = true)]
    pub key: Option<String>,
}

#[derive(Debug, Args)]
pub struct Remember {
    /// The text; read from standard input when left out.
    pub content: Option<String>,
    /// The workspace to save into [default: default].
    #[arg(long)]
    pub workspace: Option<String>,
    /// Who may see it: draft, department or shared [default: shared].
    #[arg(long)]
    pub scope: Option<String>,
    /// A short key that names the fact.
    #[arg(long)]
    pub fact_key: Option<String>,
    /// Where it comes from, for people.
    #[arg(long)]
    pub source: Option<String>,
    /// Stable id of the source.
    #[arg(long)]
    pub source_id: Option<String>,
    /// Hash of the source's present content; needs --source-id.
    #[arg(long)]
    pub source_hash: Option<String>,
    /// Revision of the source.
    #[arg(long)]
    pub source_revision: Option<String>,
    /// How sure you are, from 0 to 1.
    #[arg(long)]
    pub confidence: Option<String>,
    /// Moment (RFC 3339) from which it counts as stale.
    #[arg(long)]
    pub valid_until: Option<String>,
    /// Repeating a save with the same key stores it once.
    #[arg(long)]
    pub idempotency_key: Option<String>,
    #[command(flatten)]
    pub connection: Connection,
}

#[derive(Debug, Args)]
pub struct Search {
    /// What to look for.
    pub query: String,
    /// The most results, from 1 to 50 [default: 10].
    #[arg(long)]
    pub limit: Option<String>,
    /// The workspace to look in [default: default].
    #[arg(long)]
    pub workspace: Option<String>,
    /// Only records of this scope: draft, department or shared.
    #[arg(long)]
    pub scope: Option<String>,
    /// Leave out what is stale.
    #[arg(long)]
    pub exclude_stale: bool,
    /// Say why: the words that matched, each part of each score, and what was held back. Needs the key of an admin.
    #[arg(long)]
    pub explain: bool,
    #[command(flatten)]
    pub connection: Connection,
}

#[derive(Debug, Args)]
pub struct Forget {
    /// The record's id.
    #[arg(required_unless_present = "source_id")]
    pub memory_id: Option<String>,
    /// Delete every record of this source instead.
    #[arg(long, conflicts_with = "memory_id")]
    pub source_id: Option<String>,
    /// With --source-id: only in this workspace.
    #[arg(long)]
    pub workspace: Option<String>,
    #[command(flatten)]
    pub connection: Connection,
}

#[derive(Debug, Args)]
pub struct Migrate {
    /// Where everything is: sqlite:DIRECTORY, or postgres://… . No service may run on it meanwhile.
    #[arg(long, value_name = "STORAGE")]
    pub from: String,
    /// Where it goes: an empty one, or the one that an interrupted move has begun to fill.
    #[arg(long, value_name = "STORAGE")]
    pub to: String,
}

#[derive(Debug, Args)]
pub struct ConfigArguments {
    #[command(subcommand)]
    pub command: ConfigCommand,
}

#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Read every source of settings and report all mistakes.
    Check(Settings),
    /// Print the settings in force, as TOML.
    Print(Settings),
}

#[derive(Debug, Args)]
pub struct Doctor {
    #[command(flatten)]
    pub settings: Settings,
    #[command(flatten)]
    pub connection: Connection,
}

#[derive(Debug, Args)]
pub struct Reference {
    /// The folder of the pages.
    pub folder: PathBuf,
    /// Write nothing; fail when a page differs from what the code says.
    #[arg(long)]
    pub check: bool,
}

#[derive(Debug, Args)]
pub struct Selftest {
    #[command(subcommand)]
    pub command: SelftestCommand,
}

#[derive(Debug, Subcommand)]
pub enum SelftestCommand {
    /// Random organizations, random calls, every answer compared with a naive model; prints cases and leaks.
    Isolation {
        /// How many calls.
        #[arg(long, default_value_t = 10_000)]
        cases: u64,
        /// Where chance begins: the same seed gives the same run.
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// An empty PostgreSQL database to do it in, instead of a scratch directory; it is left full.
        #[arg(long, value_name = "URL")]
        database: Option<String>,
    },
}
