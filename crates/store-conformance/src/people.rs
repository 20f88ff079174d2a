//! Stories of accounts, projects, departments and members. Those of members who leave are in `leaving.rs`.

use mnemon_core::{
    Account, AccountId, Audience, Department, DepartmentId, Member, NewRecord, PlanName, Project, ProjectId, Role,
    Subscription, WorkspaceName,
};
use mnemon_store::{DepartmentDeleted, Holdings, MemberDeleted, NewKey, Portion, RecordFilter, StoreError};
use uuid::Uuid;

use super::credentials::present;
use super::{House, MakeEngine, at, audit, new_key, new_member, workspace};

/// An empty store has no accounts; the first account comes with everything, or not at all.
pub async fn the_first_account_comes_whole_or_not_at_all(make: MakeEngine) {
    let engine = make().await;
    assert_eq!(engine.store.has_accounts().await, Ok(false));
    let account = Account {
        id: AccountId::new(Uuid::from_u128(1)),
        name: "A".to_owned(),
        subscription: Subscription::default(),
        created_at: at(0),
    };
    let project =
        Project { id: ProjectId::new(Uuid::from_u128(2)), account: account.id, name: "P".into(), created_at: at(0) };
    let member = new_member(account.id, "M", Role::Admin, None);
    let key = NewKey { project: ProjectId::new(Uuid::from_u128(99)), ..new_key(project.id, member.id) };
    let lines = || vec![audit(account.id, 0, "account.create")];
    let failed =
        engine.store.insert_first(account.clone(), project.clone(), member.clone(), key.clone(), lines(), false).await;
    assert!(matches!(failed, Err(StoreError::Failed(_))), "{failed:?}");
    assert_eq!(engine.store.has_accounts().await, Ok(false));
    assert_eq!(engine.store.list_audit(account.id, 10).await, Ok(Vec::new()));
    let key = NewKey { project: project.id, ..key };
    engine
        .store
        .insert_first(account.clone(), project, member, key.clone(), lines(), true)
        .await
        .expect("storage works");
    assert_eq!(engine.store.has_accounts().await, Ok(true));
    assert!(engine.store.find_credential(&key.hash).await.expect("storage works").is_some());
    assert_eq!(engine.store.list_audit(account.id, 10).await.map(|rows| rows.len()), Ok(1));
}

/// Accounts come by id, page by page, each as it is now.
pub async fn accounts_are_listed_page_by_page(make: MakeEngine) {
    let engine = make().await;
    assert_eq!(engine.store.list_accounts(None, 10).await, Ok(Vec::new()));
    let mut expected = Vec::new();
    for n in [3, 1, 2_u8] {
        let subscription = Subscription { plan: Some(PlanName::Pro), paid_until: Some(at(90)), is_suspended: n == 2 };
        let id = AccountId::from_bytes([n; 16]);
        let account = Account { id, name: format!("Account {n}"), subscription, created_at: at(i64::from(n)) };
        engine.store.insert_account(account.clone(), audit(id, 0, "account.create")).await.expect("storage works");
        assert_eq!(engine.store.find_account(id).await, Ok(Some(account.clone())));
        expected.push(account);
    }
    expected.sort_by_key(|account| account.id);
    assert_eq!(engine.store.list_accounts(None, 10).await, Ok(expected.clone()));
    assert_eq!(engine.store.list_accounts(None, 2).await, Ok(expected[..2].to_vec()));
    assert_eq!(engine.store.list_accounts(Some(expected[1].id), 2).await, Ok(expected[2..].to_vec()));
    assert_eq!(engine.store.list_accounts(Some(expected[2].id), 2).await, Ok(Vec::new()));
    assert_eq!(engine.store.find_account(AccountId::from_bytes([9; 16])).await, Ok(None));
}

/// A deleted project opens to no key and shows nothing to any reader; its neighbour does not notice.
pub async fn a_deleted_project_is_gone_for_every_reader(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let other = House { project: house.add_project().await, ..house.clone() };
    let given = house.sourced("a fact", "page", "h");
    let (seq, no) = house.save_numbered(given.clone()).await;
    house.save(NewRecord { workspace: workspace("team"), ..house.record("another") }).await;
    let (kept, _) = other.save_numbered(other.record("a fact")).await;
    let (store, project, account) = (&house.store, house.project, house.account);
    let listed = store.list_projects(account).await.expect("storage works");
    assert_eq!(listed.iter().map(|project| project.id).collect::<Vec<_>>(), [project, other.project]);
    assert_eq!(store.find_project(project).await, Ok(Some(listed[0].clone())));
    assert!(
        !store.find_credential(&house.key_hash).await.expect("storage works").expect("there").credential.is_revoked
    );

    let line = || audit(account, 30, "project.delete");
    let stranger = House::build(&engine.store).await;
    assert_eq!(store.delete_project(stranger.account, project, line()).await, Ok(false));
    assert_eq!(store.delete_project(account, ProjectId::from_bytes([9; 16]), line()).await, Ok(false));
    assert_eq!(store.delete_project(account, project, line()).await, Ok(true));
    assert_eq!(store.delete_project(account, project, line()).await, Ok(false), "once");
    let rows = store.list_audit(account, 100).await.expect("storage works");
    assert_eq!(
        rows.iter().filter(|(line, _)| line.action == "project.delete").map(|row| row.1).collect::<Vec<_>>(),
        [2]
    );

    assert!(store.find_credential(&house.key_hash).await.expect("storage works").expect("there").credential.is_revoked);
    assert_eq!(store.find_project(project).await, Ok(None));
    assert_eq!(store.list_projects(account).await, Ok(listed[1..].to_vec()));
    assert_eq!(house.load(seq).await, None);
    assert_eq!(store.find(project, given.id).await, Ok(None));
    assert_eq!(store.find_any(project, given.id).await, Ok(None));
    assert_eq!(store.list_by_source(project, "page", None).await, Ok(Vec::new()));
    assert_eq!(store.find_workspace(project, &WorkspaceName::default()).await, Ok(None));
    assert_eq!(store.list_workspaces(project).await, Ok(Vec::new()));
    assert_eq!(store.list_records(project, RecordFilter::default(), None, Portion::of_rows(10)).await, Ok(Vec::new()));
    let forgotten = RecordFilter { is_forgotten: true, ..RecordFilter::default() };
    assert_eq!(store.list_records(project, forgotten, None, Portion::of_rows(10)).await, Ok(Vec::new()));
    assert_eq!(store.list_deleted_workspaces(project, at(0)).await, Ok(Vec::new()));
    assert_eq!(house.restore(given.id, 0, 40).await, None);
    let restored = store.restore_workspace(project, no, at(0), None, line()).await;
    assert_eq!(restored, Ok(mnemon_store::RestoredWorkspace::Absent));
    assert_eq!(store.list_sizes(project).await, Ok(Vec::new()));
    assert!(!store.tail(project, no, mnemon_core::Seq(0), 10).await.expect("storage works").is_active);
    assert_eq!(store.purge(project, given.id, line()).await, Ok(false));
    assert_eq!(house.forget(&[seq], 40).await, []);
    let insert = mnemon_store::Insert {
        record: house.record("late"),
        records_max: None,
        workspaces_max: None,
        idempotency: None,
        supersede: None,
    };
    assert!(matches!(store.insert(insert).await, Err(StoreError::Failed(_))));
    assert!(matches!(store.insert_key(super::new_key(project, house.ana), line()).await, Err(StoreError::Failed(_))));
    assert!(other.load(kept).await.is_some());
    other.save_text("and goes on").await;
}

async fn delete_department(house: &House, id: DepartmentId) -> DepartmentDeleted {
    let line = audit(house.account, 30, "department.delete");
    house.store.delete_department(house.account, id, line).await.expect("storage works")
}

/// A department ends when nothing refers to it: no member, no department below, no record.
pub async fn a_department_in_use_stays(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let top = house.add_department("Top", None).await;
    let below = house.add_department("Below", Some(top)).await;
    let ben = house.add_member("Ben", Role::Member, Some(below)).await;
    assert_eq!(delete_department(&house, top).await, DepartmentDeleted::InUse, "one is below it");
    assert_eq!(delete_department(&house, below).await, DepartmentDeleted::InUse, "Ben is in it");
    let named = NewRecord { department: Some(below), author: ben, ..house.record("by its author") };
    let meant = NewRecord { audience: Audience::Department(below), author: ben, ..house.record("by its audience") };
    let mut member = new_member(house.account, "Ben", Role::Member, None);
    member.id = ben;
    assert_eq!(house.store.update_member(member, audit(house.account, 20, "member.update")).await, Ok(true));
    for record in [named, meant] {
        let id = record.id;
        let seq = house.save(record).await;
        assert_eq!(delete_department(&house, below).await, DepartmentDeleted::InUse, "a record");
        house.forget(&[seq], 25).await;
        assert_eq!(delete_department(&house, below).await, DepartmentDeleted::InUse, "it may come back");
        house.delete_workspace("default", 25).await;
        assert_eq!(delete_department(&house, below).await, DepartmentDeleted::InUse, "and so may its workspace");
        assert_eq!(house.store.purge(house.project, id, audit(house.account, 26, "record.purge")).await, Ok(true));
    }
    assert_eq!(delete_department(&house, below).await, DepartmentDeleted::Done);
    assert_eq!(delete_department(&house, below).await, DepartmentDeleted::Absent);
    assert_eq!(delete_department(&house, top).await, DepartmentDeleted::Done);
    assert_eq!(house.store.list_departments(house.account).await, Ok(Vec::new()));
    let rows = house.store.list_audit(house.account, 100).await.expect("storage works");
    assert_eq!(rows.iter().filter(|(line, _)| line.action == "department.delete").count(), 2);
}

/// A department moved in the tree, or a member moved between departments, is seen so by the next call.
pub async fn changed_people_show_at_once(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let (left, right) = (house.add_department("Left", None).await, house.add_department("Right", None).await);
    let member = new_member(house.account, "Ben", Role::Head, Some(left));
    house.store.insert_member(member.clone(), audit(house.account, 0, "member.create")).await.expect("storage works");
    let key = house.add_key(member.id).await;
    let sees = async |department| {
        let presented = house.store.find_credential(&key.hash).await.expect("storage works").expect("there");
        presented.credential.viewer.sees(&Audience::Department(department))
    };
    assert!(sees(left).await && !sees(right).await);
    let moved = Department { id: right, account: house.account, parent: Some(left), name: "Center".to_owned() };
    let line = || audit(house.account, 20, "department.update");
    assert_eq!(house.store.update_department(moved.clone(), line()).await, Ok(true));
    assert!(sees(right).await, "a head sees what is below");
    let listed = house.store.list_departments(house.account).await.expect("storage works");
    assert_eq!(listed.iter().map(|department| department.name.as_str()).collect::<Vec<_>>(), ["Center", "Left"]);
    assert_eq!(listed[0], moved);
    let changed = Member {
        name: "Benno".to_owned(),
        role: Role::Member,
        department: Some(right),
        access_until: Some(at(500)),
        ..member
    };
    assert_eq!(house.store.update_member(changed.clone(), line()).await, Ok(true));
    let presented = house.store.find_credential(&key.hash).await.expect("storage works").expect("there");
    let credential = presented.credential;
    assert_eq!((credential.member_name.as_str(), credential.role), ("Benno", Role::Member));
    assert_eq!((credential.access_until, credential.department_name.as_deref()), (Some(at(500)), Some("Center")));
    assert_eq!(house.store.list_members(house.account).await.map(|members| members[1].clone()), Ok(changed.clone()));
    let absent = Member { id: house.record("").author, account: AccountId::from_bytes([9; 16]), ..changed };
    assert_eq!(house.store.update_member(absent, line()).await, Ok(false));
    let absent = Department { id: DepartmentId::from_bytes([9; 16]), ..moved };
    assert_eq!(house.store.update_department(absent, line()).await, Ok(false));
    let rows = house.store.list_audit(house.account, 100).await.expect("storage works");
    assert_eq!(rows.iter().filter(|(line, _)| line.action == "department.update").count(), 2);
}

/// The walls between accounts hold, and what must be unique is.
pub async fn accounts_do_not_mix(make: MakeEngine) {
    let engine = make().await;
    let (house, other) = (House::build(&engine.store).await, House::build(&engine.store).await);
    let works = other.add_department("Works", None).await;
    let is_refused =
        |answer: Result<(), StoreError>| assert!(matches!(answer, Err(StoreError::Failed(_))), "{answer:?}");
    let line = || audit(house.account, 10, "story");
    is_refused(house.store.insert_member(new_member(house.account, "X", Role::Member, Some(works)), line()).await);
    is_refused(house.store.insert_key(new_key(house.project, other.ana), line()).await);
    let department = mnemon_core::Department {
        id: mnemon_core::DepartmentId::new(Uuid::from_u128(5)),
        account: house.account,
        parent: Some(works),
        name: "Sub".to_owned(),
    };
    is_refused(house.store.insert_department(department, line()).await);
    let twin = NewKey { hash: house.key_hash, ..new_key(other.project, other.ana) };
    is_refused(house.store.insert_key(twin, line()).await);
    assert_eq!(present(&house, &house.key_hash).await.expect("there").account, house.account);
    let rows = house.store.list_audit(house.account, 100).await.expect("storage works");
    assert!(rows.iter().all(|(line, _)| line.action != "story"), "what failed left no row");
}

/// What a member has is what removing it would hand over.
pub async fn a_members_holdings_are_counted(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let ben = house.add_member("Ben", Role::Member, None).await;
    let count = async |member| house.store.count_holdings(house.project, member).await.expect("storage works");
    assert_eq!(count(ben).await, Holdings::default());
    let of = |text: &str, audience| NewRecord { author: ben, audience, ..house.record(text) };
    house.save(of("shared", Audience::Shared)).await;
    let forgotten = house.save(of("forgotten", Audience::Shared)).await;
    house.save(of("draft", Audience::Author(ben))).await;
    house.save_text("somebody else's").await;
    house.forget(&[forgotten], 20).await;
    assert_eq!(count(ben).await, Holdings { records: 3, drafts: 1, sessions: 0 });
    let left = house.store.delete_member(house.account, ben, None, audit(house.account, 30, "member.delete")).await;
    assert_eq!(left, Ok(MemberDeleted::NeedsHeir { records: 3 }));
}
