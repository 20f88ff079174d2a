//! `forget`: one record or a whole source, and it is gone everywhere.

use mnemon_testkit::{Caller, MemberSpec, Organization, TestServer};
use serde_json::{Value, json};

async fn set_up() -> (TestServer, Organization, Caller) {
    let server = TestServer::start().await;
    let organization = server.organization().await;
    let caller = server.member(&organization, MemberSpec::default()).await;
    (server, organization, caller)
}

async fn save(caller: &Caller, arguments: Value) -> Value {
    caller.call("remember", arguments).await.structured()["id"].clone()
}

async fn forget(caller: &Caller, arguments: Value) -> Value {
    caller.call("forget", arguments).await.structured().clone()
}

#[tokio::test]
async fn one_record_is_forgotten_by_its_id_and_leaves_every_path() {
    let (_server, _organization, caller) = set_up().await;
    let arguments = json!({"content": "to be gone", "fact_key": "k", "source_id": "s", "source_hash": "h"});
    let id = save(&caller, arguments).await;
    let stays = save(&caller, json!({"content": "to be kept", "fact_key": "k", "source_id": "s"})).await;
    let forgotten = forget(&caller, json!({"memory_id": id})).await;
    assert_eq!((&forgotten["forgotten"], &forgotten["memory_ids"]), (&json!(1), &json!([id])));
    let members: Vec<&String> = forgotten.as_object().expect("an object").keys().collect();
    assert_eq!(members, ["forgotten", "memory_ids", "api_version", "tenant_id", "project_id"]);
    let found = caller.search("to be").await;
    assert_eq!(found.iter().map(|record| &record["id"]).collect::<Vec<_>>(), [&stays]);
    assert_eq!(found[0]["status"], "unverified", "nobody disputes it any more");
    let validated = caller.call("validate_memory", json!({"source_id": "s"})).await;
    assert_eq!(validated.structured()["checked"], 1);
    assert_eq!(forget(&caller, json!({"source_id": "s"})).await["memory_ids"], json!([stays]));
}

#[tokio::test]
async fn an_id_may_be_written_in_any_usual_way() {
    let (_server, _organization, caller) = set_up().await;
    for write in [
        |id: &str| id.to_owned(),
        |id: &str| format!("  {id}\n"),
        |id: &str| id.to_uppercase(),
        |id: &str| id.replace('-', ""),
    ] {
        let id = save(&caller, json!({"content": "named by its id"})).await;
        let written = write(id.as_str().expect("an id"));
        assert_eq!(forget(&caller, json!({"memory_id": written})).await["memory_ids"], json!([id]), "{written:?}");
    }
}

#[tokio::test]
async fn a_source_is_forgotten_whole_or_in_one_workspace() {
    let (_server, _organization, caller) = set_up().await;
    let mut ids = Vec::new();
    for (n, workspace) in ["a", "a", "b", "c"].into_iter().enumerate() {
        ids.push(save(&caller, json!({"content": format!("f{n}"), "workspace": workspace, "source_id": "s"})).await);
    }
    save(&caller, json!({"content": "other", "source_id": "t"})).await;
    let in_b = forget(&caller, json!({"source_id": "s", "workspace": " b "})).await;
    assert_eq!((&in_b["forgotten"], &in_b["memory_ids"]), (&json!(1), &json!([ids[2]])));
    let nowhere = forget(&caller, json!({"source_id": "s", "workspace": "nowhere"})).await;
    assert_eq!((&nowhere["forgotten"], &nowhere["memory_ids"]), (&json!(0), &json!([])));
    let rest = forget(&caller, json!({"source_id": "s", "memory_id": null, "extra": 1})).await;
    assert_eq!(rest["memory_ids"], json!([ids[0], ids[1], ids[3]]), "oldest first");
    assert_eq!(rest["ignored_arguments"], json!(["extra"]));
    for unknown in ["s", "never seen"] {
        assert_eq!(forget(&caller, json!({"source_id": unknown})).await["forgotten"], 0);
    }
    assert_eq!(caller.search("other").await.len(), 1);
}

#[tokio::test]
async fn an_empty_second_argument_is_taken_for_absent() {
    let (_server, _organization, caller) = set_up().await;
    let id = save(&caller, json!({"content": "x", "source_id": "s"})).await;
    assert_eq!(forget(&caller, json!({"memory_id": id, "source_id": ""})).await["forgotten"], 1);
    save(&caller, json!({"content": "x", "source_id": "s"})).await;
    assert_eq!(forget(&caller, json!({"memory_id": " ", "source_id": "s"})).await["forgotten"], 1);
}

#[tokio::test]
async fn every_forget_leaves_an_audit_row_and_a_failed_one_leaves_none() {
    let (server, organization, caller) = set_up().await;
    let one = save(&caller, json!({"content": "secret words"})).await;
    for n in 0..3 {
        save(&caller, json!({"content": format!("n{n}"), "source_id": "doc"})).await;
    }
    forget(&caller, json!({"memory_id": one})).await;
    forget(&caller, json!({"source_id": "doc"})).await;
    forget(&caller, json!({"source_id": "doc"})).await;
    caller.reason("forget", json!({"memory_id": one})).await;
    let log = server.audit_log(&organization).await;
    let forgets: Vec<_> = log.iter().filter(|(action, ..)| action.ends_with(".forget")).collect();
    let one = one.as_str().expect("an id").to_owned();
    let expected = [("source.forget".to_owned(), "doc".to_owned(), 3), ("record.forget".to_owned(), one, 1)];
    assert_eq!(forgets, expected.iter().collect::<Vec<_>>());
    assert!(!format!("{log:?}").contains("secret words"));
}

#[tokio::test]
async fn one_record_forgotten_by_many_at_once_is_forgotten_once() {
    let (_server, _organization, caller) = set_up().await;
    let id = save(&caller, json!({"content": "wanted by nobody"})).await;
    let calls: Vec<_> = (0..16)
        .map(|_| {
            let (caller, id) = (caller.clone(), id.clone());
            tokio::spawn(async move { caller.call("forget", json!({"memory_id": id})).await })
        })
        .collect();
    let mut worked = 0;
    for call in calls {
        worked += usize::from(!call.await.expect("the call ends").is_error());
    }
    assert_eq!(worked, 1);
}
