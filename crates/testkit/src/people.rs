//! Builds organizations for tests.

use mnemon_core::{
    Access, Account, AccountId, AuditId, Clock, CredentialHash, CredentialKind, Department, DepartmentId, IdSource,
    KeyId, Member, MemberId, PlanName, Project, ProjectId, Role, Subscription, Timestamp, WorkspaceName, make_token,
};
use mnemon_store::{Actor, AuditEntry, NewKey};

use crate::{Caller, TestServer};

/// An account with one project, to be filled with people.
#[derive(Debug, Clone)]
pub struct Organization {
    pub account: AccountId,
    pub project: ProjectId,
}

/// A member and its key.
#[derive(Debug, Clone)]
pub struct MemberSpec {
    pub name: &'static str,
    pub role: Role,
    pub department: Option<DepartmentId>,
    pub access_until: Option<Timestamp>,
    pub access: Access,
    pub expires_at: Option<Timestamp>,
}

impl Default for MemberSpec {
    fn default() -> Self {
        Self {
            name: "somebody",
            role: Role::Member,
            department: None,
            access_until: None,
            access: Access::Write,
            expires_at: None,
        }
    }
}

impl TestServer {
    /// An account without limits, and its project.
    pub async fn organization(&self) -> Organization {
        self.organization_on(Subscription { plan: Some(PlanName::Unlimited), ..Subscription::default() }).await
    }

    /// An account with this subscription, and its project.
    pub async fn organization_on(&self, subscription: Subscription) -> Organization {
        let now = self.clock.now();
        let account = AccountId::new(self.ids.uuid(now));
        let value = Account { id: account, name: "Test account".to_owned(), subscription, created_at: now };
        let audit = self.audit(account, "account.create");
        self.store.insert_account(value, audit).await.expect("an account can be made");
        let project = self.project(account).await;
        Organization { account, project }
    }

    pub async fn project(&self, account: AccountId) -> ProjectId {
        let now = self.clock.now();
        let id = ProjectId::new(self.ids.uuid(now));
        let project = Project { id, account, name: "Test project".to_owned(), created_at: now };
        self.store.insert_project(project, self.audit(account, "project.create")).await.expect("a project can be made");
        id
    }

    /// A department below another, or at the top level.
    pub async fn department(&self, account: AccountId, name: &str, parent: Option<DepartmentId>) -> DepartmentId {
        let id = DepartmentId::new(self.ids.uuid(self.clock.now()));
        let department = Department { id, account, parent, name: name.to_owned() };
        let audit = self.audit(account, "department.create");
        self.store.insert_department(department, audit).await.expect("a department can be made");
        id
    }

    /// A member of the organization, calling with its own key.
    pub async fn member(&self, organization: &Organization, spec: MemberSpec) -> Caller {
        let (access, expires_at) = (spec.access, spec.expires_at);
        let id = self.new_member(organization, spec).await;
        self.key(organization, id, access, expires_at).await.1
    }

    /// A member of the organization, without a key yet.
    pub async fn new_member(&self, organization: &Organization, spec: MemberSpec) -> MemberId {
        let now = self.clock.now();
        let id = MemberId::new(self.ids.uuid(now));
        let member = Member {
            id,
            account: organization.account,
            department: spec.department,
            name: spec.name.to_owned(),
            role: spec.role,
            access_until: spec.access_until,
            created_at: now,
        };
        let audit = self.audit(organization.account, "member.create");
        self.store.insert_member(member, audit).await.expect("a member can be made");
        id
    }

    pub async fn key(
        &self,
        organization: &Organization,
        member: MemberId,
        access: Access,
        expires_at: Option<Timestamp>,
    ) -> (KeyId, Caller) {
        let now = self.clock.now();
        let token = make_token(CredentialKind::ApiKey, &self.ids.secret());
        let id = KeyId::new(self.ids.uuid(now));
        let key = NewKey {
            id,
            hash: CredentialHash::of(token.expose()),
            project: organization.project,
            member,
            access,
            label: None,
            expires_at,
            created_at: now,
            created_by: None,
            workspace: None,
            hint: None,
            link: None,
        };
        self.store.insert_key(key, self.audit(organization.account, "key.create")).await.expect("a key can be made");
        (id, self.caller(token.expose()))
    }

    /// A caller with its own account and project.
    pub async fn new_user(&self) -> Caller {
        let organization = self.organization().await;
        self.member(&organization, MemberSpec::default()).await
    }

    /// Changes what is stored of a subscription.
    pub async fn subscribe(&self, organization: &Organization, subscription: Subscription) {
        let audit = self.audit(organization.account, "subscription.change");
        let is_known = self.store.update_subscription(organization.account, subscription, audit).await;
        assert!(is_known.expect("a subscription can be changed"), "the account is there");
    }

    pub async fn revoke(&self, organization: &Organization, key: KeyId) {
        let audit = self.audit(organization.account, "key.revoke");
        let is_revoked = self.store.revoke_key(key, self.clock.now(), audit).await.expect("a key can be revoked");
        assert!(is_revoked, "the key was alive");
    }

    /// Deletes a workspace, as an admin would. Returns how many records it contained.
    pub async fn delete_workspace(&self, organization: &Organization, name: &str) -> Option<u64> {
        let name = WorkspaceName::parse(name).expect("a test's workspace name");
        let audit = self.audit(organization.account, "workspace.delete");
        self.store.delete_workspace(organization.project, &name, audit).await.expect("a workspace can be deleted")
    }

    /// The end of the log of an organization's project: equal numbers mean that nothing was written.
    pub async fn log_position(&self, organization: &Organization) -> u64 {
        self.store.last_seq(organization.project).await.expect("the log can be read").map_or(0, |seq| seq.0)
    }

    /// The audit log of an organization, newest first, as (action, subject, affected).
    pub async fn audit_log(&self, organization: &Organization) -> Vec<(String, String, u64)> {
        let rows = self.store.list_audit(organization.account, 1_000).await.expect("the audit log can be read");
        rows.into_iter().map(|(entry, count)| (entry.action.into_owned(), entry.subject, count)).collect()
    }

    fn audit(&self, account: AccountId, action: &'static str) -> AuditEntry {
        let now = self.clock.now();
        AuditEntry {
            id: AuditId::new(self.ids.uuid(now)),
            account,
            project: None,
            at: now,
            actor: Actor::Operator,
            action: action.into(),
            subject: account.to_string(),
            actor_name: None,
            subject_name: None,
            key: None,
        }
    }
}
