//! The tree of departments.

use mnemon_core::{AccountId, Department, DepartmentId};
use mnemon_store::DepartmentDeleted;

use super::{AdminContext, AdminError};
use crate::Engine;

/// A new department, or the new state of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewDepartment {
    pub name: String,
    /// The parent department.
    pub parent: Option<DepartmentId>,
}

impl Engine {
    pub async fn create_department(
        &self,
        ctx: &AdminContext,
        account: AccountId,
        new: NewDepartment,
    ) -> Result<Department, AdminError> {
        self.admin_account(ctx, account).await?;
        ctx.need_write()?;
        self.check_parent(account, new.parent).await?;
        let department = Department {
            id: DepartmentId::new(self.ids.uuid(ctx.now)),
            account,
            parent: new.parent,
            name: self.check_name(ctx, "name", &new.name).await?,
        };
        let audit = self.admin_audit(ctx, account, None, "department.create", department.id).about(&department.name);
        self.store.insert_department(department.clone(), audit).await?;
        Ok(department)
    }

    /// All departments, by name.
    pub async fn list_departments(
        &self,
        ctx: &AdminContext,
        account: AccountId,
    ) -> Result<Vec<Department>, AdminError> {
        self.admin_account(ctx, account).await?;
        Ok(self.store.list_departments(account).await?)
    }

    pub async fn show_department(
        &self,
        ctx: &AdminContext,
        account: AccountId,
        id: DepartmentId,
    ) -> Result<Department, AdminError> {
        self.admin_account(ctx, account).await?;
        self.department_or_absent(account, id).await
    }

    /// Renames or moves a department. Absent fields stay as they are; a parent of `Some(None)` moves it to the top
    /// level.
    pub async fn change_department(
        &self,
        ctx: &AdminContext,
        account: AccountId,
        id: DepartmentId,
        name: Option<String>,
        parent: Option<Option<DepartmentId>>,
    ) -> Result<Department, AdminError> {
        self.admin_account(ctx, account).await?;
        ctx.need_write()?;
        let mut department = self.department_or_absent(account, id).await?;
        if let Some(name) = name {
            department.name = self.check_name(ctx, "name", &name).await?;
        }
        if let Some(parent) = parent {
            self.check_parent(account, parent).await?;
            let tree = self.department_tree(account).await?;
            if parent.is_some_and(|parent| tree.above(parent).contains(&id)) {
                return Err(AdminError::Conflict("a department can't be below itself".to_owned()));
            }
            department.parent = parent;
        }
        let audit = self.admin_audit(ctx, account, None, "department.change", id).about(&department.name);
        let is_known = self.store.update_department(department.clone(), audit).await?;
        if is_known { Ok(department) } else { Err(AdminError::NotFound("department")) }
    }

    /// Deletes a department that nothing refers to.
    pub async fn delete_department(
        &self,
        ctx: &AdminContext,
        account: AccountId,
        id: DepartmentId,
    ) -> Result<(), AdminError> {
        self.admin_account(ctx, account).await?;
        ctx.need_write()?;
        let departments = self.store.list_departments(account).await?;
        let name = departments.iter().find(|department| department.id == id).map(|department| department.name.as_str());
        let audit = self.admin_audit(ctx, account, None, "department.delete", id).about(name.unwrap_or_default());
        match self.store.delete_department(account, id, audit).await? {
            DepartmentDeleted::Done => Ok(()),
            DepartmentDeleted::Absent => Err(AdminError::NotFound("department")),
            DepartmentDeleted::InUse => Err(AdminError::Conflict(
                "the department still has members, sub-departments or records; move them first".to_owned(),
            )),
        }
    }

    /// An account that the caller may administer as a whole.
    pub(super) async fn admin_account(&self, ctx: &AdminContext, account: AccountId) -> Result<(), AdminError> {
        ctx.need_admin(account)?;
        self.find_account_or_absent(account).await.map(|_| ())
    }

    pub(super) async fn check_parent(
        &self,
        account: AccountId,
        department: Option<DepartmentId>,
    ) -> Result<(), AdminError> {
        match department {
            Some(id) => self.department_or_absent(account, id).await.map(|_| ()),
            None => Ok(()),
        }
    }

    async fn department_or_absent(&self, account: AccountId, id: DepartmentId) -> Result<Department, AdminError> {
        let departments = self.store.list_departments(account).await?;
        departments.into_iter().find(|department| department.id == id).ok_or(AdminError::NotFound("department"))
    }
}
