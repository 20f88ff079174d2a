//! The nodes of the service.

use serde_json::json;

use super::error::Failure;
use super::extract::Admin;
use super::show;
use crate::http::Reply;

pub(crate) async fn list(admin: Admin) -> Result<Reply, Failure> {
    let nodes = admin.engine.list_nodes(&admin.ctx).await?;
    let shown: Vec<_> = nodes.iter().map(show::node).collect();
    Ok(show::ok(&json!({"nodes": shown})))
}
