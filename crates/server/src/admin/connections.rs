//! OAuth connections.

use serde_json::json;

use super::error::Failure;
use super::extract::{Admin, Path, id};
use super::show;
use crate::http::Reply;

pub(crate) async fn list(admin: Admin, Path(project): Path<String>) -> Result<Reply, Failure> {
    let connections = admin.engine.list_connections(&admin.ctx, id(&project, "project")?).await?;
    let shown: Vec<_> = connections.iter().map(show::connection).collect();
    Ok(show::ok(&json!({"connections": shown})))
}

pub(crate) async fn revoke(admin: Admin, Path(connection): Path<String>) -> Result<Reply, Failure> {
    admin.engine.revoke_connection(&admin.ctx, id(&connection, "connection")?).await?;
    Ok(show::ok(&json!({"revoked": true})))
}
