//! Command line of the admin commands.

use clap::{Args, Subcommand};

use crate::confirm::Confirmation;
use crate::connection_arguments::Connection;
use crate::handing_over_arguments::{Invite, KeyChange};

/// The service to connect to, and the credential to use.
#[derive(Debug, Args)]
pub struct AdminConnection {
    /// URL of the service [default: MNEMON_URL, then the saved one, then http://127.0.0.1:7676].
    #[arg(long, value_name = "URL", global = true)]
    pub url: Option<String>,
    /// Operator token; takes precedence over a key.
    #[arg(long, env = "MNEMON_OPERATOR_TOKEN", hide_env_values = true, global = true)]
    pub operator_token: Option<String>,
    /// API key of an admin or a department head [default: MNEMON_API_KEY, then the saved one].
    #[arg(long, value_name = "KEY", global = true)]
    pub key: Option<String>,
    /// Saved connection to use [default: MNEMON_PROFILE, then the one without a name].
    #[arg(long, value_name = "NAME", global = true)]
    pub profile: Option<String>,
}

impl AdminConnection {
    /// What it says about a key.
    pub fn of_key(&self) -> Connection {
        Connection { url: self.url.clone(), key: self.key.clone(), profile: self.profile.clone() }
    }
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
    /// Create an account (operator).
    Create {
        /// Account name.
        name: String,
        /// Plan to activate: free, starter, pro, enterprise or unlimited. Without a plan, tool calls are refused.
        #[arg(long)]
        plan: Option<String>,
        /// End of the paid period (RFC 3339) [default: no end].
        #[arg(long)]
        paid_until: Option<String>,
    },
    /// List accounts (operator).
    List {
        /// Continue after this id.
        #[arg(long)]
        after: Option<String>,
    },
    /// Show an account.
    Show {
        /// Account, by id or name [default: your key's account].
        account: Option<String>,
    },
    /// Suspend an account: all its credentials are refused at once (operator).
    Suspend {
        /// Account, by id or name.
        account: String,
    },
    /// Lift a suspension (operator).
    Resume {
        /// Account, by id or name.
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
    /// Set an account's plan (operator).
    Set {
        /// Account, by id or name.
        account: String,
        /// Plan: free, starter, pro, enterprise or unlimited.
        plan: String,
        /// End of the paid period (RFC 3339) [default: no end].
        #[arg(long)]
        paid_until: Option<String>,
    },
    /// Show an account's plan.
    Show {
        /// Account, by id or name [default: your key's account].
        account: Option<String>,
    },
}

#[derive(Debug, Args)]
pub struct Department {
    /// Account, by id or name [default: your key's account].
    #[arg(long, global = true)]
    pub account: Option<String>,
    #[command(subcommand)]
    pub command: DepartmentCommand,
    #[command(flatten)]
    pub connection: AdminConnection,
}

#[derive(Debug, Subcommand)]
pub enum DepartmentCommand {
    /// Create a department.
    Create {
        /// Department name.
        name: String,
        /// Parent department, by id or name.
        #[arg(long)]
        parent: Option<String>,
    },
    /// List departments.
    List,
    /// Show a department.
    Show {
        /// Department, by id or name.
        department: String,
    },
    /// Rename or move a department.
    Change {
        /// Department, by id or name.
        department: String,
        /// New name.
        #[arg(long)]
        name: Option<String>,
        /// New parent department, by id or name.
        #[arg(long)]
        parent: Option<String>,
        /// Move it to the top level.
        #[arg(long, conflicts_with = "parent")]
        top: bool,
    },
    /// Delete a department. It must have no members, sub-departments or records.
    Delete {
        /// Department, by id or name.
        department: String,
        #[command(flatten)]
        confirmation: Confirmation,
    },
}

#[derive(Debug, Args)]
pub struct Member {
    /// Account, by id or name [default: your key's account].
    #[arg(long, global = true)]
    pub account: Option<String>,
    #[command(subcommand)]
    pub command: MemberCommand,
    #[command(flatten)]
    pub connection: AdminConnection,
}

#[derive(Debug, Subcommand)]
pub enum MemberCommand {
    /// Create a member.
    Create {
        /// Member name; search results show it as the author.
        name: String,
        /// Role: admin, head or member.
        #[arg(long, default_value = "member")]
        role: String,
        /// Department, by id or name.
        #[arg(long)]
        department: Option<String>,
        /// When the member's access ends (RFC 3339).
        #[arg(long)]
        access_until: Option<String>,
        /// Also create a key for the member, with this label if one is given, and show it once.
        #[arg(long, value_name = "LABEL", num_args = 0..=1)]
        with_key: Option<Option<String>>,
        /// With --with-key: project the key opens, by id or name [default: your key's project].
        #[arg(long, requires = "with_key")]
        project: Option<String>,
    },
    /// List members.
    List,
    /// Show a member.
    Show {
        /// Member, by id or name.
        member: String,
    },
    /// Change a member.
    Change {
        /// Member, by id or name.
        member: String,
        /// New name.
        #[arg(long)]
        name: Option<String>,
        /// New role: admin, head or member.
        #[arg(long)]
        role: Option<String>,
        /// New department, by id or name.
        #[arg(long)]
        department: Option<String>,
        /// Remove the member from its department.
        #[arg(long, conflicts_with = "department")]
        no_department: bool,
        /// When the member's access ends (RFC 3339).
        #[arg(long)]
        access_until: Option<String>,
        /// Remove the end of the member's access.
        #[arg(long, conflicts_with = "access_until")]
        no_end: bool,
    },
    /// Create a member, and a link that shows its key once.
    Invite(Invite),
    /// Delete a member: its keys are revoked and its records go to another member.
    Delete {
        /// Member, by id or name.
        member: String,
        /// Member who takes over the records, by id or name.
        #[arg(long)]
        hand_over_to: Option<String>,
        #[command(flatten)]
        confirmation: Confirmation,
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
    /// Create a project.
    Create {
        /// Project name.
        name: String,
        /// Account, by id or name [default: your key's account].
        #[arg(long)]
        account: Option<String>,
    },
    /// List the projects of an account.
    List {
        /// Account, by id or name [default: your key's account].
        #[arg(long)]
        account: Option<String>,
    },
    /// Show a project.
    Show {
        /// Project, by id or name [default: your key's project].
        project: Option<String>,
    },
    /// Change a project.
    Change {
        /// Project, by id or name [default: your key's project].
        project: Option<String>,
        /// Names of integration tools: dots (github_readonly.get_me), or underscores for clients that reject dots.
        #[arg(long)]
        tool_names: String,
    },
    /// Delete a project. Its keys are refused at once.
    Delete {
        /// Project, by id or name.
        project: String,
        #[command(flatten)]
        confirmation: Confirmation,
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
    /// Create a key. It is shown only once.
    Create {
        /// Member the key belongs to, by id or name.
        #[arg(long)]
        member: String,
        /// Project the key opens, by id or name [default: your key's project].
        #[arg(long)]
        project: Option<String>,
        /// Access: read or write.
        #[arg(long, default_value = "write")]
        access: String,
        /// Label for the key.
        #[arg(long)]
        label: Option<String>,
        /// When the key expires (RFC 3339).
        #[arg(long)]
        expires_at: Option<String>,
        /// Workspace of calls that name none [default: default].
        #[arg(long)]
        workspace: Option<String>,
    },
    /// List a project's keys, without their secrets.
    List {
        /// Project, by id or name [default: your key's project].
        #[arg(long, conflicts_with = "mine")]
        project: Option<String>,
        /// List the keys in your own name instead, of all projects, with who made them.
        #[arg(long)]
        mine: bool,
    },
    /// Change a key's label, access, end or workspace. Its secret stays.
    Change(KeyChange),
    /// Revoke a key. It is refused at once.
    Revoke {
        /// Key id.
        // Not called `key`: that flag is the caller's own key.
        key_id: String,
        #[command(flatten)]
        confirmation: Confirmation,
    },
}

/// OAuth connections.
#[derive(Debug, Args)]
pub struct Connections {
    #[command(subcommand)]
    pub command: ConnectionCommand,
    #[command(flatten)]
    pub connection: AdminConnection,
}

#[derive(Debug, Subcommand)]
pub enum ConnectionCommand {
    /// List the web clients connected to a project, and when each was last used.
    List {
        /// Project, by id or name [default: your key's project].
        #[arg(long)]
        project: Option<String>,
    },
    /// Revoke a connection. It is refused at once; its key stays valid.
    Revoke {
        /// Connection id.
        connection_id: String,
        #[command(flatten)]
        confirmation: Confirmation,
    },
}

/// Sessions of the console.
#[derive(Debug, Args)]
pub struct ConsoleSessions {
    /// Project, by id or name [default: your key's project].
    #[arg(long, global = true)]
    pub project: Option<String>,
    #[command(subcommand)]
    pub command: ConsoleCommand,
    #[command(flatten)]
    pub connection: AdminConnection,
}

#[derive(Debug, Subcommand)]
pub enum ConsoleCommand {
    /// List the browsers that are signed in: your own, and those of members whom you manage.
    List,
    /// End a session. Its browser is asked for a key at the next click; the key stays valid.
    End {
        /// Id of the session.
        console_session_id: String,
        #[command(flatten)]
        confirmation: Confirmation,
    },
}

/// Nodes of the service.
#[derive(Debug, Args)]
pub struct Nodes {
    #[command(subcommand)]
    pub command: NodeCommand,
    #[command(flatten)]
    pub connection: AdminConnection,
}

#[derive(Debug, Subcommand)]
pub enum NodeCommand {
    /// List the nodes that were heard of in the last hour, and whether each is up.
    List,
}

#[derive(Debug, Args)]
pub struct Whoami {
    #[command(flatten)]
    pub connection: AdminConnection,
}

#[derive(Debug, Args)]
pub struct Compact {
    #[command(flatten)]
    pub connection: AdminConnection,
}
