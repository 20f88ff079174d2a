//! Departments.

use mnemon_engine::admin::NewDepartment;
use mnemon_protocol::admin::{ChangeDepartment, CreateDepartment};
use serde_json::json;

use super::error::Failure;
use super::extract::{Admin, Path, Sent, id, id_in};
use super::show;
use crate::http::Reply;

pub(crate) async fn create(
    admin: Admin,
    Path(account): Path<String>,
    Sent(sent): Sent<CreateDepartment>,
) -> Result<Reply, Failure> {
    let new = NewDepartment { parent: id_in(sent.parent_id.as_deref(), "parent_id")?, name: sent.name };
    let department = admin.engine.create_department(&admin.ctx, id(&account, "account")?, new).await?;
    Ok(show::created(&show::department(&department)))
}

pub(crate) async fn list(admin: Admin, Path(account): Path<String>) -> Result<Reply, Failure> {
    let departments = admin.engine.list_departments(&admin.ctx, id(&account, "account")?).await?;
    let shown: Vec<_> = departments.iter().map(show::department).collect();
    Ok(show::ok(&json!({"departments": shown})))
}

pub(crate) async fn show(admin: Admin, Path((account, department)): Path<(String, String)>) -> Result<Reply, Failure> {
    let (account, department) = (id(&account, "account")?, id(&department, "department")?);
    let department = admin.engine.show_department(&admin.ctx, account, department).await?;
    Ok(show::ok(&show::department(&department)))
}

pub(crate) async fn change(
    admin: Admin,
    Path((account, department)): Path<(String, String)>,
    Sent(sent): Sent<ChangeDepartment>,
) -> Result<Reply, Failure> {
    let (account, department) = (id(&account, "account")?, id(&department, "department")?);
    let parent = sent.parent_id.map(|parent| id_in(parent.as_deref(), "parent_id")).transpose()?;
    let changed = admin.engine.change_department(&admin.ctx, account, department, sent.name, parent).await?;
    Ok(show::ok(&show::department(&changed)))
}

pub(crate) async fn remove(
    admin: Admin,
    Path((account, department)): Path<(String, String)>,
) -> Result<Reply, Failure> {
    let (account, department) = (id(&account, "account")?, id(&department, "department")?);
    admin.engine.delete_department(&admin.ctx, account, department).await?;
    Ok(show::ok(&json!({"deleted": true})))
}
