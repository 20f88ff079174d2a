//! The guard's mode, its findings, and texts released by hand.

use mnemon_engine::GuardMode;
use mnemon_engine::admin::{AdminError, Release};
use mnemon_protocol::admin::{ReleaseText, SetGuard};
use serde::Deserialize;
use serde_json::json;

use super::error::Failure;
use super::extract::{Admin, Path, Query, Sent, id, limit, word};
use super::show;
use crate::http::Reply;

#[derive(Debug, Deserialize)]
pub(crate) struct Page {
    reference: Option<String>,
    limit: Option<String>,
}

pub(crate) async fn show(admin: Admin, Path(account): Path<String>) -> Result<Reply, Failure> {
    let mode = admin.engine.show_guard(&admin.ctx, id(&account, "account")?).await?;
    Ok(show::ok(&json!({"mode": mode.as_str()})))
}

pub(crate) async fn set(
    admin: Admin,
    Path(account): Path<String>,
    Sent(sent): Sent<SetGuard>,
) -> Result<Reply, Failure> {
    let mode = word(&sent.mode, "mode", GuardMode::parse, "reject, report, off")?;
    admin.engine.set_guard(&admin.ctx, id(&account, "account")?, mode).await?;
    Ok(show::ok(&json!({"mode": mode.as_str()})))
}

pub(crate) async fn rejections(
    admin: Admin,
    Path(account): Path<String>,
    Query(page): Query<Page>,
) -> Result<Reply, Failure> {
    let limit = limit(page.limit.as_deref())?;
    let found =
        admin.engine.list_rejections(&admin.ctx, id(&account, "account")?, page.reference.as_deref(), limit).await?;
    let found = admin.engine.follow_rejections(&admin.ctx, found).await?;
    let shown: Vec<_> = found.iter().map(show::rejection).collect();
    Ok(show::ok(&json!({"rejections": shown})))
}

pub(crate) async fn release(
    admin: Admin,
    Path(project): Path<String>,
    Sent(sent): Sent<ReleaseText>,
) -> Result<Reply, Failure> {
    let hash = admin.engine.release_text(&admin.ctx, id(&project, "project")?, which(sent)?).await?;
    Ok(show::created(&json!({"released": hash})))
}

fn which(sent: ReleaseText) -> Result<Release, Failure> {
    match (sent.hash, sent.reference) {
        (Some(hash), None) => Ok(Release::Hash(hash)),
        (None, Some(reference)) => Ok(Release::Reference(reference)),
        _ => Err(Failure(AdminError::Invalid("exactly one of hash and reference is required".to_owned()))),
    }
}
