//! People and what they own: accounts, projects, departments and members.

use async_trait::async_trait;
use mnemon_core::{
    Account, AccountId, Audience, Department, DepartmentId, Member, MemberId, PlanName, Project, ProjectId, Role,
    Subscription,
};
use uuid::Uuid;

use super::credentials::{insert_key, no_such_member};
use super::{AuditEntry, NewKey};
use crate::StoreError;
use crate::rows::{Cells, Row};
use crate::statement::{Change, Sql, Statement, Touches, statement};
use crate::tenant::Tenant;

#[async_trait]
pub trait People: Sql {
    /// Whether there is any account yet.
    async fn has_accounts(&self) -> Result<bool, StoreError> {
        const SELECT: &str = "SELECT 1 FROM account LIMIT 1";
        Ok(self.select_one(Tenant::for_upkeep(), statement!(SELECT)).await?.is_some())
    }

    /// Creates an account, its first project, its first member and that member's key, all or nothing. With
    /// `only_first`, it creates them only if there is no account yet, and returns whether it did: of several nodes that
    /// start together on an empty database, one does.
    async fn insert_first(
        &self,
        account: Account,
        project: Project,
        member: Member,
        key: NewKey,
        audit: Vec<AuditEntry>,
        only_first: bool,
    ) -> Result<bool, StoreError> {
        if (key.project, key.member) != (project.id, member.id) {
            return Err(no_such_member(&key));
        }
        let then = vec![insert_project(&project), insert_member(&member), insert_key(&key)];
        let touches = if only_first { Touches::FirstAccount } else { Touches::People };
        let first = Change::new(Tenant::new_account(account.id), vec![insert_account(&account, only_first)]);
        Ok(self.change(Change { then, audit, touches, ..first }).await? > 0)
    }

    async fn insert_account(&self, account: Account, audit: AuditEntry) -> Result<(), StoreError> {
        let insert = insert_account(&account, false);
        self.change(Change::of(Tenant::account(account.id), Touches::People, insert, audit)).await.map(|_| ())
    }

    /// Changes an account's subscription.
    async fn update_subscription(
        &self,
        account: AccountId,
        subscription: Subscription,
        audit: AuditEntry,
    ) -> Result<bool, StoreError> {
        const UPDATE: &str = "
            UPDATE account
            SET plan = $2, paid_until = $3, is_suspended = $4
            WHERE id = $1
            RETURNING 1";
        let Subscription { plan, paid_until, is_suspended } = subscription;
        let update = statement!(UPDATE, account, plan.map(|plan| plan.as_str()), paid_until, is_suspended);
        Ok(self.change(Change::of(Tenant::account(account), Touches::People, update, audit)).await? > 0)
    }

    /// Accounts by id, after the given one.
    async fn list_accounts(&self, after: Option<AccountId>, rows_max: usize) -> Result<Vec<Account>, StoreError> {
        const SELECT: &str = "
            SELECT id, plan, paid_until, is_suspended, created_at, name
            FROM account
            WHERE id > $1
            ORDER BY id
            LIMIT $2";
        let after = after.map_or(Uuid::nil(), AccountId::uuid);
        let rows = self.select(Tenant::for_upkeep(), statement!(SELECT, after, rows_max)).await?;
        rows.iter().map(read_account).collect()
    }

    async fn find_account(&self, id: AccountId) -> Result<Option<Account>, StoreError> {
        const SELECT: &str = "SELECT id, plan, paid_until, is_suspended, created_at, name FROM account WHERE id = $1";
        self.select_one(Tenant::account(id), statement!(SELECT, id)).await?.as_ref().map(read_account).transpose()
    }

    async fn insert_project(&self, project: Project, audit: AuditEntry) -> Result<(), StoreError> {
        let tenant = Tenant::account(project.account);
        self.change(Change::of(tenant, Touches::People, insert_project(&project), audit)).await.map(|_| ())
    }

    /// The live projects of an account, oldest first.
    async fn list_projects(&self, account: AccountId) -> Result<Vec<Project>, StoreError> {
        let rows = self.select(Tenant::account(account), statement!(LIST_PROJECTS, account)).await?;
        rows.iter().map(read_project).collect()
    }

    async fn find_project(&self, id: ProjectId) -> Result<Option<Project>, StoreError> {
        let row = self.select_one(Tenant::project(id), statement!(FIND_PROJECT, id)).await?;
        row.as_ref().map(read_project).transpose()
    }

    /// Deletes a project: its keys are refused, and no reader sees its records. `false` if absent.
    async fn delete_project(&self, account: AccountId, id: ProjectId, audit: AuditEntry) -> Result<bool, StoreError>;

    async fn insert_department(&self, department: Department, audit: AuditEntry) -> Result<(), StoreError> {
        const INSERT: &str =
            "INSERT INTO department (account_id, id, parent_id, name) VALUES ($1, $2, $3, $4) RETURNING 1";
        let Department { id, account, parent, name } = department;
        let insert = statement!(INSERT, account, id, parent, name);
        self.change(Change::of(Tenant::account(account), Touches::People, insert, audit)).await.map(|_| ())
    }

    /// The departments of an account, by name.
    async fn list_departments(&self, account: AccountId) -> Result<Vec<Department>, StoreError> {
        const SELECT: &str = "SELECT id, parent_id, name FROM department WHERE account_id = $1 ORDER BY name, id";
        let rows = self.select(Tenant::account(account), statement!(SELECT, account)).await?;
        rows.iter().map(|row| read_department(row, account)).collect()
    }

    /// Changes a department's name and parent. `false` if absent. The caller has made sure that there is no cycle.
    async fn update_department(&self, department: Department, audit: AuditEntry) -> Result<bool, StoreError> {
        const UPDATE: &str = "
            UPDATE department
            SET parent_id = $3, name = $4
            WHERE account_id = $1 AND id = $2
            RETURNING 1";
        let Department { id, account, parent, name } = department;
        let update = statement!(UPDATE, account, id, parent, name);
        Ok(self.change(Change::of(Tenant::account(account), Touches::Shown, update, audit)).await? > 0)
    }

    /// Deletes a department that nothing refers to: no member, no sub-department, no record.
    async fn delete_department(
        &self,
        account: AccountId,
        id: DepartmentId,
        audit: AuditEntry,
    ) -> Result<DepartmentDeleted, StoreError>;

    /// How many projects an account has, and how many records live in them.
    async fn count_projects(&self, account: AccountId) -> Result<(u64, u64), StoreError> {
        const SELECT: &str = "
            SELECT COUNT(*), CAST(COALESCE(SUM(live_records), 0) AS BIGINT)
            FROM project
            WHERE account_id = $1 AND deleted_at IS NULL";
        let row = self.select_one(Tenant::account(account), statement!(SELECT, account)).await?;
        row.map_or(Ok((0, 0)), |row| read_project_count(&row, account))
    }

    async fn insert_member(&self, member: Member, audit: AuditEntry) -> Result<(), StoreError> {
        let tenant = Tenant::account(member.account);
        self.change(Change::of(tenant, Touches::People, insert_member(&member), audit)).await.map(|_| ())
    }

    /// Creates a member and a key of its, all or nothing.
    async fn insert_member_with_key(
        &self,
        member: Member,
        key: NewKey,
        audit: Vec<AuditEntry>,
    ) -> Result<(), StoreError> {
        const INSERT: &str = "
            INSERT INTO member (account_id, id, department_id, role, access_until, created_at, name)
            SELECT p.account_id, $2, $3, $4, $5, $6, $7
            FROM project p
            WHERE p.id = $8 AND p.account_id = $1 AND p.deleted_at IS NULL
            RETURNING 1";
        if key.member != member.id {
            return Err(no_such_member(&key));
        }
        let Member { id, account, department, name, role, access_until, created_at } = member;
        let insert =
            statement!(INSERT, account, id, department, role.as_str(), access_until, created_at, name, key.project);
        let (then, touches) = (vec![insert_key(&key)], Touches::People);
        match self
            .change(Change { then, audit, touches, ..Change::new(Tenant::account(account), vec![insert]) })
            .await?
        {
            0 => Err(no_such_member(&key)),
            _ => Ok(()),
        }
    }

    /// The members of an account, by name.
    async fn list_members(&self, account: AccountId) -> Result<Vec<Member>, StoreError> {
        const SELECT: &str = "
            SELECT id, department_id, role, access_until, created_at, name
            FROM member
            WHERE account_id = $1
            ORDER BY name, id";
        let rows = self.select(Tenant::account(account), statement!(SELECT, account)).await?;
        rows.iter().map(|row| read_member(row, account)).collect()
    }

    /// Changes a member's name, role, department and end of access. `false` if absent.
    async fn update_member(&self, member: Member, audit: AuditEntry) -> Result<bool, StoreError> {
        const UPDATE: &str = "
            UPDATE member
            SET department_id = $3, role = $4, access_until = $5, name = $6
            WHERE account_id = $1 AND id = $2
            RETURNING 1";
        let Member { id, account, department, name, role, access_until, created_at: _ } = member;
        let update = statement!(UPDATE, account, id, department, role.as_str(), access_until, name);
        Ok(self.change(Change::of(Tenant::account(account), Touches::Shown, update, audit)).await? > 0)
    }

    /// What a member has in a project: what removing it would hand over or delete. Scans the project.
    async fn count_holdings(&self, project: ProjectId, member: MemberId) -> Result<Holdings, StoreError> {
        const SELECT: &str = "
            SELECT COUNT(*), COUNT(*) FILTER (WHERE r.audience = $3),
                (SELECT COUNT(*) FROM session s WHERE s.project_id = $1 AND s.member_id = $2)
            FROM record r
            WHERE r.project_id = $1 AND (r.author_id = $2 OR r.audience = $3)";
        let draft = Audience::Author(member);
        let rows = self.select(Tenant::project(project), statement!(SELECT, project, member, draft)).await?;
        rows.first().map_or(Ok(Holdings::default()), |row| read_holdings(row, project))
    }

    /// Deletes a member: its keys are revoked, and its records, including drafts, go to the heir, all or nothing. A
    /// record whose audience changes takes a seq, so that every index follows.
    async fn delete_member(
        &self,
        account: AccountId,
        id: MemberId,
        hand_over_to: Option<MemberId>,
        audit: AuditEntry,
    ) -> Result<MemberDeleted, StoreError>;
}

pub(crate) const LIST_PROJECTS: &str = "
    SELECT id, account_id, created_at, name
    FROM project
    WHERE account_id = $1 AND deleted_at IS NULL
    ORDER BY created_at, id";

pub(crate) const FIND_PROJECT: &str =
    "SELECT id, account_id, created_at, name FROM project WHERE id = $1 AND deleted_at IS NULL";

fn insert_account(account: &Account, only_first: bool) -> Statement {
    const INSERT: &str = "
        INSERT INTO account (id, plan, paid_until, is_suspended, created_at, name)
        SELECT $1, $2, $3, $4, $5, $6
        WHERE $7 = 0 OR NOT EXISTS (SELECT 1 FROM account)
        RETURNING 1";
    let Subscription { plan, paid_until, is_suspended } = account.subscription;
    let plan = plan.map(|plan| plan.as_str());
    let only_first = i32::from(only_first);
    statement!(INSERT, account.id, plan, paid_until, is_suspended, account.created_at, &account.name, only_first)
}

fn insert_project(project: &Project) -> Statement {
    const INSERT: &str = "
        INSERT INTO project (id, account_id, seq, live_records, created_at, deleted_at, name)
        VALUES ($1, $2, 0, 0, $3, NULL, $4)
        RETURNING 1";
    statement!(INSERT, project.id, project.account, project.created_at, &project.name)
}

fn insert_member(member: &Member) -> Statement {
    const INSERT: &str = "
        INSERT INTO member (account_id, id, department_id, role, access_until, created_at, name)
        VALUES ($1, $2, $3, $4, $5, $6, $7)
        RETURNING 1";
    let Member { id, account, department, name, role, access_until, created_at } = member;
    statement!(INSERT, *account, *id, *department, role.as_str(), *access_until, *created_at, name)
}

/// The outcome of deleting a department.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DepartmentDeleted {
    Done,
    Absent,
    /// Something refers to it. Nothing was changed.
    InUse,
}

/// What a member has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Holdings {
    /// Records that can still be read or restored.
    pub records: u64,
    /// How many of them only the member sees.
    pub drafts: u64,
    /// Uploaded session histories.
    pub sessions: u64,
}

/// What became of removing a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemberDeleted {
    /// It is gone.
    Done {
        /// How many keys were revoked.
        keys: u64,
        /// How many records, forgotten ones included, were handed over.
        records: u64,
    },
    /// There is none, or no such heir in the account.
    Absent,
    /// It has records and no heir was named. Nothing was changed.
    NeedsHeir {
        /// How many.
        records: u64,
    },
}

pub(crate) fn read_account<R: Row>(row: &R) -> Result<Account, StoreError> {
    let id: AccountId = Cells::new(row, "account", String::new).id(0, "id")?;
    let cells = Cells::new(row, "account", || id.to_string());
    Ok(Account {
        id,
        name: cells.text(5, "name")?,
        subscription: Subscription {
            plan: cells.word_opt(1, "plan", PlanName::parse)?,
            paid_until: cells.time_opt(2, "paid_until")?,
            is_suspended: cells.flag(3, "is_suspended")?,
        },
        created_at: cells.time(4, "created_at")?,
    })
}

pub(crate) fn read_project<R: Row>(row: &R) -> Result<Project, StoreError> {
    let id: ProjectId = Cells::new(row, "project", String::new).id(0, "id")?;
    let cells = Cells::new(row, "project", || id.to_string());
    Ok(Project {
        id,
        account: cells.id(1, "account_id")?,
        name: cells.text(3, "name")?,
        created_at: cells.time(2, "created_at")?,
    })
}

pub(crate) fn read_project_count<R: Row>(row: &R, account: AccountId) -> Result<(u64, u64), StoreError> {
    let cells = Cells::new(row, "project", || account.to_string());
    Ok((cells.count(0, "id")?, cells.count(1, "live_records")?))
}

pub(crate) fn read_holdings<R: Row>(row: &R, project: ProjectId) -> Result<Holdings, StoreError> {
    let cells = Cells::new(row, "record", || project.to_string());
    Ok(Holdings {
        records: cells.count(0, "author_id")?,
        drafts: cells.count(1, "audience")?,
        sessions: cells.count(2, "session")?,
    })
}

pub(crate) fn read_department<R: Row>(row: &R, account: AccountId) -> Result<Department, StoreError> {
    let cells = Cells::new(row, "department", || account.to_string());
    Ok(Department {
        id: cells.id(0, "id")?,
        account,
        parent: cells.id_opt(1, "parent_id")?,
        name: cells.text(2, "name")?,
    })
}

pub(crate) fn read_member<R: Row>(row: &R, account: AccountId) -> Result<Member, StoreError> {
    let id: MemberId = Cells::new(row, "member", || account.to_string()).id(0, "id")?;
    let cells = Cells::new(row, "member", || format!("{account}/{id}"));
    Ok(Member {
        id,
        account,
        department: cells.id_opt(1, "department_id")?,
        name: cells.text(5, "name")?,
        role: cells.word(2, "role", Role::parse)?,
        access_until: cells.time_opt(3, "access_until")?,
        created_at: cells.time(4, "created_at")?,
    })
}
