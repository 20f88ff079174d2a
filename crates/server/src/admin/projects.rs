//! Projects and their usage.

use axum::response::{IntoResponse, Response};
use mnemon_engine::admin::AdminError;
use mnemon_protocol::admin::CreateProject;
use serde::Deserialize;
use serde_json::json;

use super::csv::{self, Format};
use super::error::Failure;
use super::extract::{Admin, Path, Query, Sent, id};
use super::show;
use crate::http::Reply;

const USAGE_DAYS_DEFAULT: u16 = 30;
const USAGE_DAYS_MAX: u16 = 366;

#[derive(Debug, Deserialize)]
pub(crate) struct Period {
    days: Option<String>,
    format: Option<String>,
}

pub(crate) async fn create(
    admin: Admin,
    Path(account): Path<String>,
    Sent(sent): Sent<CreateProject>,
) -> Result<Reply, Failure> {
    let project = admin.engine.create_project(&admin.ctx, id(&account, "account")?, &sent.name).await?;
    Ok(show::created(&show::project(&project)))
}

pub(crate) async fn list(admin: Admin, Path(account): Path<String>) -> Result<Reply, Failure> {
    let projects = admin.engine.list_projects(&admin.ctx, id(&account, "account")?).await?;
    let shown: Vec<_> = projects.iter().map(show::project).collect();
    Ok(show::ok(&json!({"projects": shown})))
}

pub(crate) async fn show(admin: Admin, Path(project): Path<String>) -> Result<Reply, Failure> {
    let project = admin.engine.show_project(&admin.ctx, id(&project, "project")?).await?;
    Ok(show::ok(&show::project(&project)))
}

pub(crate) async fn remove(admin: Admin, Path(project): Path<String>) -> Result<Reply, Failure> {
    admin.engine.delete_project(&admin.ctx, id(&project, "project")?).await?;
    Ok(show::ok(&json!({"deleted": true})))
}

pub(crate) async fn usage(
    admin: Admin,
    Path(project): Path<String>,
    Query(period): Query<Period>,
) -> Result<Response, Failure> {
    let format = Format::read(period.format.as_deref())?;
    let days = match period.days.as_deref() {
        None => USAGE_DAYS_DEFAULT,
        Some(text) => text
            .parse()
            .ok()
            .filter(|days| (1..=USAGE_DAYS_MAX).contains(days))
            .ok_or_else(|| AdminError::Invalid(format!("days must be between 1 and {USAGE_DAYS_MAX}")))?,
    };
    let project = id(&project, "project")?;
    let report = admin.engine.show_usage(&admin.ctx, project, days).await?;
    let usage = show::usage(&report, admin.engine.count_bytes(&admin.ctx, project).await?);
    Ok(match format {
        Format::Json => show::ok(&usage).into_response(),
        Format::Csv => csv::usage(&usage),
    })
}
