//! Keys.

use mnemon_core::{Access, WorkspaceName};
use mnemon_engine::admin::{AdminError, NewKeyRequest};
use mnemon_protocol::admin::{CreateKey, MadeKeyJson};
use serde_json::json;

use super::error::Failure;
use super::extract::{Admin, Path, Sent, id, id_in, moment, word};
use super::show;
use crate::http::Reply;

pub(crate) async fn create(
    admin: Admin,
    Path(project): Path<String>,
    Sent(sent): Sent<CreateKey>,
) -> Result<Reply, Failure> {
    let missing = || AdminError::Invalid("member_id must be an id".to_owned());
    let workspace = sent.workspace.as_deref().map(WorkspaceName::parse);
    let request = NewKeyRequest {
        id: None,
        member: id_in(Some(&sent.member_id), "member_id")?.ok_or_else(missing)?,
        access: word(&sent.access, "access", Access::parse, "read, write")?,
        expires_at: moment(sent.expires_at.as_deref(), "expires_at")?,
        label: sent.label,
        workspace: workspace.transpose().map_err(|error| AdminError::Invalid(error.to_string()))?,
    };
    let made = admin.engine.create_key(&admin.ctx, id(&project, "project")?, request).await?;
    Ok(show::created(&MadeKeyJson { key_id: made.id.to_string(), key: made.key.expose().clone() }))
}

pub(crate) async fn list(admin: Admin, Path(project): Path<String>) -> Result<Reply, Failure> {
    let keys = admin.engine.list_keys(&admin.ctx, id(&project, "project")?).await?;
    let shown: Vec<_> = keys.iter().map(show::key).collect();
    Ok(show::ok(&json!({"keys": shown})))
}

pub(crate) async fn own(admin: Admin) -> Result<Reply, Failure> {
    let keys = admin.engine.list_own_keys(&admin.ctx).await?;
    let shown: Vec<_> = keys.iter().map(show::key).collect();
    Ok(show::ok(&json!({"keys": shown})))
}

pub(crate) async fn revoke(admin: Admin, Path(key): Path<String>) -> Result<Reply, Failure> {
    admin.engine.revoke_key(&admin.ctx, id(&key, "key")?).await?;
    Ok(show::ok(&json!({"revoked": true})))
}
