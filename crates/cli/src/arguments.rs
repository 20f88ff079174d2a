//! The command line: every command and flag. Help texts and the reference page are generated from here.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use mnemon_agent::settings::WorkspaceChoice;

use crate::confirm::Confirmation;

pub use crate::integration_arguments::{Integration, IntegrationCommand, IntegrationSource, ProjectIntegrationCommand};

pub use crate::connection_arguments::Connection;

pub use crate::admin_arguments::{
    Account, AccountCommand, AdminConnection, Compact, ConnectionCommand, Connections, ConsoleCommand, ConsoleSessions,
    Department, DepartmentCommand, Key, KeyCommand, Member, MemberCommand, NodeCommand, Nodes, Plan, PlanCommand,
    Project, ProjectCommand, Whoami,
};
pub use crate::project_arguments::{
    Audit, Guard, GuardCommand, Record, RecordCommand, Session, SessionCommand, Usage, Workspace, WorkspaceCommand,
};

pub use crate::transfer_arguments::{Export, Import};

pub use crate::agent_arguments::{Agent, AgentCommand, Install, Revoke, Sync};

/// Memory for AI assistants: save facts, decisions and notes, and find them again with their source and status.
#[derive(Debug, Parser)]
#[command(name = "mnemon", version = crate::version::version(), max_term_width = 100)]
pub struct Arguments {
    /// Print JSON instead of text.
    #[arg(long, global = true)]
    pub json: bool,
    /// File with certificates (PEM) of authorities to trust as well, for a service behind a private one.
    #[arg(long, global = true, value_name = "FILE", env = "MNEMON_CA_FILE")]
    pub ca_file: Option<PathBuf>,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Start the service. On an empty data directory it creates an account and prints its API key once.
    Serve(Serve),
    /// Save a fact, decision or note.
    Remember(Remember),
    /// Find records.
    Search(Search),
    /// Print a digest of what is remembered, for an assistant. Verified and recent records come first; disputed and
    /// stale ones are marked.
    Context(Context),
    /// Forget a record, or every record from a source.
    Forget(Forget),
    /// Check whether the files that facts came from have changed, and tell the service. Sends hashes, never content.
    Validate(Validate),
    /// Print the hash of a file, to pass as source_hash.
    Hash(Hash),
    /// Connect an assistant to the service over stdio (MCP), and sync session histories.
    Agent(Agent),
    /// Save a service's URL and your API key, so that other commands find them.
    Login(Login),
    /// Remove what `mnemon login` saved.
    Logout(Logout),
    /// Write all that you see of a project to a file, or to a folder of Markdown files.
    Export(Export),
    /// Save records from files. Takes an export, another service's memories, notes, or rules for assistants.
    Import(Import),
    #[command(flatten)]
    Admin(AdminCommand),
    /// Make departments, members and keys as a file describes them. Shows the difference first, and removes nothing.
    Apply(Apply),
    /// Transfer all data from one storage to another. From a data directory to PostgreSQL, or back.
    #[command(alias = "migrate")]
    Transfer(Transfer),
    /// Copy the data directory into one file, while the service runs.
    Backup(Backup),
    /// Bring a backup back into an empty data directory.
    Restore(Restore),
    /// Check or print the configuration.
    Config(ConfigArguments),
    /// Check the configuration, the storage, the service and the API key.
    Doctor(Doctor),
    /// Ask the service on this machine whether it is ready. For health checks of containers.
    Health(Health),
    /// Print a script that completes commands in a shell.
    Completions(Completions),
    /// Write man pages, one per command.
    Man(Man),
    /// Test the service's guarantees in a scratch store.
    Selftest(Selftest),
}

// The admin commands: each makes one request to the admin API. A doc comment here would replace the text of `--help`.
#[derive(Debug, Subcommand)]
pub enum AdminCommand {
    /// Manage accounts.
    Account(Account),
    /// Manage plans and subscriptions.
    Plan(Plan),
    /// Manage projects.
    Project(Project),
    /// Manage departments.
    Department(Department),
    /// Manage members.
    Member(Member),
    /// Manage API keys.
    Key(Key),
    /// List and revoke OAuth connections of web clients.
    Connection(Connections),
    /// List who is signed in to the console, and end sessions.
    Console(ConsoleSessions),
    /// Manage integrations: read-only tools of other MCP servers, offered to a project.
    Integration(Integration),
    /// Manage workspaces.
    Workspace(Workspace),
    /// List, restore and permanently delete records.
    Record(Record),
    /// List and delete uploaded session histories.
    Session(Session),
    /// Show the audit log.
    Audit(Audit),
    /// Show a project's usage.
    Usage(Usage),
    /// Show whose key this is, and what it may do.
    Whoami(Whoami),
    /// Manage the guard: its mode, its findings and its exceptions.
    Guard(Guard),
    /// List the nodes of the service (operator).
    Node(Nodes),
    /// Rewrite storage and reclaim free space (operator).
    Compact(Compact),
}

/// Where settings come from.
#[derive(Debug, Args)]
pub struct Settings {
    /// Configuration file [default: mnemon.toml in the working directory, if it exists].
    #[arg(long, env = "MNEMON_CONFIG", value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Data directory [default: $XDG_DATA_HOME/mnemon, or ~/.local/share/mnemon].
    #[arg(long, value_name = "DIR")]
    pub data_dir: Option<String>,
    /// PostgreSQL to use instead of a data directory: postgres://user@host/database. To keep a password out of the
    /// process list, set MNEMON_DATABASE instead.
    #[arg(long, value_name = "URL")]
    pub database: Option<String>,
    /// Address to listen on; port 0 picks a free port [default: 127.0.0.1:7676].
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Option<String>,
    /// Public URL of the service, without a path [default: http:// plus the listen address].
    #[arg(long, value_name = "URL")]
    pub base_url: Option<String>,
    /// Origin of a web page that may call from a browser; repeatable.
    #[arg(long = "allow-origin", value_name = "ORIGIN")]
    pub allowed_origins: Vec<String>,
    /// Log level: error, warn, info, debug, trace, or a filter [default: info].
    #[arg(long, value_name = "LEVEL")]
    pub log_level: Option<String>,
    /// Log format: human, json or auto [default: auto].
    #[arg(long, value_name = "FORMAT")]
    pub log_format: Option<String>,
}

#[derive(Debug, Args)]
pub struct Serve {
    #[command(flatten)]
    pub settings: Settings,
    /// Once the service listens, write its address (and, on the first start, the key) as JSON to this file.
    #[arg(long, value_name = "FILE")]
    pub ready_file: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct Login {
    /// URL of the service [default: http://127.0.0.1:7676].
    #[arg(value_name = "URL")]
    pub url: Option<String>,
    /// API key [default: asked for, or read from standard input].
    #[arg(long, value_name = "KEY")]
    pub key: Option<String>,
    /// Name to save the connection under [default: the one that commands and `mnemon agent` use by themselves].
    #[arg(long, value_name = "NAME")]
    pub profile: Option<String>,
}

#[derive(Debug, Args)]
pub struct Apply {
    /// File that describes the team (TOML): project, departments, members and their keys.
    pub file: PathBuf,
    /// Account, by id or name [default: your key's account].
    #[arg(long)]
    pub account: Option<String>,
    /// Show what would change, and change nothing.
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub confirmation: Confirmation,
    #[command(flatten)]
    pub connection: AdminConnection,
}

#[derive(Debug, Args)]
pub struct Logout {
    /// Saved connection to remove [default: the one without a name].
    #[arg(long, value_name = "NAME")]
    pub profile: Option<String>,
}

#[derive(Debug, Args)]
pub struct Remember {
    /// Text to save, in one word or many [default: read from standard input].
    pub content: Vec<String>,
    /// Workspace to save into; `auto` is the one named after this git repository [default: your key's workspace, or
    /// `default`].
    #[arg(long)]
    pub workspace: Option<WorkspaceChoice>,
    /// Who may see it: draft, department or shared [default: shared].
    #[arg(long)]
    pub scope: Option<String>,
    /// Short key that names the fact.
    #[arg(long)]
    pub fact_key: Option<String>,
    /// Where the fact comes from, in words.
    #[arg(long)]
    pub source: Option<String>,
    /// Stable id of the source.
    #[arg(long)]
    pub source_id: Option<String>,
    /// Hash of the source's current content; requires --source-id.
    #[arg(long)]
    pub source_hash: Option<String>,
    /// Revision of the source.
    #[arg(long)]
    pub source_revision: Option<String>,
    /// How certain the fact is (0–1).
    #[arg(long)]
    pub confidence: Option<String>,
    /// When the record becomes stale: an RFC 3339 time, a date, or words such as `tomorrow`.
    #[arg(long)]
    pub valid_until: Option<String>,
    /// Tag to find it by; repeatable, up to 16 of 1–64 characters.
    #[arg(long = "tag", value_name = "TAG")]
    pub tags: Vec<String>,
    /// When it happened: a date, an RFC 3339 time, a range `A/B`, or words such as `3 days ago`.
    #[arg(long)]
    pub occurred_at: Option<String>,
    /// Id of a record that this one replaces; may be given up to 20 times. It is forgotten in the same step.
    #[arg(long = "supersedes", value_name = "ID")]
    pub supersedes: Vec<String>,
    /// Replace every record that you can see under the same fact key in the workspace; requires --fact-key.
    #[arg(long)]
    pub replace: bool,
    /// Idempotency key: repeating a save with the same key stores the record only once.
    #[arg(long)]
    pub idempotency_key: Option<String>,
    #[command(flatten)]
    pub connection: Connection,
}

#[derive(Debug, Args)]
pub struct Search {
    /// What to search for; several words need no quotes.
    #[arg(required = true)]
    pub query: Vec<String>,
    /// Maximum number of results (1–50) [default: 10].
    #[arg(long)]
    pub limit: Option<String>,
    /// Workspace to search; `auto` is the one named after this git repository [default: your key's workspace, or
    /// `default`].
    #[arg(long)]
    pub workspace: Option<WorkspaceChoice>,
    /// Only records with this scope: draft, department or shared.
    #[arg(long)]
    pub scope: Option<String>,
    /// Leave out stale records.
    #[arg(long)]
    pub exclude_stale: bool,
    /// Only records saved with this fact key.
    #[arg(long)]
    pub fact_key: Option<String>,
    /// Only records from this source.
    #[arg(long)]
    pub source_id: Option<String>,
    /// Only this record; give it again for more (up to 50).
    #[arg(long = "memory-id", value_name = "ID")]
    pub memory_ids: Vec<String>,
    /// Only records with this tag; repeatable, all must match.
    #[arg(long = "tag", value_name = "TAG")]
    pub tags: Vec<String>,
    /// Only records whose time (when it happened, else when it was last saved) is then or later: an RFC 3339 time, a
    /// date, or words such as `3 days ago`.
    #[arg(long)]
    pub since: Option<String>,
    /// Only records whose time is then or earlier.
    #[arg(long)]
    pub until: Option<String>,
    /// Explain the result: the words that matched, each part of each score, and what was held back. Requires an admin's
    /// key.
    #[arg(long)]
    pub explain: bool,
    #[command(flatten)]
    pub connection: Connection,
}

#[derive(Debug, Args)]
pub struct Context {
    /// Only records that answer this, best first.
    #[arg(long, value_name = "TEXT")]
    pub query: Option<String>,
    /// Workspace; `auto` is the one named after this git repository [default: your key's workspace, or `default`].
    #[arg(long)]
    pub workspace: Option<WorkspaceChoice>,
    /// Maximum number of tokens (200–20000) [default: 2000].
    #[arg(long, value_name = "TOKENS")]
    pub budget: Option<usize>,
    /// With --query: only records with this score or a better one (0–1).
    #[arg(long, value_name = "SCORE", requires = "query")]
    pub min_score: Option<f64>,
    #[command(flatten)]
    pub connection: Connection,
}

#[derive(Debug, Args)]
pub struct Forget {
    /// Record id.
    #[arg(required_unless_present = "source_id")]
    pub memory_id: Option<String>,
    /// Forget every record from this source instead.
    #[arg(long, conflicts_with = "memory_id")]
    pub source_id: Option<String>,
    /// With --source-id: only records in this workspace; `auto` is the one named after this git repository [default:
    /// your key's workspace, or all].
    #[arg(long)]
    pub workspace: Option<WorkspaceChoice>,
    #[command(flatten)]
    pub confirmation: Confirmation,
    #[command(flatten)]
    pub connection: Connection,
}

#[derive(Debug, Default, Args)]
pub struct Validate {
    /// Files and folders to look at [default: the whole repository; outside of one, the working directory]. Files that
    /// git does not track or that .mnemonignore names are left alone.
    pub paths: Vec<PathBuf>,
    /// Workspace whose sources are checked; `auto` is the one named after this git repository [default: your key's
    /// workspace, or `default`].
    #[arg(long)]
    pub workspace: Option<WorkspaceChoice>,
    /// Branch whose newest commit counts [default: origin/HEAD, else main or master].
    #[arg(long, value_name = "BRANCH")]
    pub branch: Option<String>,
    /// Tell the service about the files as they are here, on any branch, committed or not. This changes the status for
    /// everybody.
    #[arg(long, conflicts_with = "branch")]
    pub any_branch: bool,
    /// Only files that differ from this git revision.
    #[arg(long, value_name = "REV")]
    pub changed_since: Option<String>,
    /// Exit with code 3 if a source is in one of these states: stale, gone, unknown.
    #[arg(long, value_name = "STATES", value_delimiter = ',')]
    pub fail_on: Vec<String>,
    /// Keep looking: tell the service about new commits of the branch, and show here which files differ from it.
    #[arg(long, conflicts_with_all = ["changed_since", "fail_on", "urls"])]
    pub watch: bool,
    /// Also fetch sources that are web pages (https), and compare their bodies or entity tags.
    #[arg(long)]
    pub urls: bool,
    /// With --urls: host that may have a private address and plain http; repeatable.
    #[arg(long = "allow-host", value_name = "HOST", requires = "urls")]
    pub allowed_hosts: Vec<String>,
    /// Run after each commit, merge and checkout of this repository, in the background, with the same --workspace,
    /// --branch and --any-branch. Other hooks stay.
    #[arg(long, conflicts_with_all = ["paths", "changed_since", "fail_on", "watch", "urls"])]
    pub install_git_hook: bool,
    /// Remove what --install-git-hook added.
    #[arg(long, conflicts_with_all = ["paths", "changed_since", "fail_on", "watch", "urls", "install_git_hook"])]
    pub uninstall_git_hook: bool,
    /// Say nothing, and share one run with commits that follow quickly.
    #[arg(long, hide = true)]
    pub from_git_hook: bool,
    #[command(flatten)]
    pub connection: Connection,
}

#[derive(Debug, Args)]
pub struct Hash {
    /// Files to hash.
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// Print the id that git gives the content instead of its SHA-256.
    #[arg(long)]
    pub git: bool,
}

#[derive(Debug, Args)]
pub struct Transfer {
    /// Source storage: sqlite:DIRECTORY or postgres://…. Stop the service first.
    #[arg(long, value_name = "STORAGE")]
    pub from: String,
    /// Target storage: empty, or partly filled by an interrupted run.
    #[arg(long, value_name = "STORAGE")]
    pub to: String,
}

#[derive(Debug, Args)]
pub struct Backup {
    /// File to write, or a directory for a file named after the time. A directory that ends with / is made.
    pub to: PathBuf,
    /// Maximum megabytes to copy per second [default: no limit].
    #[arg(long, value_name = "MB", value_parser = clap::value_parser!(u64).range(1..))]
    pub rate: Option<u64>,
    /// Copy damaged records as they are, instead of refusing. Answers leave them out.
    #[arg(long)]
    pub keep_damaged: bool,
    #[command(flatten)]
    pub settings: Settings,
}

#[derive(Debug, Args)]
pub struct Restore {
    /// File that `mnemon backup` wrote.
    pub from: PathBuf,
    /// Accept a file without a checksum at its end: a plain copy of mnemon.db. Only its records are checked then.
    #[arg(long)]
    pub raw: bool,
    /// Restore damaged records as they are, instead of refusing. Answers leave them out.
    #[arg(long)]
    pub keep_damaged: bool,
    #[command(flatten)]
    pub settings: Settings,
}

#[derive(Debug, Args)]
pub struct ConfigArguments {
    #[command(subcommand)]
    pub command: ConfigCommand,
}

#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Check the configuration and report every mistake.
    Check(Settings),
    /// Print the effective configuration as TOML.
    Print(Settings),
}

#[derive(Debug, Args)]
pub struct Doctor {
    /// Read everything in storage and compare it with its checksums and counts, instead of asking the service: for
    /// storage that was restored, before nodes use it.
    #[arg(long)]
    pub restore_check: bool,
    /// Check whether this PostgreSQL standby may be promoted: whether no standby in database.replicas has received
    /// more.
    #[arg(long, value_name = "URL", conflicts_with = "restore_check")]
    pub promote: Option<String>,
    #[command(flatten)]
    pub settings: Settings,
    #[command(flatten)]
    pub connection: Connection,
}

#[derive(Debug, Args)]
pub struct Health {
    /// Ask only whether the process lives, not whether it can search.
    #[arg(long)]
    pub live: bool,
    #[command(flatten)]
    pub settings: Settings,
}

#[derive(Debug, Args)]
pub struct Completions {
    /// The shell.
    pub shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
pub struct Man {
    /// Directory to write to, such as ~/.local/share/man/man1.
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
}

#[derive(Debug, Args)]
pub struct Selftest {
    #[command(subcommand)]
    pub command: SelftestCommand,
}

#[derive(Debug, Subcommand)]
pub enum SelftestCommand {
    /// Make random calls in random organizations, compare every answer with a naive model, and count leaks.
    Isolation {
        /// Number of calls.
        #[arg(long, default_value_t = 10_000)]
        cases: u64,
        /// Random seed; the same seed gives the same run.
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Empty PostgreSQL database to use instead of a scratch directory. The test data stays in it.
        #[arg(long, value_name = "URL")]
        database: Option<String>,
    },
}
