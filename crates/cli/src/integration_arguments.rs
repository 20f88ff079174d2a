//! Command line of `mnemon integration`.

use clap::{Args, Subcommand};

use crate::confirm::Confirmation;

use crate::admin_arguments::AdminConnection;

#[derive(Debug, Args)]
pub struct Integration {
    /// Project [default: your key's project].
    #[arg(long, global = true)]
    pub project: Option<String>,
    #[command(subcommand)]
    pub command: IntegrationCommand,
    #[command(flatten)]
    pub connection: AdminConnection,
}

#[derive(Debug, Subcommand)]
pub enum IntegrationCommand {
    #[command(flatten)]
    OfProject(Box<ProjectIntegrationCommand>),
    /// Re-encrypt every credential with the current encryption key (operator).
    RotateKey,
}

// Commands about one project. A doc comment here would replace the text of `--help`.
#[derive(Debug, Subcommand)]
pub enum ProjectIntegrationCommand {
    /// Add and enable an integration, then test it.
    Add(IntegrationSource),
    /// Change an integration. Settings you leave out stay as they are; a new URL needs its credential again.
    Change(IntegrationSource),
    /// List a project's integrations.
    List,
    /// Test the connection to the upstream and show which tools are offered.
    Test {
        /// Integration name.
        name: String,
    },
    /// List an integration's tools and the state of each.
    Tools {
        /// Integration name.
        name: String,
    },
    /// Accept new or changed tools as they are now.
    Accept {
        /// Integration name.
        name: String,
        /// Tools to accept [default: all that are held back].
        tools: Vec<String>,
    },
    /// Offer an integration's tools again.
    Enable {
        /// Integration name.
        name: String,
    },
    /// Stop offering an integration's tools, but keep its settings.
    Disable {
        /// Integration name.
        name: String,
    },
    /// Delete an integration and its credential.
    Remove {
        /// Integration name.
        name: String,
        #[command(flatten)]
        confirmation: Confirmation,
    },
}

/// Where an integration is and which of its tools may be offered.
#[derive(Debug, Args)]
pub struct IntegrationSource {
    /// Name used in tool names [default: the preset's name].
    pub name: Option<String>,
    /// Known system: github.
    #[arg(long, conflicts_with_all = ["endpoint", "command"])]
    pub preset: Option<String>,
    // Not called `url`: that flag is the service's own address.
    /// URL of its MCP endpoint (Streamable HTTP).
    #[arg(long, value_name = "URL", conflicts_with = "command")]
    pub endpoint: Option<String>,
    /// Local command, by its name in gateway.commands of the server's configuration.
    #[arg(long)]
    pub command: Option<String>,
    /// Title shown to people [default: made from the name].
    #[arg(long)]
    pub title: Option<String>,
    /// Token for the upstream, sent as `Authorization: Bearer`.
    #[arg(long, env = "MNEMON_INTEGRATION_TOKEN", hide_env_values = true)]
    pub bearer: Option<String>,
    /// Read the token from standard input, which keeps it out of the shell history.
    #[arg(long, conflicts_with = "bearer")]
    pub bearer_stdin: bool,
    /// Header for the upstream, as 'Name: value'; repeatable.
    #[arg(long = "header", value_name = "HEADER")]
    pub headers: Vec<String>,
    /// Tool that may be offered, or a name prefix followed by *; repeatable.
    #[arg(long, value_name = "TOOL")]
    pub allow: Vec<String>,
}
