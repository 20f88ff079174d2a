//! Members: an admin manages all of its account's, a head those of its department and below.

use mnemon_core::{AccountId, DepartmentId, Member, MemberId, Role, Timestamp};
use mnemon_store::{AuditEntry, MemberDeleted};

use super::{AdminContext, AdminError, Reach};
use crate::Engine;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewMember {
    pub name: String,
    pub role: Role,
    pub department: Option<DepartmentId>,
    pub access_until: Option<Timestamp>,
}

/// The changes; absent fields stay as they are.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MemberChange {
    pub name: Option<String>,
    pub role: Option<Role>,
    /// The department; `Some(None)` removes it.
    pub department: Option<Option<DepartmentId>>,
    /// The end of access; `Some(None)` removes it.
    pub access_until: Option<Option<Timestamp>>,
}

/// What deleting a member affected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RemovedMember {
    pub keys: u64,
    pub records: u64,
}

/// What a member has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MemberHoldings {
    /// Records in all projects that can still be read or restored. Drafts are the member's own affair.
    pub records: u64,
    /// Keys that are not revoked.
    pub keys: u64,
    /// Uploaded session histories.
    pub sessions: u64,
}

impl Engine {
    pub async fn create_member(
        &self,
        ctx: &AdminContext,
        account: AccountId,
        new: NewMember,
    ) -> Result<Member, AdminError> {
        let (_, member) = self.check_new_member(ctx, account, new).await?;
        let audit = self.audit_of_member(ctx, &member);
        self.store.insert_member(member.clone(), audit).await?;
        Ok(member)
    }

    pub(super) fn audit_of_member(&self, ctx: &AdminContext, member: &Member) -> AuditEntry {
        self.admin_audit(ctx, member.account, None, "member.create", member.id).about(&member.name)
    }

    /// A member that the caller may make.
    pub(super) async fn check_new_member(
        &self,
        ctx: &AdminContext,
        account: AccountId,
        new: NewMember,
    ) -> Result<(Reach, Member), AdminError> {
        let reach = self.reach(ctx, account).await?;
        ctx.need_write()?;
        self.check_department(&reach, account, new.department).await?;
        let member = Member {
            id: MemberId::new(self.ids.uuid(ctx.now)),
            account,
            department: new.department,
            name: self.check_name(ctx, "name", &new.name).await?,
            role: new.role,
            access_until: new.access_until,
            created_at: ctx.now,
        };
        check_within(&reach, &member)?;
        check_end(ctx, member.access_until)?;
        Ok((reach, member))
    }

    /// The members that the caller may manage, by name.
    pub async fn list_members(&self, ctx: &AdminContext, account: AccountId) -> Result<Vec<Member>, AdminError> {
        let reach = self.reach(ctx, account).await?;
        let mut members = self.store.list_members(account).await?;
        members.retain(|member| reach.covers(member.department));
        Ok(members)
    }

    pub async fn show_member(
        &self,
        ctx: &AdminContext,
        account: AccountId,
        id: MemberId,
    ) -> Result<Member, AdminError> {
        let reach = self.reach(ctx, account).await?;
        self.member_within(&reach, account, id).await
    }

    pub async fn change_member(
        &self,
        ctx: &AdminContext,
        account: AccountId,
        id: MemberId,
        change: MemberChange,
    ) -> Result<Member, AdminError> {
        let reach = self.reach(ctx, account).await?;
        ctx.need_write()?;
        let mut member = self.member_within(&reach, account, id).await?;
        check_within(&reach, &member)?;
        if let Some(name) = change.name {
            member.name = self.check_name(ctx, "name", &name).await?;
        }
        if change.role.is_some_and(|role| role != Role::Admin) {
            self.check_not_last_admin(&member).await?;
        }
        member.role = change.role.unwrap_or(member.role);
        if let Some(until) = change.access_until.filter(|until| *until != member.access_until) {
            check_end(ctx, until)?;
            member.access_until = until;
        }
        if let Some(department) = change.department {
            self.check_department(&reach, account, department).await?;
            member.department = department;
        }
        check_within(&reach, &member)?;
        let audit = self.admin_audit(ctx, account, None, "member.change", id).about(&member.name);
        let is_known = self.store.update_member(member.clone(), audit).await?;
        if is_known { Ok(member) } else { Err(AdminError::NotFound("member")) }
    }

    /// An account keeps an admin: without one, no member could make another.
    async fn check_not_last_admin(&self, member: &Member) -> Result<(), AdminError> {
        let members = self.store.list_members(member.account).await?;
        let is_other_admin = |other: &Member| other.role == Role::Admin && other.id != member.id;
        if member.role == Role::Admin && !members.iter().any(is_other_admin) {
            let text = "this is the account's last admin; make somebody else an admin first";
            return Err(AdminError::Conflict(text.to_owned()));
        }
        Ok(())
    }

    /// What a member has: what its leaving would hand over, revoke or delete.
    pub async fn show_holdings(
        &self,
        ctx: &AdminContext,
        account: AccountId,
        id: MemberId,
    ) -> Result<MemberHoldings, AdminError> {
        let reach = self.reach(ctx, account).await?;
        let member = self.member_within(&reach, account, id).await?;
        let mut all = MemberHoldings::default();
        for project in self.store.list_projects(account).await? {
            let own = self.store.count_holdings(project.id, member.id).await?;
            all.records += own.records - own.drafts;
            all.sessions += own.sessions;
        }
        let keys = self.store.list_member_keys(account, member.id).await?;
        all.keys = keys.iter().filter(|key| key.revoked_at.is_none()).count() as u64;
        Ok(all)
    }

    /// Deletes a member: its keys are revoked, and its records go to another member.
    pub async fn delete_member(
        &self,
        ctx: &AdminContext,
        account: AccountId,
        id: MemberId,
        hand_over_to: Option<MemberId>,
    ) -> Result<RemovedMember, AdminError> {
        let reach = self.reach(ctx, account).await?;
        ctx.need_write()?;
        let member = self.member_within(&reach, account, id).await?;
        check_within(&reach, &member)?;
        if let Some(heir) = hand_over_to {
            if heir == id {
                return Err(AdminError::Invalid("hand_over_to must name another member".to_owned()));
            }
            self.member_within(&reach, account, heir).await?;
        }
        self.check_not_last_admin(&member).await?;
        let audit = self.admin_audit(ctx, account, None, "member.delete", id).about(&member.name);
        match self.store.delete_member(account, id, hand_over_to, audit).await? {
            MemberDeleted::Done { keys, records } => Ok(RemovedMember { keys, records }),
            MemberDeleted::Absent => Err(AdminError::NotFound("member")),
            MemberDeleted::NeedsHeir { .. } => {
                let text = "the member has records; set hand_over_to to the member who takes them over";
                Err(AdminError::Conflict(text.to_owned()))
            }
        }
    }

    /// A department for a member. One that the caller may not manage is absent, like one that does not exist.
    async fn check_department(
        &self,
        reach: &Reach,
        account: AccountId,
        department: Option<DepartmentId>,
    ) -> Result<(), AdminError> {
        if department.is_some() && !reach.covers(department) {
            return Err(AdminError::NotFound("department"));
        }
        self.check_parent(account, department).await
    }

    pub(super) async fn member_within(
        &self,
        reach: &Reach,
        account: AccountId,
        id: MemberId,
    ) -> Result<Member, AdminError> {
        let members = self.store.list_members(account).await?;
        let member = members.into_iter().find(|member| member.id == id && reach.covers(member.department));
        member.ok_or(AdminError::NotFound("member"))
    }
}

/// No member acts on one of a higher role: on its keys, connections and sessions.
pub(super) fn check_rank(reach: &Reach, member: &Member) -> Result<(), AdminError> {
    let text = "a head may not act on an admin; ask an admin of the account";
    if outranks(reach, member) { Err(AdminError::Forbidden(text)) } else { Ok(()) }
}

pub(super) fn outranks(reach: &Reach, member: &Member) -> bool {
    matches!(reach, Reach::Departments(_)) && member.role == Role::Admin
}

/// No member lets access last longer than their own, for themselves or for others.
pub(super) fn check_end(ctx: &AdminContext, until: Option<Timestamp>) -> Result<(), AdminError> {
    let Some(own) = ctx.credential().and_then(|credential| credential.access_until) else { return Ok(()) };
    let text = "your own access ends, and nobody may let access last longer than their own; set an earlier end";
    if until.is_some_and(|until| until <= own) { Ok(()) } else { Err(AdminError::Forbidden(text)) }
}

/// A head may create and change only plain members of its own departments: no member may grant more than they have.
fn check_within(reach: &Reach, member: &Member) -> Result<(), AdminError> {
    let is_within = match reach {
        Reach::Whole => true,
        Reach::Departments(_) => member.role != Role::Admin && reach.covers(member.department),
    };
    let text = "a head may manage only members of its own department and below, and may not create admins";
    if is_within { Ok(()) } else { Err(AdminError::Forbidden(text)) }
}
