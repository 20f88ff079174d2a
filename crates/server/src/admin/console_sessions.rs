//! Sessions of the console.

use serde_json::json;

use super::error::Failure;
use super::extract::{Admin, Path, id};
use super::show;
use crate::http::Reply;

pub(crate) async fn list(admin: Admin, Path(project): Path<String>) -> Result<Reply, Failure> {
    let open = admin.engine.list_console_sessions(&admin.ctx, id(&project, "project")?).await?;
    let shown: Vec<_> = open.iter().map(show::console_session).collect();
    Ok(show::ok(&json!({"console_sessions": shown})))
}

pub(crate) async fn end(admin: Admin, Path((project, session)): Path<(String, String)>) -> Result<Reply, Failure> {
    let (project, session) = (id(&project, "project")?, id(&session, "console session")?);
    admin.engine.end_console_session(&admin.ctx, project, session).await?;
    Ok(show::ok(&json!({"ended": true})))
}
