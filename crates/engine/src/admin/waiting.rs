//! What waits for a person: the numbers beside the entries of a menu.

use std::collections::HashSet;

use mnemon_core::ProjectId;

use super::{AdminContext, AdminError};
use crate::Engine;
use crate::standings::Stood;

/// How much of each kind waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Waiting {
    /// Sources that have changed since records were saved from them.
    pub sources: u64,
    /// Tools of other systems that an admin has to look at.
    pub tools: u64,
}

impl Engine {
    /// What waits for the caller in a project.
    pub async fn show_waiting(&self, ctx: &AdminContext, project: ProjectId) -> Result<Waiting, AdminError> {
        let own = self.readable_project(ctx, project).await?;
        let mut sources = 0;
        self.each_workspace(own.id, &ctx.viewer(), ctx.now, |_, records| {
            let stale = records.filter(Stood::is_stale);
            sources += stale.filter_map(|record| record.source_no()).collect::<HashSet<_>>().len() as u64;
        })
        .await?;
        if ctx.not_admin().is_some() {
            return Ok(Waiting { sources, tools: 0 });
        }
        let (_, integrations) = self.list_integrations(ctx, project).await?;
        let enabled = integrations.iter().filter(|integration| integration.is_enabled);
        let tools = enabled.flat_map(|integration| &integration.tools).filter(|tool| tool.state.waits_for_admin());
        Ok(Waiting { sources, tools: tools.count() as u64 })
    }
}
