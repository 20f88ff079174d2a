//! Links that hand a key over: they show it once, on a page of our own, and expire. The key gets its secret when its
//! link is opened, so nothing that is stored, and nobody who made it, knows the key before its owner does.

use std::net::IpAddr;

use jiff::SignedDuration;
use mnemon_core::{
    Access, Account, AccountId, AuditId, CredentialHash, CredentialKind, KeyId, Member, PlanName, Project, ProjectId,
    Secret, SubscriptionState, Timestamp, is_well_formed, key_hint, make_token,
};
use mnemon_store::{Actor, AuditEntry, KeyRow, NewKey, NewLink, OpenedLink, StoreError};

use super::{AdminContext, AdminError, NewKeyRequest, NewMember};
use crate::{Engine, GuardMode};

/// How long a link can be opened, unless its maker says otherwise.
pub const LINK_LIFE: SignedDuration = SignedDuration::from_hours(72);
/// The longest that a link can be opened.
pub const LINK_HOURS_MAX: u16 = 30 * 24;

/// A key that waits for its owner. The end of its link can be seen only now.
#[derive(Debug)]
pub struct MadeLink {
    pub key: KeyId,
    pub code: Secret<String>,
    pub ends_at: Timestamp,
}

/// A member to make, and the key that a link hands over to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invitation {
    /// The id of its key, where the caller has to be sure that it is made once.
    pub key: Option<KeyId>,
    pub member: NewMember,
    pub project: ProjectId,
    pub access: Access,
    pub label: Option<String>,
    pub expires_at: Option<Timestamp>,
    pub link_life: SignedDuration,
}

/// An account to make, with its first project and its first admin, who gets a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilledAccount {
    /// The id of its key, where the caller has to be sure that it is made once.
    pub key: Option<KeyId>,
    pub name: String,
    pub plan: Option<PlanName>,
    pub paid_until: Option<Timestamp>,
    pub project: String,
    pub member: String,
    pub guard: Option<GuardMode>,
    pub link_life: SignedDuration,
}

/// What a link leads to, before it is opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingKey {
    pub key: KeyRow,
    pub member: Member,
    pub project: Project,
    pub account: Account,
}

/// Why a link shows nothing.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    #[error("no such link")]
    Unknown,
    #[error("too many wrong links from this address")]
    TooMany { retry_after_seconds: u64 },
    #[error("the link was opened before")]
    Opened { at: Timestamp },
    #[error("the link has ended")]
    Ended { at: Timestamp },
    #[error("the link was withdrawn")]
    Withdrawn,
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The life of a link in hours, as callers give it.
pub fn link_life(hours: Option<u16>) -> Result<SignedDuration, AdminError> {
    match hours {
        None => Ok(LINK_LIFE),
        Some(hours) if (1..=LINK_HOURS_MAX).contains(&hours) => Ok(SignedDuration::from_hours(i64::from(hours))),
        Some(_) => Err(AdminError::Invalid(format!("link_hours must be between 1 and {LINK_HOURS_MAX}"))),
    }
}

impl Engine {
    /// Makes a key that a link hands over.
    pub async fn create_link(
        &self,
        ctx: &AdminContext,
        project: ProjectId,
        request: NewKeyRequest,
        life: SignedDuration,
    ) -> Result<MadeLink, AdminError> {
        let (project, request) = self.check_new_key(ctx, project, request).await?;
        let (key, made) = self.with_link(self.key_without_secret(ctx, project.id, request), ctx, life);
        let audit = self.audit_of_key(ctx, project.account, &key);
        self.store.insert_key(key, audit).await?;
        Ok(made)
    }

    /// Makes a member and the link that hands its key over, both or neither.
    pub async fn invite_member(
        &self,
        ctx: &AdminContext,
        account: AccountId,
        invitation: Invitation,
    ) -> Result<(Member, MadeLink), AdminError> {
        let (reach, member) = self.check_new_member(ctx, account, invitation.member).await?;
        let project = self.reachable_project(ctx, invitation.project).await?;
        if project.account != account {
            return Err(AdminError::NotFound("project"));
        }
        let mut request = NewKeyRequest {
            id: self.unused(invitation.key).await?,
            member: member.id,
            access: invitation.access,
            label: invitation.label,
            expires_at: invitation.expires_at,
            workspace: None,
        };
        self.check_key_for(ctx, &reach, &project, &member, &mut request).await?;
        let (key, made) = self.with_link(self.key_without_secret(ctx, project.id, request), ctx, invitation.link_life);
        let audit = vec![self.audit_of_member(ctx, &member), self.audit_of_key(ctx, account, &key)];
        self.store.insert_member_with_key(member.clone(), key, audit).await?;
        Ok((member, made))
    }

    /// Makes an account that somebody can begin to work in (operator).
    pub async fn fill_account(
        &self,
        ctx: &AdminContext,
        filled: FilledAccount,
    ) -> Result<(Account, ProjectId, Member, MadeLink), AdminError> {
        let account = self.check_new_account(ctx, &filled.name, filled.plan, filled.paid_until).await?;
        let project = Project {
            id: ProjectId::new(self.ids.uuid(ctx.now)),
            account: account.id,
            name: self.check_name(ctx, "project", &filled.project).await?,
            created_at: ctx.now,
        };
        let member = self.first_admin(account.id, self.check_name(ctx, "member", &filled.member).await?, ctx.now);
        let request = NewKeyRequest {
            id: self.unused(filled.key).await?,
            member: member.id,
            access: Access::Write,
            label: Some("first key".to_owned()),
            expires_at: None,
            workspace: None,
        };
        let (key, made) = self.with_link(self.key_without_secret(ctx, project.id, request), ctx, filled.link_life);
        let audit = vec![
            self.admin_audit(ctx, account.id, None, "account.create", account.id).about(&account.name),
            self.admin_audit(ctx, account.id, Some(project.id), "project.create", project.id).about(&project.name),
            self.audit_of_member(ctx, &member),
            self.audit_of_key(ctx, account.id, &key),
        ];
        let (first, id) = (project.clone(), project.id);
        self.store.insert_first(account.clone(), first, member.clone(), key, audit, false).await?;
        if let Some(mode) = filled.guard {
            self.set_guard(ctx, account.id, mode).await?;
        }
        Ok((account, id, member, made))
    }

    fn with_link(&self, key: NewKey, ctx: &AdminContext, life: SignedDuration) -> (NewKey, MadeLink) {
        let code = make_token(CredentialKind::Link, &self.ids.secret());
        let link = NewLink { hash: CredentialHash::of(code.expose()), ends_at: ctx.now + life };
        let made = MadeLink { key: key.id, code, ends_at: link.ends_at };
        (NewKey { link: Some(link), ..key }, made)
    }

    /// What a link leads to, if it can be opened now. Wrong ones are counted as wrong keys are.
    pub async fn find_link(&self, code: &str, caller: IpAddr) -> Result<WaitingKey, LinkError> {
        let now = self.clock.now();
        let hash = CredentialHash::of(code);
        let key = match is_well_formed(CredentialKind::Link, code) {
            true => self.store.find_key_by_link(&hash).await?,
            false => None,
        };
        let Some((key, link)) = key.and_then(|key| key.link.map(|link| (key, link))) else {
            return Err(match self.count_wrong_key(caller) {
                Ok(()) => LinkError::Unknown,
                Err(retry_after_seconds) => LinkError::TooMany { retry_after_seconds },
            });
        };
        if let Some(at) = link.opened_at {
            return Err(LinkError::Opened { at });
        }
        if key.revoked_at.is_some() {
            return Err(LinkError::Withdrawn);
        }
        let end = [Some(link.ends_at), key.expires_at].into_iter().flatten().min();
        if let Some(at) = end.filter(|end| *end <= now) {
            return Err(LinkError::Ended { at });
        }
        let account = self.store.find_account(key.account).await?;
        let project = self.store.find_project(key.project).await?;
        let members = self.store.list_members(key.account).await?;
        let has_access = |member: &Member| member.access_until.is_none_or(|end| now < end);
        let member = members.into_iter().find(|member| member.id == key.member).filter(has_access);
        match (account, project, member) {
            (Some(account), Some(project), Some(member))
                if account.subscription.state(now) != SubscriptionState::SuspendedByOperator =>
            {
                Ok(WaitingKey { key, member, project, account })
            }
            _ => Err(LinkError::Withdrawn),
        }
    }

    /// Opens a link: its key gets its secret now, and only this answer shows it.
    pub async fn open_link(&self, code: &str, caller: IpAddr) -> Result<(WaitingKey, Secret<String>), LinkError> {
        let waiting = self.find_link(code, caller).await?;
        let (now, secret) = (self.clock.now(), make_token(CredentialKind::ApiKey, &self.ids.secret()));
        let key = &waiting.key;
        let opened = OpenedLink {
            key: key.id,
            account: key.account,
            hash: CredentialHash::of(secret.expose()),
            hint: key_hint(secret.expose()),
            at: now,
        };
        let audit = AuditEntry {
            id: AuditId::new(self.ids.uuid(now)),
            account: key.account,
            project: Some(key.project),
            at: now,
            actor: Actor::Member(key.member),
            action: "key.open".into(),
            subject: key.id.to_string(),
            actor_name: None,
            subject_name: key.label.clone(),
            key: Some(key.id),
        };
        if self.store.open_link(opened, audit).await? {
            return Ok((waiting, secret));
        }
        // Somebody else was faster, or it was withdrawn in between: now it says which.
        self.find_link(code, caller).await.and(Err(LinkError::Withdrawn))
    }
}
