//! Taking over what was known about a source elsewhere.

use std::collections::HashSet;

use mnemon_core::{Audience, WorkspaceName, WorkspaceNo};
use mnemon_store::{AdoptedSource, Observation, Seen};

use super::super::sources::check_path;
use super::{AdminError, Import, ImportOutcome, ImportedSource, refusal, refused};
use crate::validate::HASHES_MAX;
use crate::{CallContext, Engine};

impl Engine {
    /// Takes over what was known about a source of which the caller sees a record.
    pub(super) async fn adopt(&self, import: &mut Import, source: ImportedSource) -> Result<ImportOutcome, AdminError> {
        let ImportedSource { source_id, workspace, scope, department, known, confirmed_hash } = source;
        let known_hash = match &known {
            Seen::Hash(hash) => Some(hash),
            Seen::Gone { moved_to } => {
                if let Err(error) = check_path(moved_to.as_deref()) {
                    return Ok(refused("invalid", error.to_string()));
                }
                None
            }
        };
        for hashes in [known_hash, confirmed_hash.as_ref()].into_iter().flatten() {
            let pieces: Vec<&str> = hashes.split(' ').map(|hash| hash.trim_start_matches('?')).collect();
            if pieces.len() > 2 * (2 * HASHES_MAX + 1) {
                return Ok(refused("invalid", format!("known_hash of '{source_id}' lists too many hashes")));
            }
            for hash in pieces {
                match self.check_hash(Some(&import.call), &source_id, hash).await {
                    Ok(()) => {}
                    Err(AdminError::Invalid(text)) => return Ok(refused("invalid", text)),
                    Err(AdminError::Call(error)) => return refusal(error),
                    Err(error) => return Err(error),
                }
            }
        }
        let ctx = &import.call;
        let department = match import.department_called(department.as_deref()) {
            Ok(department) => department.or(ctx.credential.department),
            Err(text) => return Ok(refused("invalid", text)),
        };
        let Some(audience) = Audience::of(scope, ctx.credential.member, department) else {
            return Ok(ImportOutcome::Source(false));
        };
        let workspaces = self.workspaces_of(ctx, &source_id, workspace).await?;
        if workspaces.is_empty() || import.is_dry_run {
            return Ok(ImportOutcome::Source(import.is_dry_run));
        }
        let Observation { source_id, seen: known } =
            match self.without_orders(Some(ctx), Observation { source_id, seen: known }).await {
                Ok(observation) => observation,
                Err(AdminError::Call(error)) => return refusal(error),
                Err(error) => return Err(error),
            };
        let mut is_new = false;
        for workspace in workspaces {
            let (source_id, known, confirmed_hash) = (source_id.clone(), known.clone(), confirmed_hash.clone());
            let adopted = AdoptedSource { workspace, source_id, audience, known, confirmed_hash };
            is_new |= self.store.adopt_source(ctx.project(), adopted, ctx.now).await?;
        }
        Ok(ImportOutcome::Source(is_new))
    }

    /// Where the caller sees records of a source: in the workspace that is named, or in all.
    async fn workspaces_of(
        &self,
        ctx: &CallContext,
        source_id: &str,
        named: Option<WorkspaceName>,
    ) -> Result<Vec<WorkspaceName>, AdminError> {
        let viewer = ctx.viewer();
        let mut summaries = self.store.list_by_source(ctx.project(), source_id, named.as_ref()).await?;
        summaries.retain(|summary| viewer.sees(&summary.audience));
        if named.is_some() || summaries.is_empty() {
            return Ok(named.filter(|_| !summaries.is_empty()).into_iter().collect());
        }
        let numbers: HashSet<WorkspaceNo> = summaries.iter().map(|summary| summary.workspace_no).collect();
        let mut workspaces = self.store.list_workspaces(ctx.project()).await?;
        workspaces.retain(|workspace| numbers.contains(&workspace.no));
        Ok(workspaces.into_iter().map(|workspace| workspace.name).collect())
    }
}
