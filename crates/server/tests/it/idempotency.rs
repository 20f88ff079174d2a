//! `X-Idempotency-Key`: the same call gives the same answer, whatever happened in between.

use std::time::Duration;

use mnemon_testkit::{Caller, MemberSpec, Organization, TestServer};
use serde_json::{Value, json};

use crate::errors::reason;

const REUSED: &str = "idempotency key was already used with different arguments";

async fn set_up() -> (TestServer, Organization, Caller) {
    let server = TestServer::start().await;
    let organization = server.organization().await;
    let caller = server.member(&organization, MemberSpec::default()).await;
    (server, organization, caller)
}

async fn save(caller: &Caller, key: &str, arguments: &Value) -> mnemon_testkit::ToolAnswer {
    caller.call_with("remember", arguments.clone(), &[("X-Idempotency-Key", key)]).await
}

#[tokio::test]
async fn a_repeated_save_gives_the_same_answer_and_stores_nothing() {
    let (server, organization, caller) = set_up().await;
    let arguments = json!({"content": "said twice", "fact_key": "k", "source_id": "s", "source_hash": "h", "odd": 1});
    let first = save(&caller, "key-1", &arguments).await;
    let position = server.log_position(&organization).await;
    server.clock.advance(Duration::from_secs(5));
    let second = save(&caller, "key-1", &arguments).await;
    assert_eq!(second.result, first.result);
    assert_eq!(server.log_position(&organization).await, position);
    assert_eq!(caller.search("said").await.len(), 1);
}

#[tokio::test]
async fn the_answer_stays_the_same_after_the_world_has_moved_on() {
    let (_server, _organization, caller) = set_up().await;
    let arguments = json!({"content": "first claim", "fact_key": "k", "source_id": "s", "source_hash": "h1"});
    let first = save(&caller, "a", &arguments).await;
    let check = async |what: &str| assert_eq!(save(&caller, "a", &arguments).await.result, first.result, "{what}");
    caller.call("remember", json!({"content": "a rival", "fact_key": "k"})).await.structured();
    check("a rival was saved").await;
    caller.call("validate_memory", json!({"source_id": "s", "current_source_hash": "h2"})).await.structured();
    check("its source has changed").await;
    let fresh = json!({"content": "first claim", "source_id": "s", "source_hash": "h3", "confidence": 0.1});
    assert_eq!(caller.call("remember", fresh).await.structured()["duplicate"], true);
    check("it was brought up to date").await;
    caller.call("forget", json!({"memory_id": first.structured()["id"]})).await.structured();
    check("it was forgotten").await;
    assert_eq!(caller.search("claim").await, Vec::<Value>::new(), "and answering did not bring it back");
}

#[tokio::test]
async fn a_repeated_duplicate_and_a_repeated_conflict_answer_as_they_did() {
    let (_server, _organization, caller) = set_up().await;
    let tuesday = caller.call("remember", json!({"content": "on Tuesday", "fact_key": "day"})).await;
    let duplicate = save(&caller, "d", &json!({"content": "on Tuesday", "fact_key": "day"})).await;
    assert_eq!(duplicate.structured()["duplicate"], true);
    let conflict = save(&caller, "c", &json!({"content": "on Friday", "fact_key": "day"})).await;
    assert_eq!(conflict.structured()["conflicts_with"], json!([tuesday.structured()["id"]]));
    let with_secret = json!({"content": format!("The key AKIA{} was rotated", "Q3EGRV7ZT5KXN2WM")});
    let secret = save(&caller, "s", &with_secret).await;
    assert_eq!(secret.structured()["redacted"], 1);
    caller.call("forget", json!({"memory_id": tuesday.structured()["id"]})).await.structured();
    for (key, arguments, first) in [
        ("d", json!({"content": "on Tuesday", "fact_key": "day"}), duplicate),
        ("c", json!({"content": "on Friday", "fact_key": "day"}), conflict),
        ("s", with_secret, secret),
    ] {
        assert_eq!(save(&caller, key, &arguments).await.result, first.result, "{key}");
    }
}

#[tokio::test]
async fn other_arguments_are_refused_and_equal_ones_may_be_written_differently() {
    let (server, organization, caller) = set_up().await;
    let first = save(&caller, "k", &json!({"content": "c", "confidence": 0.5, "workspace": "w"})).await;
    for same in [
        json!({"workspace": "w", "confidence": "0.5", "content": "c"}),
        json!({"workspace": " w ", "confidence": 0.50, "content": "c", "scope": "shared", "source": null}),
    ] {
        assert_eq!(save(&caller, "k", &same).await.result, first.result, "{same}");
    }
    let position = server.log_position(&organization).await;
    for other in [
        json!({"content": "c", "confidence": 0.5}),
        json!({"content": "c ", "confidence": 0.5, "workspace": "w"}),
        json!({"content": "c", "confidence": 0.6, "workspace": "w"}),
        json!({"content": "c", "confidence": 0.5, "workspace": "w", "scope": "draft"}),
        json!({"content": "c", "confidence": 0.5, "workspace": "w", "source": "s"}),
        json!({"content": "c", "confidence": 0.5, "workspace": "w", "source_id": "s"}),
        json!({"content": "c", "confidence": 0.5, "workspace": "w", "fact_key": "f"}),
        json!({"content": "c", "confidence": 0.5, "workspace": "w", "valid_until": "2030-01-01T00:00:00Z"}),
    ] {
        assert_eq!(reason("remember", &save(&caller, "k", &other).await), REUSED, "{other}");
    }
    assert_eq!(server.log_position(&organization).await, position);
}

#[tokio::test]
async fn another_members_key_and_another_projects_key_are_apart() {
    let (server, organization, ana) = set_up().await;
    let ben = server.member(&organization, MemberSpec::default()).await;
    let cora = server.new_user().await;
    let draft = json!({"content": "only mine", "scope": "draft"});
    let first = save(&ana, "shared-key", &draft).await;
    for other in [&ben, &cora] {
        let own = save(other, "shared-key", &draft).await;
        assert_ne!(own.structured()["id"], first.structured()["id"]);
        assert!(!save(other, "shared-key", &draft).await.is_error());
        assert_eq!(reason("remember", &save(other, "shared-key", &json!({"content": "x"})).await), REUSED);
    }
}

#[tokio::test]
async fn two_keys_of_one_member_share_their_idempotency_keys() {
    let (server, organization, _) = set_up().await;
    let member = server.new_member(&organization, MemberSpec::default()).await;
    let access = mnemon_core::Access::Write;
    let (_, laptop) = server.key(&organization, member, access, None).await;
    let (_, phone) = server.key(&organization, member, access, None).await;
    let first = save(&laptop, "k", &json!({"content": "from anywhere"})).await;
    assert_eq!(save(&phone, "k", &json!({"content": "from anywhere"})).await.result, first.result);
}

#[tokio::test]
async fn a_key_is_kept_for_twenty_four_hours() {
    let (server, _organization, caller) = set_up().await;
    let first = save(&caller, "k", &json!({"content": "kept for a day"})).await;
    server.clock.advance(Duration::from_secs(24 * 3_600 - 1));
    assert_eq!(save(&caller, "k", &json!({"content": "kept for a day"})).await.result, first.result);
    assert_eq!(reason("remember", &save(&caller, "k", &json!({"content": "other"})).await), REUSED);
    server.clock.advance(Duration::from_secs(1));
    assert_eq!(save(&caller, "k", &json!({"content": "kept for a day"})).await.result, first.result, "to the second");
    server.clock.advance(Duration::from_secs(1));
    let later = save(&caller, "k", &json!({"content": "other"})).await;
    assert_eq!(later.structured()["content"], "other");
    assert_eq!(save(&caller, "k", &json!({"content": "other"})).await.result, later.result);
}

#[tokio::test]
async fn a_failed_call_does_not_use_its_key_up() {
    let (_server, _organization, caller) = set_up().await;
    assert!(save(&caller, "k", &json!({"content": ""})).await.is_error());
    assert!(save(&caller, "k", &json!({"content": "c", "source_hash": "h"})).await.is_error());
    assert!(!save(&caller, "k", &json!({"content": "now in order"})).await.is_error());
}

#[tokio::test]
async fn the_same_call_sent_many_times_at_once_stores_one_record() {
    let (server, organization, caller) = set_up().await;
    let calls: Vec<_> = (0..16)
        .map(|_| {
            let caller = caller.clone();
            tokio::spawn(async move { save(&caller, "k", &json!({"content": "sent by a nervous client"})).await })
        })
        .collect();
    let mut ids = Vec::new();
    for call in calls {
        let answer = call.await.expect("the call ends");
        assert_eq!(answer.structured().get("duplicate"), None, "each is answered as the first");
        ids.push(answer.structured()["id"].clone());
    }
    ids.dedup();
    assert_eq!(ids.len(), 1);
    assert_eq!(server.log_position(&organization).await, 1);
}
