//! What can be typed to run accounts.

use clap::{Args, Subcommand};

/// The service to talk to, and by what right.
#[derive(Debug, Args)]
pub struct AdminConnection {
    /// The service's address.
    #[arg(long, env = "MNEMON_URL", default_value = "http://127.0.0.1:7676", global = true)]
    pub url: String,
    /// The operator's token; it goes before a key.
    #[arg(long, env = "MNEMON_OPERATOR_TOKEN", hide_env_values = true, global = true)]
    pub operator_token: Option<String>,
    /// The API key of an admin or a head.
    #[arg(long, env = "MNEMON_API_KEY", hide_env_values = true, global = true)]
    pub key: Option<String>,
}

#[derive(Debug, Args)]
pub struct Account {
    #[command(subcommand)]
    pub command: AccountCommand,
    #[command(flatten)]
    pub connection: AdminConnection,
}

#[derive(Debug, Subcommand)]
pub enum AccountCommand {
    /// Make an account (operator).
    Create {
        /// Its name.
        name: String,
        /// The plan to activate: free, starter, pro, enterprise or unlimited. Without one nothing works yet.
        #[arg(long)]
        plan: Option<String>,
        /// The end of the paid time (RFC 3339); no end when left out.
        #[arg(long)]
        paid_until: Option<String>,
    },
    /// List accounts (operator).
    List {
        /// Those after this id.
        #[arg(long)]
        after: Option<String>,
    },
    /// Show an account; your own when left out.
    Show {
        /// Its id.
        account: Option<String>,
    },
    /// Refuse every credential of an account from the next request on (operator).
    Suspend {
        /// Its id.
        account: String,
    },
    /// Lift a suspension (operator).
    Resume {
        /// Its id.
        account: String,
    },
}

#[derive(Debug, Args)]
pub struct Plan {
    #[command(subcommand)]
    pub command: PlanCommand,
    #[command(flatten)]
    pub connection: AdminConnection,
}

#[derive(Debug, Subcommand)]
pub enum PlanCommand {
    /// Activate or change the plan of an account (operator).
    Set {
        /// The account's id.
        account: String,
        /// free, starter, pro, enterprise or unlimited.
        plan: String,
        /// The end of the paid time (RFC 3339); no end when left out.
        #[arg(long)]
        paid_until: Option<String>,
    },
    /// Show the plan of an account; your own when left out.
    Show {
        /// The account's id.
        account: Option<String>,
    },
}

#[derive(Debug, Args)]
pub struct Department {
    /// The account; your key's own when left out.
    #[arg(long, global = true)]
    pub account: Option<String>,
    #[command(subcommand)]
    pub command: DepartmentCommand,
    #[command(flatten)]
    pub connection: AdminConnection,
}

#[derive(Debug, Subcommand)]
pub enum DepartmentCommand {
    /// Make a department.
    Create {
        /// Its name.
        name: String,
        /// The department above it.
        #[arg(long)]
        parent: Option<String>,
    },
    /// List all departments.
    List,
    /// Show a department.
    Show {
        /// Its id.
        department: String,
    },
    /// Rename a department or move it in the tree.
    Change {
        /// Its id.
        department: String,
        /// The new name.
        #[arg(long)]
        name: Option<String>,
        /// The new department above it.
        #[arg(long)]
        parent: Option<String>,
        /// Move it to the top.
        #[arg(long, conflicts_with = "parent")]
        top: bool,
    },
    /// Remove a department that has no members, departments below it or records.
    Delete {
        /// Its id.
        department: String,
    },
}

#[derive(Debug, Args)]
pub struct Member {
    /// The account; your key's own when left out.
    #[arg(long, global = true)]
    pub account: Option<String>,
    #[command(subcommand)]
    pub command: MemberCommand,
    #[command(flatten)]
    pub connection: AdminConnection,
}

#[derive(Debug, Subcommand)]
pub enum MemberCommand {
    /// Make a member.
    Create {
        /// Its name; search results show it as author.
        name: String,
        /// admin, head or member.
        #[arg(long, default_value = "member")]
        role: String,
        /// Its department.
        #[arg(long)]
        department: Option<String>,
        /// When its access ends (RFC 3339).
        #[arg(long)]
        access_until: Option<String>,
    },
    /// List members.
    List,
    /// Show a member.
    Show {
        /// Its id.
        member: String,
    },
    /// Change a member.
    Change {
        /// Its id.
        member: String,
        /// The new name.
        #[arg(long)]
        name: Option<String>,
        /// The new role: admin, head or member.
        #[arg(long)]
        role: Option<String>,
        /// The new department.
        #[arg(long)]
        department: Option<String>,
        /// Take it out of its department.
        #[arg(long, conflicts_with = "department")]
        no_department: bool,
        /// The new end of its access (RFC 3339).
        #[arg(long)]
        access_until: Option<String>,
        /// Lift the end of its access.
        #[arg(long, conflicts_with = "access_until")]
        no_end: bool,
    },
    /// Remove a member: its keys are revoked and its records handed over.
    Delete {
        /// Its id.
        member: String,
        /// The member who gets its records.
        #[arg(long)]
        hand_over_to: Option<String>,
    },
}

#[derive(Debug, Args)]
pub struct Project {
    #[command(subcommand)]
    pub command: ProjectCommand,
    #[command(flatten)]
    pub connection: AdminConnection,
}

#[derive(Debug, Subcommand)]
pub enum ProjectCommand {
    /// Make a project.
    Create {
        /// Its name.
        name: String,
        /// The account; your key's own when left out.
        #[arg(long)]
        account: Option<String>,
    },
    /// List the projects of an account.
    List {
        /// The account; your key's own when left out.
        #[arg(long)]
        account: Option<String>,
    },
    /// Show a project; your key's own when left out.
    Show {
        /// Its id.
        project: Option<String>,
    },
    /// Change a project.
    Change {
        /// Its id; your key's own when left out.
        project: Option<String>,
        /// How tools of integrations are named: dots (github_readonly.get_me) or underscores, for clients that refuse dots.
        #[arg(long)]
        tool_names: String,
    },
    /// End a project: its keys are refused from the next request on.
    Delete {
        /// Its id.
        project: String,
    },
}

#[derive(Debug, Args)]
pub struct Key {
    #[command(subcommand)]
    pub command: KeyCommand,
    #[command(flatten)]
    pub connection: AdminConnection,
}

#[derive(Debug, Subcommand)]
pub enum KeyCommand {
    /// Make a key; it is shown once.
    Create {
        /// The member it acts for.
        #[arg(long)]
        member: String,
        /// The project it opens; your key's own when left out.
        #[arg(long)]
        project: Option<String>,
        /// read or write.
        #[arg(long, default_value = "write")]
        access: String,
        /// What you call it.
        #[arg(long)]
        label: Option<String>,
        /// When it ends (RFC 3339).
        #[arg(long)]
        expires_at: Option<String>,
    },
    /// List the keys of a project, without their secrets.
    List {
        /// The project; your key's own when left out.
        #[arg(long)]
        project: Option<String>,
    },
    /// Revoke a key from the next request on.
    Revoke {
        /// Its id. Not called `key` here: that is the flag for the caller's own.
        key_id: String,
    },
}

/// Run connections by OAuth.
#[derive(Debug, Args)]
pub struct Connections {
    #[command(subcommand)]
    pub command: ConnectionCommand,
    #[command(flatten)]
    pub connection: AdminConnection,
}

#[derive(Debug, Subcommand)]
pub enum ConnectionCommand {
    /// List the web clients that were connected to a project with its keys, and when each was last used.
    List {
        /// The project; your key's own when left out.
        #[arg(long)]
        project: Option<String>,
    },
    /// End a connection from the next request on. Its key stays.
    Revoke {
        /// Its id.
        connection_id: String,
    },
}

#[derive(Debug, Args)]
pub struct Workspace {
    /// The project; your key's own when left out.
    #[arg(long, global = true)]
    pub project: Option<String>,
    #[command(subcommand)]
    pub command: WorkspaceCommand,
    #[command(flatten)]
    pub connection: AdminConnection,
}

#[derive(Debug, Subcommand)]
pub enum WorkspaceCommand {
    /// List the workspaces of a project.
    List,
    /// Delete a workspace; its records are soft-deleted.
    Delete {
        /// Its name.
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
    /// List records that you may see, newest first.
    List {
        /// The project; your key's own when left out.
        #[arg(long)]
        project: Option<String>,
        /// Only of this workspace.
        #[arg(long)]
        workspace: Option<String>,
        /// Only of this source.
        #[arg(long)]
        source_id: Option<String>,
        /// The forgotten ones instead.
        #[arg(long)]
        forgotten: bool,
        /// Where the last page ended.
        #[arg(long)]
        before: Option<String>,
        /// The most rows.
        #[arg(long, default_value_t = 100)]
        limit: usize,
    },
    /// Soft-delete a record.
    Forget {
        /// Its id.
        record: String,
    },
    /// Bring a forgotten record back, within 30 days.
    Restore {
        /// Its id.
        record: String,
    },
    /// Remove a record for good.
    Purge {
        /// Its id.
        record: String,
    },
}

#[derive(Debug, Args)]
pub struct Audit {
    /// The account; your key's own when left out.
    pub account: Option<String>,
    /// The most lines.
    #[arg(long, default_value_t = 100)]
    pub limit: usize,
    #[command(flatten)]
    pub connection: AdminConnection,
}

#[derive(Debug, Args)]
pub struct Usage {
    /// The project; your key's own when left out.
    pub project: Option<String>,
    /// How many days, today included.
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
    /// Show the guard's mode for an account.
    Show {
        /// The account; your key's own when left out.
        account: Option<String>,
    },
    /// Set the guard's mode (operator): reject, report (store and note it) or off.
    Set {
        /// The account.
        account: String,
        /// reject, report or off.
        mode: String,
    },
    /// List what the guard found lately, by hash and without text.
    Rejections {
        /// The account; your key's own when left out.
        account: Option<String>,
        /// The most rows.
        #[arg(long, default_value_t = 100)]
        limit: usize,
    },
    /// Let one text pass in a project from now on (operator).
    Release {
        /// The project.
        project: String,
        /// The hash that `rejections` shows.
        hash: String,
    },
}

#[derive(Debug, Args)]
pub struct Session {
    /// The project; your key's own when left out.
    #[arg(long, global = true)]
    pub project: Option<String>,
    #[command(subcommand)]
    pub command: SessionCommand,
    #[command(flatten)]
    pub connection: AdminConnection,
}

#[derive(Debug, Subcommand)]
pub enum SessionCommand {
    /// List uploaded session histories: whose, from which program, how much. Never their text.
    List {
        /// Those after this id.
        #[arg(long)]
        after: Option<String>,
        /// The most rows.
        #[arg(long, default_value_t = 100)]
        limit: usize,
    },
    /// Remove an uploaded session history for good.
    Delete {
        /// Its id.
        session: String,
    },
}

#[derive(Debug, Args)]
pub struct Compact {
    #[command(flatten)]
    pub connection: AdminConnection,
}
