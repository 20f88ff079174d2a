//! Sources, as visible to the caller.

use mnemon_core::WorkspaceName;
use mnemon_engine::admin::{AdminError, SeenSource, SeenState};
use mnemon_protocol::admin::{RestoreSource, SeenSourceJson, ValidateSources};
use serde::Deserialize;
use serde_json::json;

use super::error::Failure;
use super::extract::{Admin, Path, Query, Sent, id, limit};
use super::show;
use crate::http::Reply;

#[derive(Debug, Deserialize)]
pub(crate) struct Filter {
    workspace: Option<String>,
    after: Option<String>,
    limit: Option<String>,
}

pub(crate) async fn list(
    admin: Admin,
    Path(project): Path<String>,
    Query(filter): Query<Filter>,
) -> Result<Reply, Failure> {
    let (project, limit) = (id(&project, "project")?, limit(filter.limit.as_deref())?);
    let workspace = named(filter.workspace.as_deref())?;
    let after = filter.after.as_deref();
    let page = admin.engine.list_sources(&admin.ctx, project, workspace.as_ref(), after, limit).await?;
    Ok(show::ok(&show::sources(page)))
}

pub(crate) async fn validate(
    admin: Admin,
    Path(project): Path<String>,
    Sent(sent): Sent<ValidateSources>,
) -> Result<Reply, Failure> {
    let workspace = named(sent.workspace.as_deref())?;
    let seen = sent.sources.into_iter().map(seen).collect::<Result<Vec<_>, _>>()?;
    let project = id(&project, "project")?;
    let checked = admin.engine.check_sources(&admin.ctx, project, workspace.as_ref(), &seen).await?;
    Ok(show::ok(&show::checked_sources(checked)))
}

pub(crate) async fn restore(
    admin: Admin,
    Path(project): Path<String>,
    Sent(sent): Sent<RestoreSource>,
) -> Result<Reply, Failure> {
    let Some(workspace) = named(Some(&sent.workspace))? else { return Err(AdminError::NotFound("workspace").into()) };
    let project = id(&project, "project")?;
    let restored = admin.engine.restore_source(&admin.ctx, project, &workspace, &sent.source_id, None).await?;
    Ok(show::ok(&json!({"restored": restored})))
}

fn named(workspace: Option<&str>) -> Result<Option<WorkspaceName>, AdminError> {
    workspace.map(WorkspaceName::parse).transpose().map_err(|error| AdminError::Invalid(error.to_string()))
}

fn seen(sent: SeenSourceJson) -> Result<SeenSource, AdminError> {
    let SeenSourceJson { source_id, current_source_hash, source_gone, moved_to, equal_hashes, unknown_hashes } = sent;
    let state = match (current_source_hash, source_gone) {
        (Some(current_source_hash), false) if moved_to.is_none() => {
            SeenState::There { current_source_hash, equal_hashes, unknown_hashes }
        }
        (None, true) if equal_hashes.is_empty() && unknown_hashes.is_empty() => SeenState::Gone { moved_to },
        _ => {
            let text = format!(
                "source '{source_id}' needs current_source_hash, or source_gone: true (and moved_to) without hashes"
            );
            return Err(AdminError::Invalid(text));
        }
    };
    Ok(SeenSource { source_id, state })
}
