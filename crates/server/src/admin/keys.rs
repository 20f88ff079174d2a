//! Keys.

use axum::extract::State;
use mnemon_core::{Access, WorkspaceName};
use mnemon_engine::admin::{AdminError, KeyEdit, NewKeyRequest, link_life};
use mnemon_protocol::admin::{ChangeKey, CreateKey, CreateLink, MadeKeyJson};
use serde_json::json;

use super::error::Failure;
use super::extract::{Admin, Path, Sent, id, id_in, moment, word};
use super::show;
use crate::http::{App, Reply};

fn workspace(name: &str) -> Result<WorkspaceName, AdminError> {
    WorkspaceName::parse(name).map_err(|error| AdminError::Invalid(error.to_string()))
}

fn request(sent: CreateKey) -> Result<NewKeyRequest, AdminError> {
    let missing = || AdminError::Invalid("member_id must be an id".to_owned());
    Ok(NewKeyRequest {
        id: None,
        member: id_in(Some(&sent.member_id), "member_id")?.ok_or_else(missing)?,
        access: word(&sent.access, "access", Access::parse, "read, write")?,
        expires_at: moment(sent.expires_at.as_deref(), "expires_at")?,
        label: sent.label,
        workspace: sent.workspace.as_deref().map(workspace).transpose()?,
    })
}

pub(crate) async fn create(
    admin: Admin,
    Path(project): Path<String>,
    Sent(sent): Sent<CreateKey>,
) -> Result<Reply, Failure> {
    let made = admin.engine.create_key(&admin.ctx, id(&project, "project")?, request(sent)?).await?;
    Ok(show::created(&MadeKeyJson { key_id: made.id.to_string(), key: made.key.expose().clone() }))
}

pub(crate) async fn create_link(
    State(app): State<App>,
    admin: Admin,
    Path(project): Path<String>,
    Sent(sent): Sent<CreateLink>,
) -> Result<Reply, Failure> {
    let life = link_life(sent.link_hours)?;
    let CreateLink { member_id, access, label, expires_at, workspace, .. } = sent;
    let request = request(CreateKey { member_id, access, label, expires_at, workspace })?;
    let made = admin.engine.create_link(&admin.ctx, id(&project, "project")?, request, life).await?;
    Ok(show::created(&show::link(&app.0, &made)))
}

pub(crate) async fn change(
    admin: Admin,
    Path(key): Path<String>,
    Sent(sent): Sent<ChangeKey>,
) -> Result<Reply, Failure> {
    let workspace = |name: Option<String>| name.as_deref().map(workspace).transpose();
    let edit = KeyEdit {
        label: sent.label,
        access: sent.access.map(|access| word(&access, "access", Access::parse, "read, write")).transpose()?,
        expires_at: sent.expires_at.map(|end| moment(end.as_deref(), "expires_at")).transpose()?,
        workspace: sent.workspace.map(workspace).transpose()?,
    };
    let changed = admin.engine.change_key(&admin.ctx, id(&key, "key")?, edit).await?;
    Ok(show::ok(&show::key(&changed)))
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
