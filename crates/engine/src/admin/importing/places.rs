//! Where an imported record belongs: which ids are free, whose record it becomes, and which department keeps it.

use mnemon_core::{DepartmentId, MemberId, RecordId, Role, Scope};
use mnemon_store::Listed;

use super::{Import, ImportedRecord};

/// The records that have a chosen id, live or forgotten, visible to the caller or not. An id belongs to its project:
/// the same id in another one is another record.
pub(super) struct Taken(pub(super) Vec<Listed>);

impl Taken {
    pub(super) fn of(&self, id: Option<RecordId>) -> Option<&Listed> {
        self.0.iter().find(|listed| Some(listed.record.id) == id)
    }

    pub(super) fn is_taken(&self, id: RecordId) -> bool {
        self.of(Some(id)).is_some()
    }
}

impl Import {
    /// Whose record it becomes. Only an admin brings records of others; everybody else's are their own.
    pub(super) fn author(&self, named: Option<&str>) -> (MemberId, bool) {
        let own = self.call.credential.member;
        let Some(named) = named.filter(|named| *named != self.call.credential.member_name) else { return (own, false) };
        if self.call.credential.role != Role::Admin {
            return (own, true);
        }
        let mut called = self.members.iter().filter(|member| member.name == named);
        match (called.next(), called.next()) {
            (Some(member), None) => (member.id, false),
            _ => (own, true),
        }
    }

    /// The department that a record is kept with, and that sees it if its scope says so.
    pub(super) fn department(&self, given: &ImportedRecord, author: MemberId) -> Result<Option<DepartmentId>, String> {
        let credential = &self.call.credential;
        if given.scope == Scope::Department {
            return Ok(self.department_called(given.department.as_deref())?.or(credential.department));
        }
        if author == credential.member && credential.role != Role::Admin {
            return Ok(credential.department);
        }
        // Only a label: where it names no department of this account, the author's own one is used.
        let of_author = || self.members.iter().find(|member| member.id == author).and_then(|member| member.department);
        match &given.department {
            Some(named) => Ok(self.find_department(named).or_else(of_author)),
            None if given.created_at.is_some() => Ok(None),
            None => Ok(of_author()),
        }
    }

    /// The department of this name that the caller may save for: an admin for each, others for their own.
    pub(super) fn department_called(&self, named: Option<&str>) -> Result<Option<DepartmentId>, String> {
        let Some(named) = named else { return Ok(None) };
        let credential = &self.call.credential;
        let found = self.find_department(named);
        match found.filter(|found| credential.role == Role::Admin || credential.department == Some(*found)) {
            Some(found) => Ok(Some(found)),
            None => Err(format!("you can't save for a department '{named}'; ask an admin to import this record")),
        }
    }

    fn find_department(&self, named: &str) -> Option<DepartmentId> {
        let mut called = self.departments.iter().filter(|department| department.name == named);
        match (called.next(), called.next()) {
            (Some(department), None) => Some(department.id),
            _ => None,
        }
    }
}
