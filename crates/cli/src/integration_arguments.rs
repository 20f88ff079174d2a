//! What can be typed to run integrations.

use clap::{Args, Subcommand};

use crate::admin_arguments::AdminConnection;

#[derive(Debug, Args)]
pub struct Integration {
    /// The project; your key's own when left out.
    #[arg(long, global = true)]
    pub project: Option<String>,
    #[command(subcommand)]
    pub command: IntegrationCommand,
    #[command(flatten)]
    pub connection: AdminConnection,
}

#[derive(Debug, Subcommand)]
pub enum IntegrationCommand {
    /// Add an integration, enable it, and say what works.
    Add(IntegrationSource),
    /// Change an integration; what is left out stays. A new address needs its credential given again.
    Change(IntegrationSource),
    /// List the integrations of a project.
    List,
    /// Ask the upstream now, and say plainly what works.
    Test {
        /// The integration.
        name: String,
    },
    /// List the tools of an integration, and what became of each.
    Tools {
        /// The integration.
        name: String,
    },
    /// Accept tools that are new or have changed, as they are now; all that wait when none is named.
    Accept {
        /// The integration.
        name: String,
        /// The tools.
        tools: Vec<String>,
    },
    /// Offer the tools of an integration.
    Enable {
        /// The integration.
        name: String,
    },
    /// Stop offering the tools of an integration; everything else stays.
    Disable {
        /// The integration.
        name: String,
    },
    /// Remove an integration with its credential.
    Remove {
        /// The integration.
        name: String,
    },
    /// Encrypt every credential with the present key (operator), after the configuration got a new one.
    RotateKey,
}

/// Where an integration is, and what it may do.
#[derive(Debug, Args)]
pub struct IntegrationSource {
    /// What it is called in tool names; the preset's name when left out.
    pub name: Option<String>,
    /// A system known by name: github.
    #[arg(long, conflicts_with_all = ["endpoint", "command"])]
    pub preset: Option<String>,
    /// The address of its MCP endpoint (Streamable HTTP). Not called `url` here: that is the service's own.
    #[arg(long, value_name = "URL", conflicts_with = "command")]
    pub endpoint: Option<String>,
    /// A local command, by the name that the operator gave it in gateway.commands.
    #[arg(long)]
    pub command: Option<String>,
    /// What people read in titles; made from the name when left out.
    #[arg(long)]
    pub title: Option<String>,
    /// The token that the upstream wants, sent as Authorization: Bearer.
    #[arg(long, env = "MNEMON_INTEGRATION_TOKEN", hide_env_values = true)]
    pub bearer: Option<String>,
    /// Read the token from standard input, so that it stands in no history of commands.
    #[arg(long, conflicts_with = "bearer")]
    pub bearer_stdin: bool,
    /// A header that the upstream wants, as 'Name: value'; may be given several times.
    #[arg(long = "header", value_name = "HEADER")]
    pub headers: Vec<String>,
    /// A tool that may be offered, or the beginning of a name followed by *; may be given several times.
    #[arg(long, value_name = "TOOL")]
    pub allow: Vec<String>,
}
