//! Uploaded session histories: listed and deleted, never shown.

use serde::Deserialize;
use serde_json::json;

use super::error::Failure;
use super::extract::{Admin, Path, Query, id, id_in, limit};
use super::show;
use crate::http::Reply;

#[derive(Debug, Deserialize)]
pub(crate) struct Page {
    after: Option<String>,
    limit: Option<String>,
}

pub(crate) async fn list(
    admin: Admin,
    Path(project): Path<String>,
    Query(page): Query<Page>,
) -> Result<Reply, Failure> {
    let after = id_in(page.after.as_deref(), "after")?;
    let limit = limit(page.limit.as_deref())?;
    let page = admin.engine.list_sessions(&admin.ctx, id(&project, "project")?, after, limit).await?;
    let shown: Vec<_> = page.sessions.iter().map(show::session).collect();
    let next = page.next.map(|id| id.to_string());
    let (count, kept_bytes, bytes_max) = (page.count, page.kept_bytes, page.bytes_max);
    Ok(show::ok(&json!({
        "sessions": shown, "next": next, "count": count, "kept_bytes": kept_bytes, "history_bytes_max": bytes_max,
    })))
}

pub(crate) async fn remove(admin: Admin, Path((project, session)): Path<(String, String)>) -> Result<Reply, Failure> {
    admin.engine.delete_session(&admin.ctx, id(&project, "project")?, id(&session, "session")?).await?;
    Ok(show::ok(&json!({"deleted": true})))
}
