//! The first start on empty storage: there must be an account before anybody can call.

use mnemon_core::{
    Access, Account, AccountId, AuditId, CredentialHash, CredentialKind, KeyId, Member, MemberId, PlanName, Project,
    ProjectId, Role, Secret, Subscription, Timestamp, key_hint, make_token,
};
use mnemon_store::{Actor, AuditEntry, NewKey, StoreError};

use crate::Engine;

/// What was created. The key can't be shown again later.
#[derive(Debug)]
pub struct FirstStart {
    pub account: Account,
    pub project: Project,
    pub member: Member,
    pub key: Secret<String>,
}

impl Engine {
    /// Creates the operator token if there is none in the configuration or the store. It can't be shown again later.
    ///
    /// A configured one replaces the one that an earlier start created: that one is removed, so that it does not work
    /// again when the configuration changes once more.
    pub async fn first_operator_token(&self) -> Result<Option<Secret<String>>, StoreError> {
        if self.operator_token.is_some() {
            // Looking first lets a service start, and search, while nothing can be written.
            if self.store.find_operator_token().await?.is_some() && self.store.delete_operator_token().await? {
                tracing::info!("the configured operator token replaced the one that an earlier start created");
            }
            return Ok(None);
        }
        if self.store.find_operator_token().await?.is_some() {
            return Ok(None);
        }
        let token = make_token(CredentialKind::Operator, &self.ids.secret());
        let hash = CredentialHash::of(token.expose());
        let is_kept = self.store.insert_operator_token(hash, self.clock.now()).await?;
        Ok(is_kept.then_some(token))
    }

    /// Creates an account, a project, an admin and a key if there is no account yet.
    pub async fn first_start(&self) -> Result<Option<FirstStart>, StoreError> {
        if self.store.has_accounts().await? {
            return Ok(None);
        }
        let now = self.clock.now();
        let account = Account {
            id: AccountId::new(self.ids.uuid(now)),
            name: "Default account".to_owned(),
            subscription: Subscription { plan: Some(PlanName::Unlimited), ..Subscription::default() },
            created_at: now,
        };
        let (project, member) = self.first_project_and_admin(&account, now);
        let key = make_token(CredentialKind::ApiKey, &self.ids.secret());
        let new_key = NewKey {
            id: KeyId::new(self.ids.uuid(now)),
            hash: CredentialHash::of(key.expose()),
            project: project.id,
            member: member.id,
            access: Access::Write,
            label: Some("first key".to_owned()),
            expires_at: None,
            created_at: now,
            created_by: None,
            workspace: None,
            hint: Some(key_hint(key.expose())),
            link: None,
        };
        let audit = self.first_audit(&account, &project, &member, &new_key);
        let made = (account.clone(), project.clone(), member.clone());
        // Another node that starts on the same empty storage may have been faster.
        let is_made = self.store.insert_first(made.0, made.1, made.2, new_key, audit, true).await?;
        Ok(is_made.then_some(FirstStart { account, project, member, key }))
    }

    fn first_project_and_admin(&self, account: &Account, now: Timestamp) -> (Project, Member) {
        let project = Project {
            id: ProjectId::new(self.ids.uuid(now)),
            account: account.id,
            name: "default".to_owned(),
            created_at: now,
        };
        (project, self.first_admin(account.id, "admin".to_owned(), now))
    }

    /// The admin that an account begins with.
    pub(crate) fn first_admin(&self, account: AccountId, name: String, now: Timestamp) -> Member {
        Member {
            id: MemberId::new(self.ids.uuid(now)),
            account,
            department: None,
            name,
            role: Role::Admin,
            access_until: None,
            created_at: now,
        }
    }

    fn first_audit(&self, account: &Account, project: &Project, member: &Member, key: &NewKey) -> Vec<AuditEntry> {
        let entry = |action: &'static str, subject: String, project: Option<ProjectId>| AuditEntry {
            id: AuditId::new(self.ids.uuid(account.created_at)),
            account: account.id,
            project,
            at: account.created_at,
            actor: Actor::Service,
            action: action.into(),
            subject,
            actor_name: None,
            subject_name: None,
            key: None,
        };
        vec![
            entry("account.create", account.id.to_string(), None),
            entry("project.create", project.id.to_string(), Some(project.id)),
            entry("member.create", member.id.to_string(), None),
            entry("key.create", key.id.to_string(), Some(project.id)),
        ]
    }
}
