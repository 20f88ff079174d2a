//! Inviting somebody by a link, and changing a key.

use mnemon_protocol::admin::{ChangeKey, InviteMember};

use super::show_one;
use crate::admin_client::{AdminClient, encode};
use crate::handing_over_arguments::{Invite, KeyChange};
use crate::printer::Printer;

pub(super) fn invite(client: &AdminClient, account: &str, invite: &Invite, printer: &Printer) -> anyhow::Result<()> {
    let department = invite.department.as_ref().map(|named| client.department(account, named)).transpose()?;
    let body = InviteMember {
        name: invite.name.clone(),
        role: invite.role.clone(),
        department_id: department,
        access_until: invite.access_until.clone(),
        project_id: client.project(invite.project.as_ref())?,
        access: invite.access.clone(),
        label: invite.label.clone(),
        expires_at: invite.expires_at.clone(),
        link_hours: invite.link_hours,
    };
    let made = client.post(&format!("/accounts/{account}/invitations"), body)?;
    show_one(printer, &made);
    if !printer.is_json() {
        printer.text("Send them the link: it shows the key once. The link will not be shown again.");
    }
    Ok(())
}

pub(super) fn change_key(client: &AdminClient, change: &KeyChange, printer: &Printer) -> anyhow::Result<()> {
    let body = ChangeKey {
        label: change.label.clone().map(Some),
        access: change.access.clone(),
        expires_at: changed(change.expires_at.as_ref(), change.no_end),
        workspace: changed(change.workspace.as_ref(), change.no_workspace),
    };
    show_one(printer, &client.patch(&format!("/keys/{}", encode(&change.key_id)), body)?);
    Ok(())
}

/// A changed value: absent keeps what is there, `null` removes it.
pub(super) fn changed(value: Option<&String>, is_removed: bool) -> Option<Option<String>> {
    if is_removed { Some(None) } else { value.cloned().map(Some) }
}
