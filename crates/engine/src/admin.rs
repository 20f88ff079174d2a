//! Administration: what the operator, an account's admins and department heads may see and change, and what every
//! member may read.
//!
//! Who may call is decided here, once per act: the operator everything, an admin its own account, a head the members
//! and keys of its department. Every member reads what it sees in the project of its key, and what is in its own name.
//! Anything in another account behaves as if it did not exist.

mod accounts;
mod audit;
mod checks;
mod connections;
mod console_sessions;
mod context;
mod departments;
mod explaining;
mod exporting;
mod guarding;
mod history;
mod importing;
mod integrations;
mod keys;
mod links;
mod me;
mod members;
mod nodes;
mod overview;
mod projects;
mod record;
mod record_order;
mod records;
mod sessions;
mod several;
mod sorting;
mod source_states;
mod sources;
mod standing;
mod undoing;
mod usage;
mod waiting;
mod workspaces;

use std::sync::Arc;

use mnemon_core::{
    Access, AccountId, AuditId, CredentialHash, CredentialKind, DepartmentId, DepartmentTree, MemberId, Project,
    ProjectId, Role, Timestamp, Viewer, WorkspaceName, is_well_formed,
};
use mnemon_store::{Actor, AuditEntry, Credential, StoreError};

use crate::usage::Counted;
use crate::{CallContext, CallError, Engine, Identity, NotAuthenticated};

pub use audit::{AuditLine, AuditPage};
pub use context::{BUDGET_TOKENS_DEFAULT, ContextQuery, ShownContext};
pub use departments::NewDepartment;
pub use explaining::{ExplainQuery, Explained, ExplainedRecord};
pub use exporting::{Export, ExportPiece, ExportedSource};
pub use guarding::{Rejection, Release, ShownRejection};
pub use history::{Doer, Happening, What};
pub use importing::{Import, ImportItem, ImportOutcome, ImportedRecord, ImportedSource, Refusal};
pub use integrations::{IntegrationRequest, KeyMismatch, ShownIntegration, ShownTool, Tested};
pub use keys::{KeyEdit, MadeKey, NewKeyRequest, ShownKey};
pub use links::{FilledAccount, Invitation, LINK_HOURS_MAX, LINK_LIFE, LinkError, MadeLink, WaitingKey, link_life};
pub use me::Me;
pub use members::{MemberChange, MemberHoldings, NewMember, RemovedMember};
pub use nodes::ShownNode;
pub use overview::{OVERVIEW_DAYS, Overview, OverviewDay, User, Waits, Week};
pub use record::RecordDetail;
pub use record_order::RecordSort;
pub use records::{RecordPage, RecordQuery, ShownRecord};
pub use sessions::SessionPage;
pub use several::{SEVERAL_MAX, Several, SeveralAct};
pub use source_states::{SourceQuery, SourceShow, SourceSort, SourceStates};
pub use sources::{CheckedSource, SOURCES_MAX, SeenSource, SeenState, ShownSource, SourcePage};
pub use standing::{ProjectStanding, Standing, StatusCounts};
pub use undoing::ForgottenTogether;
pub use usage::{DayUsage, KeyUsage, UsageReport};
pub use waiting::Waiting;
pub use workspaces::ShownWorkspace;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AdminError {
    /// The caller may not do that, whatever it concerns.
    #[error("{0}")]
    Forbidden(&'static str),
    #[error("no such {0}")]
    NotFound(&'static str),
    /// The request is wrong; the text says what and how.
    #[error("{0}")]
    Invalid(String),
    /// It conflicts with the current state; the text says what to do first.
    #[error("{0}")]
    Conflict(String),
    /// What refuses a tool call refuses this too: a rate limit or the subscription.
    #[error("{0}")]
    Call(CallError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<CallError> for AdminError {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Store(error) => Self::Store(error),
            error => Self::Call(error),
        }
    }
}

const ADMINS_ONLY: AdminError = AdminError::Forbidden("this requires the key of a member with role admin");
const OPERATOR_ONLY: AdminError = AdminError::Forbidden("this requires the operator token");

/// The right by which somebody administers.
#[derive(Debug, Clone)]
enum Authority {
    Operator,
    Member(CallContext),
}

/// A caller of the admin API, and the time. Created only in [`Engine::authenticate_admin`].
#[derive(Debug, Clone)]
pub struct AdminContext {
    authority: Authority,
    now: Timestamp,
}

/// Which part of an account a caller may manage.
#[derive(Debug, Clone)]
enum Reach {
    Whole,
    /// The members of these departments.
    Departments(Vec<DepartmentId>),
}

impl Reach {
    fn covers(&self, department: Option<DepartmentId>) -> bool {
        match self {
            Self::Whole => true,
            Self::Departments(own) => department.is_some_and(|department| own.contains(&department)),
        }
    }
}

impl AdminContext {
    /// Whether this is the operator.
    pub fn is_operator(&self) -> bool {
        matches!(self.authority, Authority::Operator)
    }

    /// Whose the caller's key is; the operator has none.
    pub fn identity(&self) -> Option<Identity> {
        self.credential().map(|credential| Identity::of(credential))
    }

    /// A member whose credential was accepted a moment ago.
    pub(crate) const fn of_member(call: CallContext) -> Self {
        Self { now: call.now, authority: Authority::Member(call) }
    }

    /// The member as a caller of tools; the operator calls none.
    pub(crate) const fn call(&self) -> Option<&CallContext> {
        match &self.authority {
            Authority::Operator => None,
            Authority::Member(call) => Some(call),
        }
    }

    /// The member's credential; the operator has none.
    pub(crate) fn credential(&self) -> Option<&Arc<Credential>> {
        self.call().map(|call| &call.credential)
    }

    pub(crate) const fn now(&self) -> Timestamp {
        self.now
    }

    /// Whether the caller may see forgotten records and restore them.
    pub fn may_restore(&self) -> bool {
        self.not_admin().is_none()
    }

    /// The caller as a reader of records. The operator belongs to no account and sees what every key of a project sees.
    pub(crate) fn viewer(&self) -> Viewer {
        let nobody = || Viewer::without_departments(MemberId::from_bytes([0; 16]));
        self.credential().map_or_else(nobody, |credential| credential.viewer.clone())
    }

    fn need_operator(&self) -> Result<(), AdminError> {
        if self.is_operator() { Ok(()) } else { Err(OPERATOR_ONLY) }
    }

    /// A read-only key can only read, whatever its member's role.
    fn need_write(&self) -> Result<(), AdminError> {
        match self.credential() {
            Some(credential) if credential.access == Access::Read => {
                Err(AdminError::Forbidden("this key is read-only"))
            }
            _ => Ok(()),
        }
    }

    /// Allows the operator and the account's own admins. Another account is absent.
    fn need_admin(&self, account: AccountId) -> Result<(), AdminError> {
        match self.credential() {
            None => Ok(()),
            Some(credential) if credential.role != Role::Admin => Err(ADMINS_ONLY),
            Some(credential) if credential.account == account => Ok(()),
            Some(_) => Err(AdminError::NotFound("account")),
        }
    }

    fn member_of_caller(&self) -> Option<MemberId> {
        self.credential().map(|credential| credential.member)
    }

    /// The member if it has no administrative role: it reads only what is in its own name.
    fn plain_member(&self) -> Option<&Arc<Credential>> {
        self.credential().filter(|credential| credential.role == Role::Member)
    }

    /// The member if it is no admin.
    fn not_admin(&self) -> Option<&Arc<Credential>> {
        self.credential().filter(|credential| credential.role != Role::Admin)
    }

    fn account_of_caller(&self) -> Option<AccountId> {
        self.credential().map(|credential| credential.account)
    }

    /// The workspace that the caller's key was made with, where the key is of this project.
    fn workspace_in(&self, project: ProjectId) -> Option<WorkspaceName> {
        self.credential().filter(|credential| credential.project == project)?.workspace.clone()
    }
}

impl Engine {
    /// Authenticates a caller. Members without an administrative role get in too, and are refused act by act.
    pub async fn authenticate_admin(&self, token: &str) -> Result<AdminContext, NotAuthenticated> {
        if CredentialKind::of(token) == Some(CredentialKind::Operator) {
            return self.authenticate_operator(token).await;
        }
        let ctx = self.authenticate(token).await?;
        self.usage.count(&ctx, Counted::Administration);
        Ok(AdminContext::of_member(ctx))
    }

    async fn authenticate_operator(&self, token: &str) -> Result<AdminContext, NotAuthenticated> {
        let presented = CredentialHash::of(token);
        let operator = self.operator_by_hash(presented).await?;
        let is_accepted = self.operator_token == Some(presented) || is_well_formed(CredentialKind::Operator, token);
        if is_accepted { Ok(operator) } else { Err(NotAuthenticated::Rejected) }
    }

    /// The operator, by the hash of the token: the configured one or, without such, the one in the store.
    pub(crate) async fn operator_by_hash(&self, presented: CredentialHash) -> Result<AdminContext, NotAuthenticated> {
        let stored = self.store.find_operator_token().await?;
        if self.operator_token.or(stored) == Some(presented) {
            Ok(AdminContext { authority: Authority::Operator, now: self.clock.now() })
        } else {
            Err(NotAuthenticated::Rejected)
        }
    }

    /// Which part of an account the caller may manage, for acts that heads may do in their department.
    async fn reach(&self, ctx: &AdminContext, account: AccountId) -> Result<Reach, AdminError> {
        let Some(credential) = ctx.credential() else {
            self.find_account_or_absent(account).await?;
            return Ok(Reach::Whole);
        };
        if credential.role == Role::Member {
            return Err(AdminError::Forbidden("this requires the key of a member with role admin or head"));
        }
        if credential.account != account {
            return Err(AdminError::NotFound("account"));
        }
        match (credential.role, credential.department) {
            (Role::Admin, _) => Ok(Reach::Whole),
            (_, Some(department)) => {
                let tree = self.department_tree(account).await?;
                Ok(Reach::Departments(tree.below(department).into_iter().collect()))
            }
            (_, None) => Ok(Reach::Departments(Vec::new())),
        }
    }

    async fn department_tree(&self, account: AccountId) -> Result<DepartmentTree, AdminError> {
        let departments = self.store.list_departments(account).await?;
        Ok(DepartmentTree::new(departments.into_iter().map(|department| (department.id, department.parent))))
    }

    /// A project that the caller may administer; another account's is absent.
    async fn admin_project(&self, ctx: &AdminContext, id: ProjectId) -> Result<Project, AdminError> {
        if ctx.not_admin().is_some() {
            return Err(ADMINS_ONLY);
        }
        self.reachable_project(ctx, id).await
    }

    /// A project that the caller may read, as far as it sees what is in it: admins and the operator every one that they
    /// administer, others the project of their key.
    async fn readable_project(&self, ctx: &AdminContext, id: ProjectId) -> Result<Project, AdminError> {
        if ctx.not_admin().is_some_and(|credential| credential.project != id) {
            return Err(AdminError::NotFound("project"));
        }
        self.reachable_project(ctx, id).await
    }

    /// A project of the caller's account, or any project for the operator.
    async fn reachable_project(&self, ctx: &AdminContext, id: ProjectId) -> Result<Project, AdminError> {
        let project = self.store.find_project(id).await?;
        let is_own = |project: &Project| ctx.account_of_caller().is_none_or(|own| own == project.account);
        project.filter(is_own).ok_or(AdminError::NotFound("project"))
    }

    fn admin_audit(
        &self,
        ctx: &AdminContext,
        account: AccountId,
        project: Option<ProjectId>,
        action: &'static str,
        subject: impl ToString,
    ) -> AuditEntry {
        let actor = ctx.member_of_caller().map_or(Actor::Operator, Actor::Member);
        AuditEntry {
            id: AuditId::new(self.ids.uuid(ctx.now)),
            account,
            project,
            at: ctx.now,
            actor,
            action: action.into(),
            subject: subject.to_string(),
            actor_name: None,
            subject_name: None,
            key: ctx.credential().map(|credential| credential.key),
        }
    }
}
