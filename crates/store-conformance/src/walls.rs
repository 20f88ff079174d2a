//! A stranger knows every id of an account: each admin act, done from the stranger's own account or project with those
//! ids, finds nothing and changes nothing.

use mnemon_core::{Audience, Department, Member, NewRecord, Role, Seq};
use mnemon_store::{Day, DepartmentDeleted, Listed, MemberDeleted, Portion, RecordFilter, StoreError, Usage};

use super::{House, MakeEngine, at, audit, find_snapshot, new_member, save_snapshot, workspace};

/// A stranger finds nothing of A's by A's ids, and nothing done with them touches A.
pub async fn strangers_run_nothing(make: MakeEngine) {
    let engine = make().await;
    let a = House::build(&engine.store).await;
    let works = a.add_department("Works", None).await;
    let ben = a.add_member("Ben", Role::Member, Some(works)).await;
    let living = NewRecord { author: ben, audience: Audience::Author(ben), ..a.sourced("living", "page", "h") };
    let forgotten = a.record("forgotten");
    let (_, no) = a.save_numbered(living.clone()).await;
    let gone = a.save(forgotten.clone()).await;
    a.forget(&[gone], 20).await;
    save_snapshot(&a, no, Seq(2), vec![7]).await;
    a.store.release_text(a.project, [1; 32], audit(a.account, 20, "guard.release")).await.expect("storage works");
    let before = look(&a).await;

    let sibling = House { project: a.add_project().await, ..a.clone() };
    let before = Looks { projects: before.projects + 1, ..before };
    let stranger = House::build(&engine.store).await;
    for b in [&sibling, &stranger] {
        read_in_project(b, &living, &forgotten).await;
        let line = || audit(b.account, 30, "story");
        for id in [living.id, forgotten.id] {
            assert_eq!(b.store.purge(b.project, id, line()).await, Ok(false));
        }
        save_snapshot(b, no, Seq(99), vec![7]).await;
        assert_eq!(find_snapshot(b, no).await, None);
        let usage = Usage {
            project: b.project,
            day: Day(1),
            key: if b.account == a.account { stranger.key } else { a.key },
            calls: 1,
            saves: 1,
            searches: 1,
            rejections: 1,
            bytes: 1,
            refused_by_connection: 0,
            refused_by_project: 0,
            last_used_at: at(99),
        };
        b.store.add_usage(vec![usage]).await.expect("storage works");
        assert_eq!(b.store.list_usage(b.project, Day(0), Day(9)).await, Ok(Vec::new()));
    }
    run_from_outside(&a, &stranger, ben, works).await;
    assert_eq!(look(&a).await, before);
}

/// Everything of an account that a stranger could have touched.
#[derive(Debug, PartialEq)]
struct Looks {
    members: Vec<Member>,
    departments: Vec<Department>,
    projects: usize,
    records: Vec<Listed>,
    last_used: Vec<Option<mnemon_core::Timestamp>>,
    snapshot: Option<(Seq, Vec<u8>)>,
    is_accepted: bool,
    seq: Seq,
}

async fn look(house: &House) -> Looks {
    let (store, project, account) = (&house.store, house.project, house.account);
    let workspaces = store.list_workspaces(project).await.expect("storage works");
    let presented = store.find_credential(&house.key_hash).await.expect("storage works").expect("there");
    let filter = |is_forgotten| RecordFilter { is_forgotten, ..RecordFilter::default() };
    let mut records =
        store.list_records(project, filter(false), None, Portion::of_rows(100)).await.expect("storage works");
    records
        .extend(store.list_records(project, filter(true), None, Portion::of_rows(100)).await.expect("storage works"));
    Looks {
        members: store.list_members(account).await.expect("storage works"),
        departments: store.list_departments(account).await.expect("storage works"),
        projects: store.list_projects(account).await.expect("storage works").len(),
        records,
        last_used: store.list_keys(project).await.expect("storage works").iter().map(|key| key.last_used_at).collect(),
        snapshot: find_snapshot(house, workspaces[0].no).await,
        is_accepted: !presented.credential.is_revoked,
        seq: house.last_seq().await,
    }
}

async fn read_in_project(b: &House, living: &NewRecord, forgotten: &NewRecord) {
    let (store, project) = (&b.store, b.project);
    assert_eq!(store.list_workspaces(project).await, Ok(Vec::new()));
    assert_eq!(store.list_sizes(project).await, Ok(Vec::new()));
    assert_eq!(store.is_released(project, [1; 32]).await, Ok(false));
    for id in [living.id, forgotten.id] {
        assert_eq!(store.find_any(project, id).await, Ok(None));
    }
    for is_forgotten in [false, true] {
        for (name, source) in
            [(None, None), (Some("default"), None), (None, Some("page")), (Some("default"), Some("page"))]
        {
            let source_id = source.map(str::to_owned);
            let filter =
                RecordFilter { workspace: name.map(workspace), source_id, is_forgotten, ..RecordFilter::default() };
            assert_eq!(store.list_records(project, filter, None, Portion::of_rows(100)).await, Ok(Vec::new()));
        }
    }
}

async fn run_from_outside(a: &House, b: &House, ben: mnemon_core::MemberId, works: mnemon_core::DepartmentId) {
    let (store, line) = (&b.store, || audit(b.account, 40, "story"));
    assert_eq!(store.delete_project(b.account, a.project, line()).await, Ok(false));
    assert_eq!(store.delete_department(b.account, works, line()).await, Ok(DepartmentDeleted::Absent));
    let renamed = Department { id: works, account: b.account, parent: None, name: "Theirs".to_owned() };
    assert_eq!(store.update_department(renamed, line()).await, Ok(false));
    let renamed = Member { id: ben, ..new_member(b.account, "Theirs", Role::Admin, None) };
    assert_eq!(store.update_member(renamed, line()).await, Ok(false));
    for heir in [None, Some(b.ana), Some(a.ana)] {
        assert_eq!(store.delete_member(b.account, ben, heir, line()).await, Ok(MemberDeleted::Absent));
    }
    assert_eq!(store.delete_member(b.account, b.ana, Some(ben), line()).await, Ok(MemberDeleted::Absent));
    // A member can't be moved into another account's department, nor a department below another's.
    let moved = Member { id: b.ana, ..new_member(b.account, "Ana", Role::Admin, Some(works)) };
    assert!(matches!(store.update_member(moved, line()).await, Err(StoreError::Failed(_))));
    let own = b.add_department("Own", None).await;
    let moved = Department { id: own, account: b.account, parent: Some(works), name: "Own".to_owned() };
    assert!(matches!(store.update_department(moved, line()).await, Err(StoreError::Failed(_))));
    let people = store.list_members(b.account).await.expect("storage works");
    assert_eq!(people.iter().map(|member| member.id).collect::<Vec<_>>(), [b.ana]);
    let rows = store.list_audit(b.account, 100).await.expect("storage works");
    assert!(rows.iter().all(|(row, _)| row.action != "story"), "what did not happen leaves no row");
}
