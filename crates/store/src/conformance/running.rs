//! Stories of running accounts: the people and projects in them, keys, usage, and what the guard was told.

use mnemon_core::{
    Account, AccountId, Audience, CredentialHash, Department, DepartmentId, Member, NewRecord, PlanName, ProjectId,
    Role, Subscription, WorkspaceName,
};

use super::{House, MakeEngine, at, audit, new_member, workspace};
use crate::{Day, DepartmentDeleted, NewKey, RecordFilter, StoreError, Usage};

/// The operator's token is made once and stays.
pub async fn the_operators_token_is_made_once(make: MakeEngine) {
    let engine = make().await;
    let (first, second) = (CredentialHash::of("first"), CredentialHash::of("second"));
    assert_eq!(engine.store.find_operator_token().await, Ok(None));
    assert_eq!(engine.store.insert_operator_token(first, at(0)).await, Ok(true));
    assert_eq!(engine.store.insert_operator_token(second, at(1)).await, Ok(false));
    assert_eq!(engine.store.find_operator_token().await, Ok(Some(first)));
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
    assert_eq!(store.list_records(project, RecordFilter::default(), None, 10).await, Ok(Vec::new()));
    assert_eq!(store.list_sizes(project).await, Ok(Vec::new()));
    assert!(!store.tail(project, no, mnemon_core::Seq(0), 10).await.expect("storage works").is_active);
    assert_eq!(store.purge(project, given.id, line()).await, Ok(false));
    assert_eq!(house.forget(&[seq], 40).await, []);
    let insert = crate::Insert { record: house.record("late"), records_max: None, idempotency: None };
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

fn usage(house: &House, day: i32, second: i64) -> Usage {
    Usage {
        project: house.project,
        day: Day(day),
        key: house.key,
        calls: 5,
        saves: 2,
        searches: 2,
        rejections: 1,
        bytes: 700,
        last_used_at: at(second),
    }
}

/// Figures add up per day and key, and raise the last use of their key; what comes late sets nothing back.
pub async fn usage_adds_up(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let second = NewKey {
        label: Some("spare".into()),
        expires_at: Some(at(900)),
        created_at: at(7),
        ..super::new_key(house.project, house.ana)
    };
    house.store.insert_key(second.clone(), audit(house.account, 7, "key.create")).await.expect("storage works");
    let twice = vec![usage(&house, 10, 100), usage(&house, 10, 90), usage(&house, 12, 80)];
    house.store.add_usage(twice).await.expect("storage works");
    let spare = Usage { key: second.id, ..usage(&house, 11, 70) };
    house.store.add_usage(vec![spare.clone()]).await.expect("storage works");
    house.store.add_usage(Vec::new()).await.expect("storage works");
    let sum = Usage { calls: 10, saves: 4, searches: 4, rejections: 2, bytes: 1400, ..usage(&house, 10, 100) };
    let list = async |from, to| house.store.list_usage(house.project, Day(from), Day(to)).await;
    assert_eq!(list(0, 99).await, Ok(vec![sum.clone(), spare.clone(), usage(&house, 12, 80)]));
    assert_eq!(list(10, 11).await, Ok(vec![sum, spare]), "both ends belong to it");
    assert_eq!(list(13, 99).await, Ok(Vec::new()));
    let keys = house.store.list_keys(house.project).await.expect("storage works");
    assert_eq!(
        keys.iter().map(|row| (row.id, row.last_used_at)).collect::<Vec<_>>(),
        [(house.key, Some(at(100))), (second.id, Some(at(70)))]
    );
    let row = house.store.find_key(second.id).await.expect("storage works").expect("there");
    assert_eq!(row, keys[1]);
    assert_eq!((row.label.as_deref(), row.expires_at, row.created_at), (Some("spare"), Some(at(900)), at(7)));
    assert_eq!((row.project, row.account, row.member), (house.project, house.account, house.ana));
    // A key counts for its own project alone.
    let stranger = House::build(&engine.store).await;
    let foreign = Usage { key: stranger.key, ..usage(&house, 10, 999) };
    house.store.add_usage(vec![foreign]).await.expect("storage works");
    assert_eq!(stranger.store.list_usage(stranger.project, Day(0), Day(99)).await, Ok(Vec::new()));
    let untouched = house.store.find_key(stranger.key).await.expect("storage works").expect("there");
    assert_eq!(untouched.last_used_at, None);
}

/// The guard's mode is the account's, and a released text may pass in its project.
pub async fn the_guard_is_told_once(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let other = House { project: house.add_project().await, ..house.clone() };
    let line = |action| audit(house.account, 30, action);
    assert_eq!(house.store.find_guard_mode(house.account).await, Ok(None));
    assert_eq!(house.store.set_guard_mode(house.account, "strict", line("guard.mode")).await, Ok(true));
    assert_eq!(house.store.find_guard_mode(house.account).await, Ok(Some("strict".to_owned())));
    let nobody = AccountId::from_bytes([9; 16]);
    assert_eq!(house.store.set_guard_mode(nobody, "off", line("guard.mode")).await, Ok(false));
    assert_eq!(house.store.find_guard_mode(nobody).await, Ok(None));
    let release =
        async |house: &House, hash| house.store.release_text(house.project, hash, line("guard.release")).await;
    assert_eq!(house.store.is_released(house.project, [1; 32]).await, Ok(false));
    assert_eq!(release(&house, [1; 32]).await, Ok(true));
    assert_eq!(release(&house, [1; 32]).await, Ok(false), "it may already");
    assert_eq!(house.store.is_released(house.project, [1; 32]).await, Ok(true));
    assert_eq!(house.store.is_released(house.project, [2; 32]).await, Ok(false));
    assert_eq!(other.store.is_released(other.project, [1; 32]).await, Ok(false));
    let nowhere = House { project: ProjectId::from_bytes([9; 16]), ..house.clone() };
    assert_eq!(release(&nowhere, [1; 32]).await, Ok(false));
    let rows = house.store.list_audit(house.account, 100).await.expect("storage works");
    let count = |action: &str| rows.iter().filter(|(line, _)| line.action == action).count();
    assert_eq!((count("guard.mode"), count("guard.release")), (1, 1));
}
