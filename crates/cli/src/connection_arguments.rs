//! Which service a command connects to, and with which key.

use clap::Args;

/// The service to connect to.
#[derive(Debug, Clone, Default, Args)]
pub struct Connection {
    /// URL of the service [default: MNEMON_URL, then the saved one, then http://127.0.0.1:7676].
    #[arg(long, value_name = "URL")]
    pub url: Option<String>,
    /// API key [default: MNEMON_API_KEY, then the one that `mnemon login` or `mnemon agent install` saved].
    #[arg(long, value_name = "KEY")]
    pub key: Option<String>,
    /// Saved connection to use [default: MNEMON_PROFILE, then the one without a name].
    #[arg(long, value_name = "NAME")]
    pub profile: Option<String>,
}
