//! The figures that the service publishes.

use anyhow::{Context, Result, ensure};

use crate::operations::http::Http;
use crate::operations::service::{OPERATOR, Service};

/// The page `/metrics` at one moment.
pub(in crate::operations) struct Figures(String);

impl Figures {
    pub(in crate::operations) async fn read(service: &Service) -> Result<Self> {
        let mut http = Http::connect(service.address).await?;
        let answer = http.send("GET", "/metrics", OPERATOR, "").await?;
        ensure!(answer.status == 200, "the figures were refused: {}", answer.status);
        Ok(Self(String::from_utf8(answer.body.to_vec())?))
    }

    /// The figure of this name, with its labels as they are printed.
    pub(in crate::operations) fn get(&self, name: &str) -> Result<f64> {
        let value = self.0.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        value.with_context(|| format!("there is no figure {name}"))?.parse().with_context(|| format!("{name} is odd"))
    }

    /// Bytes of all indexes in memory.
    pub(in crate::operations) fn index_bytes(&self) -> Result<f64> {
        self.get("mnemon_index_bytes")
    }
}
