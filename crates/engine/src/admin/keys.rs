//! Keys: created, listed without their secret, revoked. To rotate a key, create a second one and revoke the first.

use mnemon_core::{
    Access, CredentialHash, CredentialKind, KeyId, MemberId, ProjectId, Role, Secret, Timestamp, make_token,
};
use mnemon_store::{KeyRow, NewKey};

use super::{AdminContext, AdminError, Authority, Reach, checks};
use crate::Engine;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewKeyRequest {
    pub member: MemberId,
    pub access: Access,
    pub label: Option<String>,
    pub expires_at: Option<Timestamp>,
}

/// A new key; its secret can be seen only now.
#[derive(Debug)]
pub struct MadeKey {
    pub id: KeyId,
    pub key: Secret<String>,
}

impl Engine {
    pub async fn create_key(
        &self,
        ctx: &AdminContext,
        project: ProjectId,
        request: NewKeyRequest,
    ) -> Result<MadeKey, AdminError> {
        need_role(ctx)?;
        let project = self.reachable_project(ctx, project).await?;
        let reach = self.reach(ctx, project.account).await?;
        ctx.need_write()?;
        let member = self.member_within(&reach, project.account, request.member).await?;
        if matches!(reach, Reach::Departments(_)) && member.role == Role::Admin {
            return Err(AdminError::Forbidden("a head may not create keys for admins"));
        }
        let label = request.label.map(|label| checks::name(self.guard, "label", &label)).transpose()?;
        let key = make_token(CredentialKind::ApiKey, &self.ids.secret());
        let id = KeyId::new(self.ids.uuid(ctx.now));
        let new = NewKey {
            id,
            hash: CredentialHash::of(key.expose()),
            project: project.id,
            member: member.id,
            access: request.access,
            label,
            expires_at: request.expires_at,
            created_at: ctx.now,
        };
        let audit = self.admin_audit(ctx, project.account, Some(project.id), "key.create", id);
        self.store.insert_key(new, audit).await?;
        Ok(MadeKey { id, key })
    }

    /// The keys of a project that the caller may manage, oldest first.
    pub async fn list_keys(&self, ctx: &AdminContext, project: ProjectId) -> Result<Vec<KeyRow>, AdminError> {
        need_role(ctx)?;
        let project = self.reachable_project(ctx, project).await?;
        let reach = self.reach(ctx, project.account).await?;
        let mut keys = self.store.list_keys(project.id).await?;
        if let Reach::Departments(_) = &reach {
            let members = self.store.list_members(project.account).await?;
            keys.retain(|key| members.iter().any(|m| m.id == key.member && reach.covers(m.department)));
        }
        Ok(keys)
    }

    /// Revokes a key: it is refused from the next request on.
    pub async fn revoke_key(&self, ctx: &AdminContext, id: KeyId) -> Result<(), AdminError> {
        need_role(ctx)?;
        let absent = || AdminError::NotFound("key");
        let key = self.store.find_key(id).await?.ok_or_else(absent)?;
        if ctx.account_of_caller().is_some_and(|own| own != key.account) {
            return Err(absent());
        }
        let reach = self.reach(ctx, key.account).await?;
        self.member_within(&reach, key.account, key.member).await.map_err(|_| absent())?;
        ctx.need_write()?;
        let audit = self.admin_audit(ctx, key.account, Some(key.project), "key.revoke", id);
        let was_alive = self.store.revoke_key(id, ctx.now, audit).await?;
        if was_alive { Ok(()) } else { Err(absent()) }
    }
}

/// Refuses plain members before anything is looked up, so that they learn nothing about what exists.
pub(super) fn need_role(ctx: &AdminContext) -> Result<(), AdminError> {
    match &ctx.authority {
        Authority::Member(credential) if credential.role == Role::Member => {
            Err(AdminError::Forbidden("this requires the key of a member with role admin or head"))
        }
        _ => Ok(()),
    }
}
