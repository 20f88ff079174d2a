//! A restart keeps everything: records, what is known about sources, keys, and what was forgotten.

use mnemon_core::Access;
use mnemon_testkit::{Caller, MemberSpec, TestServer};
use serde_json::{Value, json};

/// Everything that a caller can read back.
async fn view(caller: &Caller) -> Vec<Value> {
    let mut answers = Vec::new();
    for (tool, arguments) in [
        ("search", json!({"query": "harvest apples pears", "limit": 50})),
        ("search", json!({"query": "harvest", "workspace": "barn"})),
        ("search", json!({"query": "harvest", "workspace": "emptied"})),
        ("search", json!({"query": "harvest", "workspace": "never"})),
        ("validate_memory", json!({"source_id": "almanac"})),
    ] {
        answers.push(caller.call(tool, arguments).await.result);
    }
    answers
}

async fn sow(caller: &Caller) {
    for arguments in [
        json!({"content": "harvest apples in September", "fact_key": "harvest", "source_id": "almanac", "source_hash": "h1"}),
        json!({"content": "harvest apples in October", "fact_key": "harvest", "confidence": 0.25}),
        json!({"content": "harvest pears, a draft", "scope": "draft", "source_id": "almanac", "source_hash": "h2"}),
        json!({"content": "harvest kept in the barn", "workspace": "barn", "valid_until": "2027-01-01T00:00:00Z"}),
        json!({"content": "harvest that was eaten", "workspace": "emptied"}),
        json!({"content": "harvest \u{1F34E} of odd bytes \r\n", "source": "\u{202e}"}),
    ] {
        caller.call("remember", arguments).await.structured();
    }
    let eaten = caller.call("search", json!({"query": "eaten", "workspace": "emptied"})).await;
    let id = eaten.structured()["result"][0]["id"].clone();
    caller.call("forget", json!({"memory_id": id})).await.structured();
    caller.call("validate_memory", json!({"source_id": "almanac", "current_source_hash": "h2"})).await.structured();
}

#[tokio::test]
async fn a_restart_keeps_everything_and_is_no_second_first_start() {
    let mut server = TestServer::start().await;
    let admin = server.first_caller().await;
    sow(&admin).await;
    let before = view(&admin).await;
    for _ in 0..2 {
        server.restart().await;
        assert!(server.engine.first_start().await.expect("the store works").is_none());
        let admin = server.caller(&admin.key);
        assert_eq!(view(&admin).await, before);
    }
}

#[tokio::test]
async fn organizations_members_and_revocations_outlive_a_restart() {
    let mut server = TestServer::start().await;
    let organization = server.organization().await;
    let ana = server.member(&organization, MemberSpec { name: "Ana", ..MemberSpec::default() }).await;
    let ben = server.member(&organization, MemberSpec { access: Access::Read, ..MemberSpec::default() }).await;
    let member = server.new_member(&organization, MemberSpec::default()).await;
    let (id, lost) = server.key(&organization, member, Access::Write, None).await;
    server.revoke(&organization, id).await;
    sow(&ana).await;
    let (seen_by_ana, seen_by_ben) = (view(&ana).await, view(&ben).await);
    let audit = server.audit_log(&organization).await;
    server.restart().await;
    let (ana, ben) = (server.caller(&ana.key), server.caller(&ben.key));
    assert_eq!(view(&ana).await, seen_by_ana);
    assert_eq!(view(&ben).await, seen_by_ben);
    assert_ne!(seen_by_ana, seen_by_ben, "the draft is still its author's alone");
    let refused = ben.reason("remember", json!({"content": "c"})).await;
    assert_eq!(refused, "Error executing tool remember: this key is read-only");
    assert_eq!(server.caller(&lost.key).request("tools/list", json!({})).await.status, 401);
    assert_eq!(server.audit_log(&organization).await, audit);
}

#[tokio::test]
async fn idempotency_keys_duplicates_and_new_saves_go_on_after_a_restart() {
    let mut server = TestServer::start().await;
    let caller = server.new_user().await;
    let key = [("x-idempotency-key", "k")];
    let first = caller.call_with("remember", json!({"content": "said once"}), &key).await;
    server.restart().await;
    let caller = server.caller(&caller.key);
    assert_eq!(caller.call_with("remember", json!({"content": "said once"}), &key).await.result, first.result);
    assert_eq!(caller.remember("said once").await["duplicate"], true);
    let later = caller.remember("said later").await;
    assert_ne!(later["id"], first.structured()["id"]);
    assert_eq!(caller.search("said").await.len(), 2);
}
