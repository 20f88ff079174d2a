//! Members.

use axum::extract::State;
use mnemon_core::{Access, Role};
use mnemon_engine::admin::{AdminError, Invitation, MemberChange, MemberHoldings, NewMember, link_life};
use mnemon_protocol::admin::{ChangeMember, CreateMember, DeleteMember, HoldingsJson, InviteMember, InvitedJson};
use serde_json::json;

use super::error::Failure;
use super::extract::{Admin, Path, Sent, id, id_in, moment, word};
use super::show;
use crate::http::{App, Reply};

fn role(text: &str) -> Result<Role, AdminError> {
    word(text, "role", Role::parse, "admin, head, member")
}

pub(crate) async fn create(
    admin: Admin,
    Path(account): Path<String>,
    Sent(sent): Sent<CreateMember>,
) -> Result<Reply, Failure> {
    let new = NewMember {
        role: role(&sent.role)?,
        department: id_in(sent.department_id.as_deref(), "department_id")?,
        access_until: moment(sent.access_until.as_deref(), "access_until")?,
        name: sent.name,
    };
    let member = admin.engine.create_member(&admin.ctx, id(&account, "account")?, new).await?;
    Ok(show::created(&show::member(&member)))
}

pub(crate) async fn invite(
    State(app): State<App>,
    admin: Admin,
    Path(account): Path<String>,
    Sent(sent): Sent<InviteMember>,
) -> Result<Reply, Failure> {
    let missing = || AdminError::Invalid("project_id must be an id".to_owned());
    let invitation = Invitation {
        key: None,
        member: NewMember {
            role: role(&sent.role)?,
            department: id_in(sent.department_id.as_deref(), "department_id")?,
            access_until: moment(sent.access_until.as_deref(), "access_until")?,
            name: sent.name,
        },
        project: id_in(Some(&sent.project_id), "project_id")?.ok_or_else(missing)?,
        access: word(&sent.access, "access", Access::parse, "read, write")?,
        label: sent.label,
        expires_at: moment(sent.expires_at.as_deref(), "expires_at")?,
        link_life: link_life(sent.link_hours)?,
    };
    let (member, link) = admin.engine.invite_member(&admin.ctx, id(&account, "account")?, invitation).await?;
    Ok(show::created(&InvitedJson { member: show::member(&member), link: show::link(&app.0, &link) }))
}

pub(crate) async fn list(admin: Admin, Path(account): Path<String>) -> Result<Reply, Failure> {
    let members = admin.engine.list_members(&admin.ctx, id(&account, "account")?).await?;
    let shown: Vec<_> = members.iter().map(show::member).collect();
    Ok(show::ok(&json!({"members": shown})))
}

pub(crate) async fn show(admin: Admin, Path((account, member)): Path<(String, String)>) -> Result<Reply, Failure> {
    let (account, member) = (id(&account, "account")?, id(&member, "member")?);
    let member = admin.engine.show_member(&admin.ctx, account, member).await?;
    Ok(show::ok(&show::member(&member)))
}

pub(crate) async fn change(
    admin: Admin,
    Path((account, member)): Path<(String, String)>,
    Sent(sent): Sent<ChangeMember>,
) -> Result<Reply, Failure> {
    let (account, member) = (id(&account, "account")?, id(&member, "member")?);
    let change = MemberChange {
        role: sent.role.as_deref().map(role).transpose()?,
        department: sent.department_id.map(|text| id_in(text.as_deref(), "department_id")).transpose()?,
        access_until: sent.access_until.map(|text| moment(text.as_deref(), "access_until")).transpose()?,
        name: sent.name,
    };
    let member = admin.engine.change_member(&admin.ctx, account, member, change).await?;
    Ok(show::ok(&show::member(&member)))
}

pub(crate) async fn remove(
    admin: Admin,
    Path((account, member)): Path<(String, String)>,
    Sent(sent): Sent<DeleteMember>,
) -> Result<Reply, Failure> {
    let (account, member) = (id(&account, "account")?, id(&member, "member")?);
    let heir = id_in(sent.hand_over_to.as_deref(), "hand_over_to")?;
    let removed = admin.engine.delete_member(&admin.ctx, account, member, heir).await?;
    Ok(show::ok(&json!({"deleted": true, "keys_revoked": removed.keys, "records_handed_over": removed.records})))
}

pub(crate) async fn holdings(admin: Admin, Path((account, member)): Path<(String, String)>) -> Result<Reply, Failure> {
    let (account, member) = (id(&account, "account")?, id(&member, "member")?);
    let MemberHoldings { records, keys, sessions } = admin.engine.show_holdings(&admin.ctx, account, member).await?;
    Ok(show::ok(&HoldingsJson { records, keys, sessions }))
}
