//! Stories of credentials, keys and the operator's token.

use std::sync::Arc;

use mnemon_core::{Access, AccountId, Audience, CredentialHash, PlanName, Role, Subscription};
use mnemon_store::{Credential, KeyChange, KeyLink, NewKey, NewLink, OpenedLink};
use uuid::Uuid;

use super::{House, MakeEngine, at, audit, new_key, new_member, workspace};

pub(super) async fn present(house: &House, hash: &CredentialHash) -> Option<Arc<Credential>> {
    let presented = house.store.find_credential(hash).await.expect("storage works");
    presented.map(|presented| presented.credential)
}

/// A credential brings all that follows from it, and how far the log has come.
pub async fn a_credential_tells_all_that_follows(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let works = house.add_department("Works", None).await;
    let mut ben = new_member(house.account, "Ben", Role::Head, Some(works));
    ben.access_until = Some(at(900));
    house.store.insert_member(ben.clone(), audit(house.account, 0, "member.create")).await.expect("storage works");
    let key = NewKey {
        access: Access::Read,
        expires_at: Some(at(800)),
        workspace: Some(workspace("team")),
        ..new_key(house.project, ben.id)
    };
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
    assert_eq!(found.workspace, Some(workspace("team")));
    assert_eq!(present(&house, &house.key_hash).await.expect("there").workspace, None);
    assert_eq!(present(&house, &CredentialHash::of("nobody's")).await, None);
    for n in 0..5 {
        let seq = house.save_text(&format!("fact {n}")).await;
        let presented = house.store.find_credential(&key.hash).await.expect("storage works").expect("there");
        assert_eq!(presented.seq, seq, "never behind an answered save");
    }
}

/// A link leads to its key. It is opened once, before its end, and then a secret leads to the key.
pub async fn a_link_gives_its_key_a_secret_once(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let store = &house.store;
    let ben = new_member(house.account, "Ben", Role::Member, None);
    let of = |name: &str| NewLink { hash: CredentialHash::of(name), ends_at: at(100) };
    let invited = NewKey { link: Some(of("a link")), ..new_key(house.project, ben.id) };
    let audits = vec![audit(house.account, 0, "member.create"), audit(house.account, 0, "key.create")];
    store.insert_member_with_key(ben.clone(), invited.clone(), audits).await.expect("storage works");
    let found = async |name: &str| {
        let found = store.find_key_by_link(&CredentialHash::of(name)).await.expect("storage works");
        found.map(|key| (key.id, key.link))
    };
    let waiting = Some((invited.id, Some(KeyLink { ends_at: at(100), opened_at: None })));
    assert_eq!((found("a link").await, found("another").await), (waiting, None));
    let open = |secret: &str, moment: i64| OpenedLink {
        key: invited.id,
        account: house.account,
        hash: CredentialHash::of(secret),
        hint: "cret".to_owned(),
        at: at(moment),
    };
    let open = async |secret: &str, moment: i64| {
        store.open_link(open(secret, moment), audit(house.account, moment, "key.open")).await
    };
    assert_eq!(open("late", 100).await, Ok(false));
    assert_eq!(open("secret", 99).await, Ok(true));
    assert_eq!(open("second", 99).await, Ok(false));
    assert_eq!(present(&house, &CredentialHash::of("second")).await, None);
    let credential = present(&house, &CredentialHash::of("secret")).await.expect("it leads to the key");
    assert_eq!((credential.key, credential.member), (invited.id, ben.id));
    assert_eq!(store.find_key_hash(invited.id).await, Ok(Some(CredentialHash::of("secret"))));
    let opened = Some((invited.id, Some(KeyLink { ends_at: at(100), opened_at: Some(at(99)) })));
    assert_eq!(found("a link").await, opened);
    let withdrawn = NewKey { link: Some(of("a withdrawn link")), ..new_key(house.project, ben.id) };
    store.insert_key(withdrawn.clone(), audit(house.account, 0, "key.create")).await.expect("storage works");
    let revoked = store.revoke_key(withdrawn.id, at(1), audit(house.account, 1, "key.revoke")).await;
    let of_withdrawn = OpenedLink {
        key: withdrawn.id,
        account: house.account,
        hash: CredentialHash::of("third"),
        hint: "hird".to_owned(),
        at: at(2),
    };
    let opened = store.open_link(of_withdrawn, audit(house.account, 2, "key.open")).await;
    assert_eq!((revoked, opened), (Ok(true), Ok(false)));
}

/// What is changed of a key holds at once; a revoked one stays as it is.
pub async fn a_key_is_changed_until_it_is_revoked(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let change = |label: &str| KeyChange {
        id: house.key,
        account: house.account,
        label: Some(label.to_owned()),
        access: Access::Read,
        expires_at: Some(at(800)),
        workspace: Some(workspace("team")),
    };
    assert_eq!(present(&house, &house.key_hash).await.expect("there").access, Access::Write);
    let changed = house.store.update_key(change("desk"), audit(house.account, 1, "key.change")).await;
    assert_eq!(changed, Ok(true));
    let found = present(&house, &house.key_hash).await.expect("there");
    let expected = (Access::Read, Some(at(800)), Some(workspace("team")));
    assert_eq!((found.access, found.expires_at, found.workspace.clone()), expected);
    house.store.revoke_key(house.key, at(2), audit(house.account, 2, "key.revoke")).await.expect("storage works");
    let changed = house.store.update_key(change("attic"), audit(house.account, 3, "key.change")).await;
    assert_eq!(changed, Ok(false));
    let key = house.store.find_key(house.key).await.expect("storage works").expect("there");
    assert_eq!(key.label.as_deref(), Some("desk"));
}

/// A member's keys are listed across projects, oldest first, with who made each.
pub async fn the_keys_in_a_members_name_are_listed_with_their_maker(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let ben = new_member(house.account, "Ben", Role::Member, None);
    house.store.insert_member(ben.clone(), audit(house.account, 0, "member.create")).await.expect("storage works");
    let first = NewKey {
        created_by: Some(house.ana),
        created_at: at(1),
        workspace: Some(workspace("team")),
        ..new_key(house.project, ben.id)
    };
    let second = NewKey { created_at: at(2), ..new_key(house.project, ben.id) };
    for key in [&second, &first] {
        house.store.insert_key(key.clone(), audit(house.account, 0, "key.create")).await.expect("storage works");
    }
    let keys = house.store.list_member_keys(house.account, ben.id).await.expect("storage works");
    let shown: Vec<_> = keys.iter().map(|key| (key.id, key.created_by, key.workspace.clone())).collect();
    assert_eq!(shown, [(first.id, Some(house.ana), first.workspace), (second.id, None, None)]);
    let nobody = AccountId::new(Uuid::from_u128(77));
    assert_eq!(house.store.list_member_keys(nobody, ben.id).await, Ok(Vec::new()), "another account has none");
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

/// After a revocation was answered no call gets the key as it was, however many calls run meanwhile.
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

/// The operator's token is made once and stays.
pub async fn the_operators_token_is_made_once(make: MakeEngine) {
    let engine = make().await;
    let (first, second) = (CredentialHash::of("first"), CredentialHash::of("second"));
    assert_eq!(engine.store.find_operator_token().await, Ok(None));
    assert_eq!(engine.store.insert_operator_token(first, at(0)).await, Ok(true));
    assert_eq!(engine.store.insert_operator_token(second, at(1)).await, Ok(false));
    assert_eq!(engine.store.find_operator_token().await, Ok(Some(first)));
    assert_eq!(engine.store.delete_operator_token().await, Ok(true));
    assert_eq!(engine.store.delete_operator_token().await, Ok(false));
    assert_eq!(engine.store.find_operator_token().await, Ok(None));
    assert_eq!(engine.store.insert_operator_token(second, at(2)).await, Ok(true));
    assert_eq!(engine.store.find_operator_token().await, Ok(Some(second)));
}
