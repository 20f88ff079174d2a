//! The one predicate that decides who sees what. Every path that reads records goes through [`Viewer::sees`].

use std::collections::{HashMap, HashSet};

use crate::{DepartmentId, MemberId, Role};

/// Who may see a record, as the caller says it. [`Audience`] is the same with names filled in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    /// Only its author.
    Draft,
    /// The author's department, the departments below it, and the heads above it.
    Department,
    /// Every key of the project.
    Shared,
}

impl Scope {
    /// The word used in storage and on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Draft => "draft",
            Self::Department => "department",
            Self::Shared => "shared",
        }
    }

    pub fn parse(word: &str) -> Option<Self> {
        [Self::Draft, Self::Department, Self::Shared].into_iter().find(|scope| scope.as_str() == word)
    }
}

/// Who may see a record: its scope with names filled in. Records with equal audiences are seen by the same people, so
/// the question is answered once per audience and not once per record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Audience {
    /// Every key of the project.
    Shared,
    /// Members of this department and the departments below it, and the heads above it.
    Department(DepartmentId),
    /// Only this member.
    Author(MemberId),
}

impl Audience {
    /// The scope that the audience was made from.
    pub const fn scope(self) -> Scope {
        match self {
            Self::Shared => Scope::Shared,
            Self::Department(_) => Scope::Department,
            Self::Author(_) => Scope::Draft,
        }
    }

    /// The audience of something a member saves. `None` if the scope is `department` and the member has none.
    pub const fn of(scope: Scope, author: MemberId, department: Option<DepartmentId>) -> Option<Self> {
        match (scope, department) {
            (Scope::Shared, _) => Some(Self::Shared),
            (Scope::Draft, _) => Some(Self::Author(author)),
            (Scope::Department, Some(department)) => Some(Self::Department(department)),
            (Scope::Department, None) => None,
        }
    }
}

/// A member as a reader: what it needs from the department tree is computed once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Viewer {
    pub member: MemberId,
    /// The member's department and all above it: what they share reaches down to the member.
    above: Vec<DepartmentId>,
    /// For a head, its department and all below it: what they share reaches up to the head.
    below: HashSet<DepartmentId>,
}

impl Viewer {
    /// A reader without a department.
    pub fn without_departments(member: MemberId) -> Self {
        Self { member, above: Vec::new(), below: HashSet::new() }
    }

    /// A reader with its position in the tree.
    pub fn new(member: MemberId, role: Role, department: Option<DepartmentId>, tree: &DepartmentTree) -> Self {
        let Some(department) = department else { return Self::without_departments(member) };
        let below = if role == Role::Head { tree.below(department) } else { HashSet::new() };
        Self { member, above: tree.above(department), below }
    }

    /// Every audience that this reader belongs to: those that [`Self::sees`] admits, and no others.
    pub fn audiences(&self) -> Vec<Audience> {
        let departments: HashSet<DepartmentId> = self.above.iter().chain(&self.below).copied().collect();
        let mut audiences = vec![Audience::Shared, Audience::Author(self.member)];
        audiences.extend(departments.into_iter().map(Audience::Department));
        audiences.sort_unstable();
        audiences
    }

    /// Whether this reader may see records with that audience.
    pub fn sees(&self, audience: &Audience) -> bool {
        match audience {
            Audience::Shared => true,
            Audience::Author(author) => *author == self.member,
            Audience::Department(department) => self.above.contains(department) || self.below.contains(department),
        }
    }
}

/// An account's departments by their parents.
#[derive(Debug, Clone, Default)]
pub struct DepartmentTree {
    parents: HashMap<DepartmentId, Option<DepartmentId>>,
}

impl DepartmentTree {
    /// Builds the tree from (department, parent) pairs.
    pub fn new(pairs: impl IntoIterator<Item = (DepartmentId, Option<DepartmentId>)>) -> Self {
        Self { parents: pairs.into_iter().collect() }
    }

    /// A department and all above it. Stops at a cycle, should storage ever contain one.
    pub fn above(&self, department: DepartmentId) -> Vec<DepartmentId> {
        let mut chain = vec![department];
        while let Some(Some(parent)) = chain.last().and_then(|last| self.parents.get(last)) {
            if chain.contains(parent) {
                break;
            }
            chain.push(*parent);
        }
        chain
    }

    /// A department and all below it.
    pub fn below(&self, department: DepartmentId) -> HashSet<DepartmentId> {
        self.parents.keys().copied().filter(|candidate| self.above(*candidate).contains(&department)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn department(n: u8) -> DepartmentId {
        DepartmentId::from_bytes([n; 16])
    }

    fn member(n: u8) -> MemberId {
        MemberId::from_bytes([n; 16])
    }

    /// 1 ─ 2 ─ 4 and 1 ─ 3, and 9 on its own.
    fn tree() -> DepartmentTree {
        DepartmentTree::new([
            (department(1), None),
            (department(2), Some(department(1))),
            (department(3), Some(department(1))),
            (department(4), Some(department(2))),
            (department(9), None),
        ])
    }

    #[test]
    fn what_a_department_shares_reaches_down_to_all_and_up_to_heads() {
        let check = |role, own: u8, shared_by: u8, expected: bool| {
            let viewer = Viewer::new(member(1), role, Some(department(own)), &tree());
            let seen = viewer.sees(&Audience::Department(department(shared_by)));
            assert_eq!(seen, expected, "{role:?} of {own} reading {shared_by}");
        };
        check(Role::Member, 2, 2, true);
        check(Role::Member, 4, 2, true);
        check(Role::Member, 4, 1, true);
        check(Role::Member, 2, 4, false);
        check(Role::Admin, 2, 4, false);
        check(Role::Head, 2, 4, true);
        check(Role::Head, 1, 4, true);
        check(Role::Head, 3, 4, false);
        check(Role::Head, 3, 2, false);
        check(Role::Head, 9, 1, false);
    }

    #[test]
    fn a_reader_belongs_to_the_audiences_that_it_sees() {
        let all = [1, 2, 3, 4, 9].map(|n| Audience::Department(department(n)));
        let others = [Audience::Shared, Audience::Author(member(1)), Audience::Author(member(2))];
        for (role, own) in [(Role::Head, Some(2)), (Role::Member, Some(2)), (Role::Admin, None), (Role::Head, Some(1))]
        {
            let viewer = Viewer::new(member(1), role, own.map(department), &tree());
            let mut seen: Vec<Audience> = all.iter().chain(&others).copied().filter(|a| viewer.sees(a)).collect();
            seen.sort_unstable();
            assert_eq!(viewer.audiences(), seen, "{role:?} of {own:?}");
        }
    }

    #[test]
    fn only_the_author_sees_a_draft() {
        let head = Viewer::new(member(1), Role::Head, Some(department(1)), &tree());
        assert!(head.sees(&Audience::Author(member(1))));
        assert!(!head.sees(&Audience::Author(member(2))));
    }

    #[test]
    fn a_member_without_department_sees_no_departments_records() {
        let viewer = Viewer::new(member(1), Role::Admin, None, &tree());
        assert!(viewer.sees(&Audience::Shared));
        assert!(!viewer.sees(&Audience::Department(department(1))));
    }

    #[test]
    fn a_cycle_in_storage_does_not_hang() {
        let tree = DepartmentTree::new([(department(1), Some(department(2))), (department(2), Some(department(1)))]);
        assert_eq!(tree.above(department(1)), vec![department(1), department(2)]);
    }
}
