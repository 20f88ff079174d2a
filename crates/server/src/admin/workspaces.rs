//! Workspaces.

use mnemon_core::WorkspaceName;
use mnemon_engine::admin::AdminError;
use serde::Deserialize;
use serde_json::json;

use super::error::Failure;
use super::extract::{Admin, Path, Query, id};
use super::show;
use crate::http::Reply;

#[derive(Debug, Deserialize)]
pub(crate) struct Filter {
    state: Option<String>,
}

pub(crate) async fn list(
    admin: Admin,
    Path(project): Path<String>,
    Query(filter): Query<Filter>,
) -> Result<Reply, Failure> {
    let project = id(&project, "project")?;
    let workspaces = match filter.state.as_deref() {
        None | Some("live") => admin.engine.list_workspaces(&admin.ctx, project).await?,
        Some("deleted") => admin.engine.list_deleted_workspaces(&admin.ctx, project).await?,
        Some(_) => return Err(AdminError::Invalid("state must be one of live, deleted".to_owned()).into()),
    };
    let shown: Vec<_> = workspaces.iter().map(show::workspace).collect();
    Ok(show::ok(&json!({"workspaces": shown})))
}

pub(crate) async fn remove(admin: Admin, Path((project, workspace)): Path<(String, String)>) -> Result<Reply, Failure> {
    let name = WorkspaceName::parse(&workspace).map_err(|_| AdminError::NotFound("workspace"))?;
    let (records, older) = admin.engine.delete_workspace(&admin.ctx, id(&project, "project")?, &name).await?;
    Ok(show::ok(&show::with_older_purged(json!({"deleted": true, "records_forgotten": records}), older)))
}

pub(crate) async fn restore(
    admin: Admin,
    Path((project, workspace)): Path<(String, String)>,
) -> Result<Reply, Failure> {
    let name = WorkspaceName::parse(&workspace).map_err(|_| AdminError::NotFound("deleted workspace"))?;
    let records = admin.engine.restore_workspace(&admin.ctx, id(&project, "project")?, &name).await?;
    Ok(show::ok(&json!({"restored": true, "records_restored": records})))
}
