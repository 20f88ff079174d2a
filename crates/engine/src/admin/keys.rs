//! Keys: created, listed without their secret, changed, revoked. To rotate a key, create a second one and revoke the
//! first.

use std::collections::{BTreeSet, HashMap};

use mnemon_core::{
    Access, AccountId, CredentialHash, CredentialKind, KeyId, Member, MemberId, Project, ProjectId, Secret, Timestamp,
    WorkspaceName, key_hint, make_token,
};
use mnemon_store::{AuditEntry, Credential, KeyChange, KeyRow, NewKey};

use super::members::{check_end, check_rank};
use super::{AdminContext, AdminError, Reach};
use crate::Engine;
use crate::seen::Due;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewKeyRequest {
    /// The id it gets, where the caller has to be sure that it is made once.
    pub id: Option<KeyId>,
    pub member: MemberId,
    pub access: Access,
    pub label: Option<String>,
    pub expires_at: Option<Timestamp>,
    /// Default workspace for calls with the key that do not name one.
    pub workspace: Option<WorkspaceName>,
}

/// A new key; its secret can be seen only now.
#[derive(Debug)]
pub struct MadeKey {
    pub id: KeyId,
    pub key: Secret<String>,
}

/// The changes of a key; absent fields stay as they are, and `Some(None)` takes something away.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KeyEdit {
    pub label: Option<Option<String>>,
    pub access: Option<Access>,
    pub expires_at: Option<Option<Timestamp>>,
    pub workspace: Option<Option<WorkspaceName>>,
}

/// A key in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownKey {
    pub key: KeyRow,
    /// How many live OAuth connections use it.
    pub connections: u64,
    /// The name of the member who made it, where it was a member who is still there. Only for the caller's own keys.
    pub made_by: Option<String>,
}

impl Engine {
    pub async fn create_key(
        &self,
        ctx: &AdminContext,
        project: ProjectId,
        request: NewKeyRequest,
    ) -> Result<MadeKey, AdminError> {
        let (project, request) = self.check_new_key(ctx, project, request).await?;
        let key = make_token(CredentialKind::ApiKey, &self.ids.secret());
        let new = NewKey {
            hash: CredentialHash::of(key.expose()),
            hint: Some(key_hint(key.expose())),
            ..self.key_without_secret(ctx, project.id, request)
        };
        let id = new.id;
        let audit = self.audit_of_key(ctx, project.account, &new);
        self.store.insert_key(new, audit).await?;
        Ok(MadeKey { id, key })
    }

    /// The project and the request, with its label as it is stored, if the caller may make this key.
    pub(super) async fn check_new_key(
        &self,
        ctx: &AdminContext,
        project: ProjectId,
        mut request: NewKeyRequest,
    ) -> Result<(Project, NewKeyRequest), AdminError> {
        need_role(ctx)?;
        let project = self.reachable_project(ctx, project).await?;
        let reach = self.reach(ctx, project.account).await?;
        ctx.need_write()?;
        let member = self.member_within(&reach, project.account, request.member).await?;
        self.check_key_for(ctx, &reach, &project, &member, &mut request).await?;
        request.id = self.unused(request.id).await?;
        Ok((project, request))
    }

    /// The id of a key that a form will make, if the form was not sent before.
    pub async fn check_unused(&self, id: KeyId) -> Result<KeyId, AdminError> {
        self.unused(Some(id)).await.map(|_| id)
    }

    /// The id of a key to make, if none has it.
    pub(super) async fn unused(&self, id: Option<KeyId>) -> Result<Option<KeyId>, AdminError> {
        if let Some(id) = id
            && self.store.find_key(id).await?.is_some()
        {
            let text = "this form was sent before, and the key that it made was shown then; make another if it is lost";
            return Err(AdminError::Conflict(text.to_owned()));
        }
        Ok(id)
    }

    /// Checks a key for a member who is there, or is about to be.
    pub(super) async fn check_key_for(
        &self,
        ctx: &AdminContext,
        reach: &Reach,
        project: &Project,
        member: &Member,
        request: &mut NewKeyRequest,
    ) -> Result<(), AdminError> {
        check_rank(reach, member)?;
        check_end(ctx, [request.expires_at, member.access_until].into_iter().flatten().min())?;
        if let (Reach::Departments(_), Some(head)) = (reach, ctx.credential())
            && !self.has_key_of(head, project.id, ctx.now).await?
        {
            return Err(AdminError::Forbidden("a head may make keys only for projects that it has a key of itself"));
        }
        request.label = self.check_label(ctx, request.label.as_deref()).await?;
        self.check_default_workspace(ctx, request.workspace.as_ref()).await
    }

    async fn check_label(&self, ctx: &AdminContext, label: Option<&str>) -> Result<Option<String>, AdminError> {
        match label {
            Some(label) => Ok(Some(self.check_name(ctx, "label", label).await?)),
            None => Ok(None),
        }
    }

    async fn check_default_workspace(
        &self,
        ctx: &AdminContext,
        workspace: Option<&WorkspaceName>,
    ) -> Result<(), AdminError> {
        match workspace {
            Some(workspace) => self.check_name(ctx, "workspace", workspace.as_str()).await.map(|_| ()),
            None => Ok(()),
        }
    }

    /// A key that nobody has the secret of yet.
    pub(super) fn key_without_secret(&self, ctx: &AdminContext, project: ProjectId, request: NewKeyRequest) -> NewKey {
        NewKey {
            id: request.id.unwrap_or_else(|| KeyId::new(self.ids.uuid(ctx.now))),
            hash: CredentialHash::from_bytes(self.ids.secret()),
            project,
            member: request.member,
            access: request.access,
            label: request.label,
            expires_at: request.expires_at,
            created_at: ctx.now,
            created_by: ctx.member_of_caller(),
            workspace: request.workspace,
            hint: None,
            link: None,
        }
    }

    pub(super) fn audit_of_key(&self, ctx: &AdminContext, account: AccountId, key: &NewKey) -> AuditEntry {
        let label = key.label.as_deref().unwrap_or_default();
        self.admin_audit(ctx, account, Some(key.project), "key.create", key.id).about(label)
    }

    /// Changes a key: its secret stays, and the change holds from the next request on.
    pub async fn change_key(&self, ctx: &AdminContext, id: KeyId, change: KeyEdit) -> Result<ShownKey, AdminError> {
        let (key, member) = self.key_within(ctx, id).await?;
        if key.revoked_at.is_some() {
            return Err(AdminError::Conflict("the key is revoked; make another".to_owned()));
        }
        let label = match change.label {
            Some(label) => self.check_label(ctx, label.as_deref()).await?,
            None => key.label,
        };
        let workspace = change.workspace.unwrap_or(key.workspace);
        self.check_default_workspace(ctx, workspace.as_ref()).await?;
        let expires_at = change.expires_at.unwrap_or(key.expires_at);
        if expires_at != key.expires_at {
            check_end(ctx, [expires_at, member.access_until].into_iter().flatten().min())?;
        }
        let access = change.access.unwrap_or(key.access);
        let changed = KeyChange { id, account: key.account, label, access, expires_at, workspace };
        let audit = self
            .admin_audit(ctx, key.account, Some(key.project), "key.change", id)
            .about(changed.label.as_deref().unwrap_or_default());
        if !self.store.update_key(changed, audit).await? {
            return Err(AdminError::NotFound("key"));
        }
        let key = self.store.find_key(id).await?.ok_or(AdminError::NotFound("key"))?;
        let mut shown = self.show_keys(vec![key], ctx.now).await?;
        shown.pop().ok_or(AdminError::NotFound("key"))
    }

    /// A key and its member, if the caller may change it. What the caller may not know is absent.
    async fn key_within(&self, ctx: &AdminContext, id: KeyId) -> Result<(KeyRow, Member), AdminError> {
        need_role(ctx)?;
        let absent = || AdminError::NotFound("key");
        let key = self.store.find_key(id).await?.ok_or_else(absent)?;
        if ctx.account_of_caller().is_some_and(|own| own != key.account) {
            return Err(absent());
        }
        let reach = self.reach(ctx, key.account).await?;
        let member = self.member_within(&reach, key.account, key.member).await.map_err(|_| absent())?;
        ctx.need_write()?;
        check_rank(&reach, &member)?;
        Ok((key, member))
    }

    /// The keys of a project that the caller may manage, oldest first. A plain member sees its own.
    pub async fn list_keys(&self, ctx: &AdminContext, project: ProjectId) -> Result<Vec<ShownKey>, AdminError> {
        let keys = self.keys_of(ctx, project).await?;
        self.show_keys(keys, ctx.now).await
    }

    async fn keys_of(&self, ctx: &AdminContext, project: ProjectId) -> Result<Vec<KeyRow>, AdminError> {
        self.flush_seen(Due::Of(project)).await?;
        if let Some(caller) = ctx.plain_member() {
            let project = self.readable_project(ctx, project).await?;
            let mut keys = self.store.list_keys(project.id).await?;
            keys.retain(|key| key.member == caller.member);
            return Ok(keys);
        }
        let project = self.reachable_project(ctx, project).await?;
        let reach = self.reach(ctx, project.account).await?;
        let mut keys = self.store.list_keys(project.id).await?;
        if let Reach::Departments(_) = &reach {
            let members = self.store.list_members(project.account).await?;
            keys.retain(|key| members.iter().any(|m| m.id == key.member && reach.covers(m.department)));
        }
        Ok(keys)
    }

    /// Every key in the caller's own name, of all projects, oldest first, with who made each. The operator has none.
    pub async fn list_own_keys(&self, ctx: &AdminContext) -> Result<Vec<ShownKey>, AdminError> {
        let Some(caller) = ctx.credential() else { return Ok(Vec::new()) };
        let known = self.store.list_member_keys(caller.account, caller.member).await?;
        for project in known.iter().map(|key| key.project).collect::<BTreeSet<_>>() {
            self.flush_seen(Due::Of(project)).await?;
        }
        let keys = self.store.list_member_keys(caller.account, caller.member).await?;
        let members = self.store.list_members(caller.account).await?;
        let name_of = |id: MemberId| members.iter().find(|member| member.id == id).map(|member| member.name.clone());
        let shown = self.show_keys(keys, ctx.now).await?.into_iter();
        Ok(shown.map(|shown| ShownKey { made_by: shown.key.created_by.and_then(name_of), ..shown }).collect())
    }

    /// Counts the living connections of keys.
    async fn show_keys(&self, keys: Vec<KeyRow>, now: Timestamp) -> Result<Vec<ShownKey>, AdminError> {
        let projects: BTreeSet<ProjectId> = keys.iter().map(|key| key.project).collect();
        let mut counts: HashMap<KeyId, u64> = HashMap::new();
        for project in projects {
            let connections = self.store.list_connections(project).await?;
            for row in connections.iter().filter(|row| row.revoked_at.is_none() && now < row.expires_at) {
                *counts.entry(row.key).or_default() += 1;
            }
        }
        let shown = |key: KeyRow| ShownKey { connections: counts.remove(&key.id).unwrap_or(0), key, made_by: None };
        Ok(keys.into_iter().map(shown).collect())
    }

    /// Does the member have a key of the project that works now?
    async fn has_key_of(&self, member: &Credential, project: ProjectId, now: Timestamp) -> Result<bool, AdminError> {
        if member.project == project {
            return Ok(true);
        }
        let keys = self.store.list_member_keys(member.account, member.member).await?;
        let works = |key: &KeyRow| key.revoked_at.is_none() && key.expires_at.is_none_or(|end| now < end);
        Ok(keys.iter().any(|key| key.project == project && works(key)))
    }

    /// Revokes a key: it is refused from the next request on.
    pub async fn revoke_key(&self, ctx: &AdminContext, id: KeyId) -> Result<(), AdminError> {
        let (key, _) = self.key_within(ctx, id).await?;
        let audit = self
            .admin_audit(ctx, key.account, Some(key.project), "key.revoke", id)
            .about(key.label.as_deref().unwrap_or_default());
        let was_alive = self.store.revoke_key(id, ctx.now, audit).await?;
        if was_alive { Ok(()) } else { Err(AdminError::NotFound("key")) }
    }
}

/// Refuses plain members before anything is looked up, so that they learn nothing about what exists.
pub(super) fn need_role(ctx: &AdminContext) -> Result<(), AdminError> {
    match ctx.plain_member() {
        Some(_) => Err(AdminError::Forbidden("this requires the key of a member with role admin or head")),
        None => Ok(()),
    }
}
