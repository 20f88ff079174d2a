//! The arguments of commands that invite somebody and that change a key.

use clap::Args;

#[derive(Debug, Args)]
pub struct Invite {
    /// Member name.
    pub name: String,
    /// Role: admin, head or member.
    #[arg(long, default_value = "member")]
    pub role: String,
    /// Department, by id or name.
    #[arg(long)]
    pub department: Option<String>,
    /// When the member's access ends (RFC 3339).
    #[arg(long)]
    pub access_until: Option<String>,
    /// Project the key opens, by id or name [default: your key's project].
    #[arg(long)]
    pub project: Option<String>,
    /// What the key may do: read or write.
    #[arg(long, default_value = "write")]
    pub access: String,
    /// Label for the key.
    #[arg(long)]
    pub label: Option<String>,
    /// When the key expires (RFC 3339).
    #[arg(long)]
    pub expires_at: Option<String>,
    /// For how many hours the link can be opened (1 to 720) [default: 72].
    #[arg(long)]
    pub link_hours: Option<u16>,
}

#[derive(Debug, Args)]
pub struct KeyChange {
    /// Key id.
    // Not called `key`: that flag is the caller's own key.
    pub key_id: String,
    /// New label.
    #[arg(long)]
    pub label: Option<String>,
    /// New access: read or write.
    #[arg(long)]
    pub access: Option<String>,
    /// When the key expires (RFC 3339).
    #[arg(long)]
    pub expires_at: Option<String>,
    /// Remove the key's end.
    #[arg(long, conflicts_with = "expires_at")]
    pub no_end: bool,
    /// Workspace of calls that name none.
    #[arg(long)]
    pub workspace: Option<String>,
    /// Calls that name no workspace go to `default` again.
    #[arg(long, conflicts_with = "workspace")]
    pub no_workspace: bool,
}
