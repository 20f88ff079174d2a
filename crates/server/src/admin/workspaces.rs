//! Workspaces.

use mnemon_core::WorkspaceName;
use mnemon_engine::admin::AdminError;
use serde_json::json;

use super::error::Failure;
use super::extract::{Admin, Path, id};
use super::show;
use crate::http::Reply;

pub(crate) async fn list(admin: Admin, Path(project): Path<String>) -> Result<Reply, Failure> {
    let workspaces = admin.engine.list_workspaces(&admin.ctx, id(&project, "project")?).await?;
    let shown: Vec<_> = workspaces.iter().map(show::workspace).collect();
    Ok(show::ok(&json!({"workspaces": shown})))
}

pub(crate) async fn remove(admin: Admin, Path((project, workspace)): Path<(String, String)>) -> Result<Reply, Failure> {
    let name = WorkspaceName::parse(&workspace).map_err(|_| AdminError::NotFound("workspace"))?;
    let records = admin.engine.delete_workspace(&admin.ctx, id(&project, "project")?, &name).await?;
    Ok(show::ok(&json!({"deleted": true, "records_forgotten": records})))
}
