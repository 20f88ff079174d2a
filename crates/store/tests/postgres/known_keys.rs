//! What a node knows of keys: asked about with every call, and looked up again after any change, no matter who made it
//! and however.

use std::sync::Arc;

use mnemon_core::{Access, CredentialHash, Department, Role, Subscription};
use mnemon_scratch_postgres::Database;
use mnemon_store::postgres::PostgresStore;
use mnemon_store::{Credentials, Presented, Store, statements_sent};
use mnemon_store_conformance::{House, at, audit, new_member};

use crate::{database, node};

/// A house whose key one node knows. Another node makes the changes.
struct Pair {
    database: Database,
    knowing: PostgresStore,
    house: House,
}

impl Pair {
    async fn new() -> Self {
        let database = database();
        let changing: Arc<dyn Store> = Arc::new(node(&database.url).await);
        let house = House::build(&changing).await;
        let pair = Self { knowing: node(&database.url).await, database, house };
        for _ in 0..2 {
            pair.find(&pair.house.key_hash).await.expect("the key is there");
        }
        pair
    }

    async fn find(&self, hash: &CredentialHash) -> Option<Presented> {
        self.knowing.find_credential(hash).await.expect("storage works")
    }

    /// What both nodes find: the one that knew the key before the change, and one that has never seen it.
    async fn both(&self, hash: &CredentialHash) -> [Option<String>; 2] {
        let stranger = node(&self.database.url).await;
        let found = [self.find(hash).await, stranger.find_credential(hash).await.expect("storage works")];
        found.map(|found| found.map(|presented| format!("{:?} {:?}", presented.credential, presented.seq)))
    }

    /// The knowing node sees what a stranger sees, and that it is not what it was.
    async fn assert_seen(&self, hash: &CredentialHash, before: &mut Option<String>, change: &str) {
        let [known, fresh] = self.both(hash).await;
        assert_eq!(known, fresh, "{change}");
        assert_ne!(known, *before, "{change} changes something");
        *before = known;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_change_is_seen_by_the_next_look_up_of_a_node_that_knew_the_key() {
    let pair = Pair::new().await;
    let (house, store) = (&pair.house, &pair.house.store);
    let account = house.account;
    let line = |action| audit(account, 40, action);
    let top = house.add_department("Works", None).await;
    let member = new_member(account, "Bo", Role::Member, Some(top));
    store.insert_member(member.clone(), line("member.create")).await.unwrap();
    let key = house.add_key(member.id).await;
    let hash = key.hash;
    let mut before = pair.both(&hash).await[0].clone();

    house.save_text("the log goes on").await;
    pair.assert_seen(&hash, &mut before, "a save").await;
    house.add_department("Night shift", Some(top)).await;
    pair.assert_seen(&hash, &mut before, "a department below the member's").await;
    let renamed = Department { account, id: top, parent: None, name: "Plant".to_owned() };
    assert_eq!(store.update_department(renamed, line("department.update")).await, Ok(true));
    pair.assert_seen(&hash, &mut before, "another name of the department").await;
    let admin = mnemon_core::Member { role: Role::Admin, department: None, ..member.clone() };
    assert_eq!(store.update_member(admin, line("member.update")).await, Ok(true));
    pair.assert_seen(&hash, &mut before, "another role").await;
    let unpaid = Subscription { plan: None, paid_until: Some(at(50)), is_suspended: false };
    assert_eq!(store.update_subscription(account, unpaid, line("account.update")).await, Ok(true));
    pair.assert_seen(&hash, &mut before, "another subscription").await;
    let id = key.id;
    for change in ["access = 'read'", "workspace = 'elsewhere'", "expires_at = 9"] {
        pair.database.sql(&format!("UPDATE api_key SET {change} WHERE id = '{id}'")).unwrap();
        pair.assert_seen(&hash, &mut before, change).await;
    }
    pair.database.sql(&format!("UPDATE api_key SET expires_at = NULL, access = 'write' WHERE id = '{id}'")).unwrap();
    pair.assert_seen(&hash, &mut before, "no end").await;
    assert_eq!(pair.find(&hash).await.unwrap().credential.access, Access::Write);
    assert_eq!(store.revoke_key(id, at(60), line("key.revoke")).await, Ok(true));
    pair.assert_seen(&hash, &mut before, "a revocation").await;
    assert!(pair.find(&hash).await.unwrap().credential.is_revoked);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_a_project_a_member_or_a_key_is_seen_too() {
    let pair = Pair::new().await;
    let (house, store) = (&pair.house, &pair.house.store);
    let line = |action| audit(house.account, 40, action);
    let bo = house.add_member("Bo", Role::Member, None).await;
    let (of_bo, of_ana) = (house.add_key(bo).await, house.add_key(house.ana).await);
    let [mut bos, mut anas, mut first] = [
        pair.both(&of_bo.hash).await[0].clone(),
        pair.both(&of_ana.hash).await[0].clone(),
        pair.both(&house.key_hash).await[0].clone(),
    ];
    pair.database.sql(&format!("DELETE FROM api_key WHERE id = '{}'", of_ana.id)).unwrap();
    pair.assert_seen(&of_ana.hash, &mut anas, "a key that is gone").await;
    assert_eq!(anas, None);
    pair.database.sql(&format!("DELETE FROM member WHERE id = '{bo}'")).unwrap();
    pair.assert_seen(&of_bo.hash, &mut bos, "a member who is gone").await;
    assert_eq!(store.delete_project(house.account, house.project, line("project.delete")).await, Ok(true));
    pair.assert_seen(&house.key_hash, &mut first, "a deleted project").await;
    assert!(pair.find(&house.key_hash).await.unwrap().credential.is_revoked);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_statement_asks_about_a_known_key_and_a_second_one_after_a_change() {
    let pair = Pair::new().await;
    let hash = &pair.house.key_hash;
    let count = async || {
        let before = statements_sent();
        pair.find(hash).await;
        statements_sent() - before
    };
    assert_eq!(count().await, 1);
    pair.database.sql("UPDATE account SET name = 'Another'").unwrap();
    assert_eq!([count().await, count().await], [2, 1]);
    // Using a key changes nothing about it.
    pair.database.sql("UPDATE api_key SET last_used_at = 7, seen_at = 7, seen_client = 'a client'").unwrap();
    assert_eq!(count().await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_that_was_lost_is_not_taken_for_another() {
    let pair = Pair::new().await;
    let house = &pair.house;
    let place = "SELECT account_version FROM account";
    let earlier = pair.database.sql(place).unwrap();
    pair.database.sql("UPDATE account SET is_suspended = FALSE").unwrap();
    pair.find(&house.key_hash).await;
    // As on a standby that was behind and has become the primary: the last change never happened, another one does.
    let take_back = format!(
        "ALTER TABLE account DISABLE TRIGGER account_version; UPDATE account SET account_version = {earlier};
        ALTER TABLE account ENABLE TRIGGER account_version"
    );
    pair.database.sql(&take_back).unwrap();
    assert_eq!(house.store.revoke_key(house.key, at(60), audit(house.account, 60, "key.revoke")).await, Ok(true));
    assert!(pair.find(&house.key_hash).await.unwrap().credential.is_revoked);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_triggers_every_key_is_looked_up_in_full() {
    let pair = Pair::new().await;
    pair.database.sql("DROP TRIGGER account_version ON member").unwrap();
    let careful = node(&pair.database.url).await;
    let hash = pair.house.key_hash;
    for role in ["member", "admin", "member"] {
        pair.database.sql(&format!("UPDATE member SET role = '{role}'")).unwrap();
        let found = careful.find_credential(&hash).await.unwrap().unwrap();
        assert_eq!(found.credential.role.as_str(), role);
    }
}
