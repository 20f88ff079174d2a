//! Stories of accounts, credentials and the audit log.

use std::sync::Arc;

use mnemon_core::{
    Access, Account, AccountId, Audience, CredentialHash, PlanName, Project, ProjectId, Role, Subscription,
};
use uuid::Uuid;

use super::{House, MakeEngine, at, audit, new_key, new_member};
use crate::{Actor, AuditEntry, Credential, NewKey, StoreError};

async fn present(house: &House, hash: &CredentialHash) -> Option<Arc<Credential>> {
    let presented = house.store.find_credential(hash).await.expect("storage works");
    presented.map(|presented| presented.credential)
}

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

/// A credential tells all that follows from it, and how far the log has come.
pub async fn a_credential_tells_all_that_follows(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let works = house.add_department("Works", None).await;
    let mut ben = new_member(house.account, "Ben", Role::Head, Some(works));
    ben.access_until = Some(at(900));
    house.store.insert_member(ben.clone(), audit(house.account, 0, "member.create")).await.expect("storage works");
    let key = NewKey { access: Access::Read, expires_at: Some(at(800)), ..new_key(house.project, ben.id) };
    house.store.insert_key(key.clone(), audit(house.account, 0, "key.create")).await.expect("storage works");
    let found = present(&house, &key.hash).await.expect("it is there");
    assert_eq!(
        (found.key, found.access, found.expires_at, found.is_revoked),
        (key.id, Access::Read, Some(at(800)), false)
    );
    assert_eq!((found.project, found.account, found.member), (house.project, house.account, ben.id));
    assert_eq!((found.member_name.as_str(), found.role, found.access_until), ("Ben", Role::Head, Some(at(900))));
    assert_eq!((found.department, found.department_name.as_deref()), (Some(works), Some("Works")));
    assert_eq!(found.subscription.plan, Some(PlanName::Unlimited));
    assert_eq!(present(&house, &CredentialHash::of("nobody's")).await, None);
    for n in 0..5 {
        let seq = house.save_text(&format!("fact {n}")).await;
        let presented = house.store.find_credential(&key.hash).await.expect("storage works").expect("there");
        assert_eq!(presented.seq, seq, "never behind an answered save");
    }
}

/// A change shows on the very next call, also for a credential that was just looked up.
pub async fn a_change_to_a_credential_shows_at_once(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    assert!(!present(&house, &house.key_hash).await.expect("there").is_revoked);
    let subscription = Subscription { plan: Some(PlanName::Free), paid_until: Some(at(5)), is_suspended: true };
    let line = || audit(house.account, 20, "account.subscription");
    assert_eq!(house.store.update_subscription(house.account, subscription, line()).await, Ok(true));
    assert_eq!(present(&house, &house.key_hash).await.expect("there").subscription, subscription);
    let nobody = AccountId::new(Uuid::from_u128(77));
    assert_eq!(house.store.update_subscription(nobody, subscription, line()).await, Ok(false));
    let revoke = async |second: i64| {
        house.store.revoke_key(house.key, at(second), audit(house.account, second, "key.revoke")).await
    };
    assert_eq!(revoke(30).await, Ok(true));
    assert!(present(&house, &house.key_hash).await.expect("there").is_revoked);
    assert_eq!(revoke(31).await, Ok(false), "for good");
    let absent = new_key(house.project, house.ana);
    assert_eq!(house.store.revoke_key(absent.id, at(32), line()).await, Ok(false));
    let rows = house.store.list_audit(house.account, 100).await.expect("storage works");
    let count = |action: &str| rows.iter().filter(|(line, _)| line.action == action).count();
    assert_eq!((count("key.revoke"), count("account.subscription")), (1, 1), "what did not happen leaves no row");
    // A key that did not exist a moment ago is found once it does.
    assert_eq!(present(&house, &absent.hash).await, None);
    house.store.insert_key(absent.clone(), audit(house.account, 40, "key.create")).await.expect("storage works");
    assert!(present(&house, &absent.hash).await.is_some());
}

/// Nobody who asks after a revocation was answered gets the key as it was, however many ask meanwhile.
pub async fn a_revocation_is_seen_by_all_who_ask_after_it(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    for _ in 0..30 {
        let key = house.add_key(house.ana).await;
        let mut askers = Vec::new();
        for _ in 0..4 {
            let (house, hash) = (house.clone(), key.hash);
            askers.push(tokio::spawn(async move {
                while !present(&house, &hash).await.expect("there").is_revoked {
                    tokio::task::yield_now().await;
                }
            }));
        }
        let line = audit(house.account, 30, "key.revoke");
        assert_eq!(house.store.revoke_key(key.id, at(30), line).await, Ok(true));
        assert!(present(&house, &key.hash).await.expect("there").is_revoked);
        for asker in askers {
            asker.await.expect("an asker");
        }
        assert!(present(&house, &key.hash).await.expect("there").is_revoked, "and it stays so");
    }
}

/// The viewer of a credential stands where its member stands in the tree.
pub async fn a_viewer_has_its_place_in_the_tree(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let top = house.add_department("Top", None).await;
    let left = house.add_department("Left", Some(top)).await;
    let right = house.add_department("Right", Some(top)).await;
    let sees = async |role: Role, own, other| {
        let member = house.add_member("Someone", role, own).await;
        let key = house.add_key(member).await;
        let viewer = present(&house, &key.hash).await.expect("there").viewer.clone();
        assert!(viewer.sees(&Audience::Author(member)) && !viewer.sees(&Audience::Author(house.ana)));
        viewer.sees(&Audience::Department(other))
    };
    assert!(sees(Role::Member, Some(left), left).await);
    assert!(sees(Role::Member, Some(left), top).await);
    assert!(!sees(Role::Member, Some(left), right).await);
    assert!(!sees(Role::Member, Some(top), left).await);
    assert!(sees(Role::Head, Some(top), left).await);
    assert!(!sees(Role::Head, Some(left), right).await);
    assert!(!sees(Role::Admin, None, top).await);
    // A department made later is seen by a head whose credential was looked up before.
    let head = house.add_member("Head", Role::Head, Some(top)).await;
    let key = house.add_key(head).await;
    present(&house, &key.hash).await;
    let below = house.add_department("Below", Some(right)).await;
    assert!(present(&house, &key.hash).await.expect("there").viewer.sees(&Audience::Department(below)));
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

/// A failing act does not take its neighbours with it.
pub async fn a_failing_act_fails_alone(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let mut tasks = Vec::new();
    for n in 0..64_usize {
        let house = house.clone();
        tasks.push(tokio::spawn(async move {
            if n % 8 == 0 {
                let twin = NewKey { hash: house.key_hash, ..new_key(house.project, house.ana) };
                let answer = house.store.insert_key(twin, audit(house.account, 10, "key.create")).await;
                assert!(matches!(answer, Err(StoreError::Failed(_))), "{answer:?}");
                None
            } else {
                Some(house.save_text(&format!("fact {n}")).await)
            }
        }));
    }
    let mut seqs = Vec::new();
    for task in tasks {
        seqs.extend(task.await.expect("a caller"));
    }
    seqs.sort();
    assert_eq!(seqs.iter().map(|seq| seq.0).collect::<Vec<_>>(), (1..=56).collect::<Vec<_>>());
    assert_eq!(house.store.load(house.project, &seqs).await.map(|records| records.len()), Ok(56));
}

/// The audit log comes back as it was written, newest first, and apart per account.
pub async fn the_audit_log_is_newest_first(make: MakeEngine) {
    let engine = make().await;
    let (house, other) = (House::build(&engine.store).await, House::build(&engine.store).await);
    let actors = [Actor::Member(house.ana), Actor::Operator, Actor::Service];
    let mut expected = Vec::new();
    for (n, actor) in (0..3).zip(actors) {
        let line = AuditEntry {
            project: (n > 0).then_some(house.project),
            actor,
            subject: format!("subject {n} – ✓"),
            ..audit(house.account, 100 + n, "story.tell")
        };
        house.store.insert_audit(line.clone()).await.expect("storage works");
        expected.insert(0, (line, 1));
    }
    assert_eq!(house.store.list_audit(house.account, 3).await, Ok(expected.clone()));
    assert_eq!(house.store.list_audit(house.account, 1).await, Ok(expected[..1].to_vec()));
    assert_eq!(house.store.list_audit(house.account, 0).await, Ok(Vec::new()));
    assert_eq!(house.store.list_audit(house.account, 100).await.map(|rows| rows.len()), Ok(5));
    assert_eq!(other.store.list_audit(other.account, 100).await.map(|rows| rows.len()), Ok(2));
}

/// A healthy store says so; a closed one refuses everything.
pub async fn a_closed_store_refuses(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    assert_eq!(engine.store.check().await, Ok(()));
    let seq = house.save_text("a fact").await;
    let late = tokio::spawn({
        let house = house.clone();
        async move { house.store.insert_audit(audit(house.account, 5, "late")).await }
    });
    engine.store.close().await;
    let _ = late.await.expect("answered in either way");
    engine.store.close().await;
    assert!(engine.store.check().await.is_err());
    assert!(engine.store.load(house.project, &[seq]).await.is_err());
    assert!(engine.store.insert_audit(audit(house.account, 6, "too late")).await.is_err());
}
