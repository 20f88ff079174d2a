//! One record: why it has its status, what contradicts it, and keeping one of several.

use std::time::Duration;

use mnemon_core::Access;
use mnemon_testkit::{Caller, MemberSpec};
use serde_json::{Value, json};

use super::{Office, id_of, pluck};

async fn save(caller: &Caller, body: Value) -> String {
    id_of(caller.call("remember", body).await.structured())
}

async fn show(caller: &Caller, id: &str) -> Value {
    caller.manage("GET", &format!("/records/{id}"), Value::Null).await
}

#[tokio::test]
async fn every_status_has_its_reason_in_words() {
    let office = Office::open().await;
    let (admin, clock) = (&office.admin, &office.server.clock);
    let bare = save(admin, json!({"content": "a bare fact"})).await;
    let timed = json!({"content": "a fact for an hour", "valid_until": "2027-01-15T09:00:00Z"});
    let timed = save(admin, timed).await;
    let sourced = json!({"content": "a fact of a file", "source_id": "docs/a.md", "source_hash": "aa"});
    let sourced = save(admin, sourced).await;
    let reason = async |id: &str| {
        let shown = show(admin, id).await;
        (shown["status"].as_str().expect("a status").to_owned(), shown["reason"].clone())
    };
    let (status, why) = reason(&bare).await;
    assert_eq!((status.as_str(), &why["code"]), ("unverified", &json!("no_source")));
    assert_eq!(why["text"], "It was saved without a source_hash, so there is nothing to compare it with.");
    let (status, why) = reason(&sourced).await;
    assert_eq!(
        (status.as_str(), &why["code"], &why["known_hash"]),
        ("unverified", &json!("never_checked"), &json!("aa"))
    );
    let seen = async |hash: &str| {
        admin
            .call("validate_memory", json!({"source_id": "docs/a.md", "current_source_hash": hash}))
            .await
            .structured();
    };
    seen("aa").await;
    let (status, why) = reason(&sourced).await;
    assert_eq!((status.as_str(), &why["code"]), ("verified", &json!("confirmed")));
    assert_eq!(why["confirmed_hash"], "aa");
    seen("bb").await;
    let (status, why) = reason(&sourced).await;
    assert_eq!((status.as_str(), &why["code"], &why["known_hash"]), ("stale", &json!("source_changed"), &json!("bb")));
    assert!(why["text"].as_str().is_some_and(|text| text.starts_with("Its source, docs/a.md, has changed")), "{why}");
    assert_eq!(reason(&timed).await.0, "unverified");
    clock.advance(Duration::from_secs(3_600));
    let (status, why) = reason(&timed).await;
    assert_eq!((status.as_str(), &why["code"]), ("stale", &json!("valid_until_passed")));
    assert_eq!(why["text"], "It was said to hold until 2027-01-15T09:00:00Z, which has passed.");
}

fn without_key(event: &Value) -> Value {
    let mut event = event.clone();
    event.as_object_mut().expect("an event").remove("key");
    event
}

#[tokio::test]
async fn a_record_tells_what_happened_to_it() {
    let office = Office::open().await;
    let admin = &office.admin;
    let old = save(admin, json!({"content": "the port is 80", "fact_key": "port"})).await;
    office.server.clock.advance(Duration::from_secs(60));
    let new = save(admin, json!({"content": "the port is 443", "fact_key": "port", "replace": true})).await;
    let shown = show(admin, &old).await;
    let told: Vec<Value> = shown["history"].as_array().expect("events").iter().map(without_key).collect();
    let expected = [
        json!({"at": "2027-01-15T08:00:00Z", "event": "saved", "by": "Ada"}),
        json!({"at": "2027-01-15T08:01:00Z", "event": "replaced", "by": "Ada", "record_id": new}),
    ];
    assert_eq!((told.as_slice(), &shown["superseded_by"]), (&expected[..], &json!(new)));
    let member = office.hire(MemberSpec::default()).await.1;
    let refused = member.admin("GET", &format!("/records/{old}"), Value::Null).await;
    assert_eq!(refused.status, 404, "what was forgotten is gone for those who can't restore it");
}

#[tokio::test]
async fn keeping_one_record_forgets_what_contradicts_it_and_leaves_one_audit_row() {
    let office = Office::open().await;
    let admin = &office.admin;
    let ids = [
        save(admin, json!({"content": "we deploy on Monday", "fact_key": "deploy"})).await,
        save(admin, json!({"content": "we deploy on Tuesday", "fact_key": "deploy"})).await,
        save(admin, json!({"content": "we deploy on Friday", "fact_key": "deploy"})).await,
    ];
    let elsewhere = json!({"content": "they deploy on Sunday", "fact_key": "deploy", "workspace": "other"});
    let elsewhere = save(admin, elsewhere).await;
    let shown = show(admin, &ids[1]).await;
    assert_eq!((&shown["status"], &shown["reason"]["code"]), (&json!("conflict"), &json!("disputed")));
    let told = shown["reason"]["text"].as_str().expect("words");
    assert_eq!(told, "2 others have different content under the same fact_key. Keep the one that is true.");
    assert_eq!(pluck(&shown["rivals"], "content"), ["we deploy on Monday", "we deploy on Friday"]);
    let keep = format!("/records/{}/keep", ids[1]);
    let kept = admin.manage("POST", &keep, json!({})).await;
    assert_eq!(kept, json!({"forgotten": 2, "memory_ids": [ids[0], ids[2]]}));
    assert_eq!(admin.search_texts("deploy").await, ["we deploy on Tuesday"]);
    let shown = show(admin, &ids[1]).await;
    assert_eq!((&shown["status"], &shown["rivals"]), (&json!("unverified"), &json!([])));
    assert_eq!(show(admin, &elsewhere).await["status"], "unverified", "another workspace is another matter");
    let log = office.server.audit_log(&office.organization).await;
    assert!(log.contains(&("record.keep".to_owned(), ids[1].clone(), 2)), "{log:?}");
    let again = admin.manage("POST", &keep, json!({})).await;
    assert_eq!(again, json!({"forgotten": 0, "memory_ids": []}));
    let path = format!("/records/{}/restore", ids[0]);
    admin.manage("POST", &path, json!({})).await;
    assert_eq!(show(admin, &ids[1]).await["status"], "conflict", "a restored rival contradicts it again");
}

#[tokio::test]
async fn a_member_keeps_among_what_it_sees() {
    let office = Office::open().await;
    let ana = office.hire(MemberSpec { name: "Ana", ..MemberSpec::default() }).await.1;
    let ben = office.hire(MemberSpec { name: "Ben", ..MemberSpec::default() }).await.1;
    let fact = |content: &str, scope: &str| json!({"content": content, "scope": scope, "fact_key": "colour"});
    let shared = save(&ana, fact("it is blue", "shared")).await;
    let hidden = save(&ana, fact("it is red", "draft")).await;
    let own = save(&ben, fact("it is green", "draft")).await;
    let absent = ben.admin("GET", "/records/01980000-0000-7000-8000-00000000dead", Value::Null).await;
    let refused = ben.admin("GET", &format!("/records/{hidden}"), Value::Null).await;
    assert_eq!((refused.status, refused.text), (404, absent.text));
    assert_eq!(ben.admin("POST", &format!("/records/{hidden}/keep"), json!({})).await.status, 404);
    assert_eq!(pluck(&show(&ben, &own).await["rivals"], "id"), [shared.as_str()]);
    let kept = ben.manage("POST", &format!("/records/{own}/keep"), json!({})).await;
    assert_eq!(kept, json!({"forgotten": 1, "memory_ids": [shared]}));
    assert_eq!(show(&ana, &hidden).await["status"], "unverified", "the hidden draft lives on");
}

#[tokio::test]
async fn a_read_only_key_and_a_forgotten_record_keep_nothing() {
    let office = Office::open().await;
    let id = save(&office.admin, json!({"content": "one", "fact_key": "k"})).await;
    save(&office.admin, json!({"content": "two", "fact_key": "k"})).await;
    let keep = format!("/records/{id}/keep");
    let reader = office.hire(MemberSpec { access: Access::Read, ..MemberSpec::default() }).await.1;
    assert_eq!(reader.admin("POST", &keep, json!({})).await.status, 403);
    office.admin.call("forget", json!({"memory_id": id})).await.structured();
    let refused = office.admin.admin("POST", &keep, json!({})).await;
    assert_eq!(
        (refused.status, &refused.json()["message"]),
        (409, &json!("the record is forgotten; restore it first"))
    );
    assert_eq!(office.admin.search("two").await.len(), 1);
}
