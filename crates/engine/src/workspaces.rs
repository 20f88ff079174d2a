//! The workspaces that a caller can use.

use mnemon_core::WorkspaceName;
use mnemon_store::StoreError;

use crate::{CallContext, Engine};

/// How many names a caller gets.
const NAMES_MAX: usize = 20;

impl Engine {
    /// The first active workspaces, by name, that the caller may know of.
    pub async fn active_workspaces(&self, ctx: &CallContext) -> Result<Vec<WorkspaceName>, StoreError> {
        let all = self.store.list_workspaces(ctx.project()).await?;
        let visible = all.into_iter().filter(|row| row.audiences.iter().any(|audience| ctx.viewer().sees(audience)));
        Ok(visible.map(|row| row.name).take(NAMES_MAX).collect())
    }
}
